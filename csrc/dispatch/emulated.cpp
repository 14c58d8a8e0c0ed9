#include "dispatch/emulated.hpp"

#include <algorithm>
#include <utility>

#include "dispatch/refusals.hpp"
#include "problem/residues.hpp"
#include "problem/workspace.hpp"

namespace cute_py::dispatch {
namespace {

// Exponents of rows, in bytes of the workspace.
std::int64_t bytes_of_exponents(std::int64_t rows) { return workspace_bytes_of(rows, DType::i32); }

// The split of a factor: its rows are the modes of M, or N, and of L.
Geometry split_of(Geometry const& g, Role factor, Planes const& planes) {
  Geometry s;
  s.compute = Compute::split;
  s.planes = planes;
  set_array(s, Role::a, g.type[factor]);
  s.log2_alignment[Role::a] = g.log2_alignment[factor];
  set_array(s, Role::b, g.type[factor]);
  set_array(s, Role::d, planes.type());
  s.conj_a = factor == Role::a ? g.conj_a : g.conj_b;
  auto const line = plane_line(planes, g.k.size());
  std::int64_t next = line;
  auto const add = [&](Modes const& from, Modes& to, std::int64_t& stride) {
    for (Mode const& mode : from) {
      Mode moved{mode.extent, {}, false, false};
      moved.stride[Role::a] = mode.stride[factor];
      moved.stride[Role::d] = stride;
      to.push_back(moved);
      stride *= mode.extent;
    }
  };
  add(factor == Role::a ? g.m : g.n, s.m, next);
  add(g.l, s.m, next);
  std::int64_t step = 1;
  add(g.k, s.k, step);
  Mode plane{planes.planes(), {}, false, false};
  plane.stride[Role::d] = next;
  s.l.push_back(plane);
  return s;
}

// Where a factor's planes are in a product of them: K is one mode, rows are a line apart, and those of L follow.
void set_planes(Geometry& p, Role factor, Planes const& planes, std::int64_t steps) {
  set_array(p, factor, planes.type());
  std::int64_t next = plane_line(planes, steps);
  Modes& own = factor == Role::a ? p.m : p.n;
  for (Modes* modes : {&own, &p.l}) {
    for (Mode& mode : *modes) {
      mode.stride[factor] = next;
      next *= mode.extent;
    }
  }
}

Modes one_mode(std::int64_t extent) { return Modes({Mode{extent, {}, false, false}}); }

// The product of planes. Of 16 bits it has the result of the product itself; of residues it leaves residues.
Geometry product_of(Geometry const& g, Planes const& planes) {
  Geometry p = g;
  p.planes = planes;
  p.precision = Precision::exact;
  p.conj_a = p.conj_b = p.padded_a = p.padded_b = false;
  auto const steps = g.k.size();
  p.k = one_mode(steps);
  for (Role const factor : {Role::a, Role::b}) p.k[0].stride[factor] = 1;
  if (!planes.has_residues()) {
    p.compute = Compute::planes;
    for (Role const factor : {Role::a, Role::b}) set_planes(p, factor, planes, steps);
    return p;
  }
  Geometry r;
  r.compute = Compute::residues;
  r.planes = planes;
  r.k = p.k;
  r.m = one_mode(g.m.size());
  r.n = one_mode(g.n.size());
  r.l = one_mode(g.l.size());
  for (Role const factor : {Role::a, Role::b}) set_planes(r, factor, planes, steps);
  set_array(r, Role::d, DType::i8);
  r.n[0].stride[Role::d] = 1;
  r.m[0].stride[Role::d] = residue_line(g.n.size());
  r.l[0].stride[Role::d] = r.m[0].stride[Role::d] * g.m.size();
  Mode plane{planes.planes(), {}, false, false};
  for (Role const role : {Role::a, Role::b, Role::d}) plane.stride[role] = r.l[0].stride[role] * g.l.size();
  r.l.push_back(plane);
  r.padded_a = r.padded_b = true;  // split_planes ends a line with a whole vector
  return r;
}

// Why a kernel of the right types does not take a step: ": ..."; "" if there is none.
std::string reason(Geometry const& step, Question const& question) {
  for (auto const& [entry, refused] : rejections(step, question)) {
    if ((refused & (kCompute | kFactorTypes | kResultTypes)) != 0) continue;
    return ": " + describe(refused, entry->traits, step, question.device);
  }
  return "";
}

Geometry combination_of(Geometry const& g, Planes const& planes) {
  Geometry c = g;
  c.compute = Compute::combine;
  c.precision = Precision::exact;
  c.planes = planes;
  return c;
}

}  // namespace

std::vector<Planes> planes_for(Geometry const& g) {
  constexpr auto kResidues = PlaneKind::residues;
  constexpr auto kGaussian = PlaneKind::gaussian;
  if (g.precision == Precision::exact || !g.multiplies) return {};
  bool const is_reproducible = g.precision == Precision::reproducible;
  auto const moduli = [&](int fast, int reproducible) {
    return static_cast<std::uint8_t>(is_reproducible ? reproducible : fast);
  };
  auto const of_float = moduli(kModuliOfFast<float>, kModuliOfReproducible<float>);
  switch (g.compute) {
    case Compute::f32:
      if (g.precision == Precision::bf16x6) return {{PlaneKind::bf16, 3}};
      if (is_reproducible) return {{kResidues, of_float}};
      return {{PlaneKind::fp16, 2}};
    case Compute::c64:
      return {{kGaussian, of_float}};
    case Compute::f64:
      return {{kResidues, moduli(kModuliOfFast<double>, kModuliOfReproducible<double>)}};
    case Compute::c128:  // its moduli are smaller
      return {{kGaussian, kModuliOfReproducible<double>}};
    default:
      return {};
  }
}

namespace {

// Why a product cannot be computed in this way, and a way out; "" if it can.
std::string obstacle(Geometry const& g, Planes const& planes) {
  DType const own = type_of_sums(g.compute);
  if (g.type[Role::a] != own || g.type[Role::b] != own) {
    return std::string("splits A and B of ") + name_of(own) + " alone\n  next: convert A and B to " + name_of(own);
  }
  if (g.batch_invariant && !planes.has_residues()) {
    return "is not batch_invariant\n  next: compute='reproducible' is";
  }
  if (planes.has_residues() && g.k.size() > kMostStepsOfResidues) {
    return "sums at most " + std::to_string(kMostStepsOfResidues) + " products, here K=" + std::to_string(g.k.size()) +
           "\n  next: split K and add the products, or leave compute out";
  }
  return "";
}

// Why a factor that was split before is not this one; "" if it is.
std::string difference(SplitFactor const& kept, Geometry const& split, char const* factor) {
  std::string const before = std::string("does not take ") + factor + " as it was prepared: ";
  if (!(kept.geometry.planes == split.planes)) {
    return before + "in other planes\n  next: prepare(..., compute=) with the compute of this call";
  }
  Geometry aligned = split;
  aligned.log2_alignment = kept.geometry.log2_alignment;
  if (kept.geometry == aligned) return "";
  return before +
         "its rows, its steps of K or their conjugation are others here\n  next: prepare(..., axis=) with the "
         "mode that is summed over, or the array itself";
}

}  // namespace

Program make_split(FoldedProduct const& product, Planes const& planes, Question const& question) {
  Program program;
  Geometry const& g = *product.folded(false);
  program.refused = obstacle(g, planes);
  if (!program.refused.empty()) return program;
  Geometry const split = split_of(g, Role::a, planes);
  program.workspace_bytes = bytes_of_exponents(split.m.size());
  PerRole<Place> at;
  at[Role::a] = {Source::a, 0};
  at[Role::d] = {Source::split_a, program.workspace_bytes};
  program.workspace_bytes += workspace_bytes_of(split.l[0].stride[Role::d] * planes.planes(), planes.type());
  Question const plain{question.target, question.platform, question.device, "auto", question.registry};
  Step step = std::move(choose(Purpose::split_a, FoldedProduct(split), at, plain, 0).steps.front());
  step.planes = PlanePlaces{{{Source::split_a, 0}, {Source::split_a, 0}}, {Source::split_a, 0}};
  if (step.entry == nullptr) {
    program.refused = std::string("has no kernel here for the step '") + name_of(step.purpose) + "'" +
                      reason(step.geometry, plain) + "\n  next: cute_py.kernels() says where its kernels run";
  }
  program.steps.push_back(std::move(step));
  return program;
}

namespace {

// The steps of a product: both factors are split, planes multiplied, and results combined; the last three for some of
// the columns at a time where the workspace is too small for all.
class Emulation {
 public:
  Emulation(FoldedProduct const& product, Planes const& planes, Question const& question)
      : planes_(planes),
        question_(question),
        // Residues are read along n; the result is written along its unit stride.
        exchanged_(product.may_exchange() && !product.is_along_n()),
        g_(*product.folded(exchanged_)),
        plain_{question.target, question.platform, question.device, "auto", question.registry},
        kept_{question.split[exchanged_ ? 1 : 0], question.split[exchanged_ ? 0 : 1]} {
    plain_.may_split_k = false;
  }

  Program run() {
    if (auto const why = obstacle(g_, planes_); !why.empty()) return refuse(why);
    if (auto const why = difference_of_kept(); !why.empty()) return refuse(why);
    std::int64_t const columns = columns_at_once();
    if (columns == 0) {
      return refuse("needs a workspace of " + std::to_string(bytes_of_a() + bytes_of_columns(g_.n.size())) +
                    " bytes, or in blocks of columns " +
                    std::to_string(bytes_of_a() + bytes_of_columns(least_columns())) + ", and may take " +
                    std::to_string(most_bytes()) + "\n  next: a larger workspace=, or leave compute out");
    }
    own_bytes_ = program_.workspace_bytes = bytes_of_a() + bytes_of_columns(columns);
    PlanePlaces places{};
    Place of_planes[2];
    set_places(Role::a, 0, g_.m.size() * g_.l.size(), places, of_planes);
    set_places(Role::b, bytes_of_a(), columns * g_.l.size(), places, of_planes);
    places.residues = {Source::workspace, own_bytes_ - bytes_of_residues(columns)};
    if (kept_[0] == nullptr) add_split(Role::a, g_, own_places(0), places, of_planes);
    for (std::int64_t first = 0; first == 0 || first < g_.n.size(); first += columns) {
      Geometry const some = some_columns(std::min(columns, g_.n.size() - first));
      PerRole<Place> const own = own_places(first);
      if (kept_[1] == nullptr) add_split(Role::b, some, own, places, of_planes);
      PerRole<Place> at = own;
      at[Role::a] = of_planes[0];
      at[Role::b] = of_planes[1];
      if (planes_.has_residues()) at[Role::d] = places.residues;
      add(Purpose::multiply, product_of(some, planes_), at, places);
      add(Purpose::combine, combination_of(some, planes_), own, places);
    }
    for (Step const& step : program_.steps) {
      if (step.entry != nullptr) continue;
      program_.candidates.clear();
      return refuse(std::string("has no kernel here for the step '") + name_of(step.purpose) + "'" +
                    reason(step.geometry, plain_) +
                    "\n  next: leave compute out for exact arithmetic; cute_py.kernels() says where its kernels run");
    }
    for (Candidate& candidate : program_.candidates) {
      candidate.decision.exchanged = exchanged_;
      candidate.estimate.us += program_.us() - of_multiplication_;
    }
    return std::move(program_);
  }

 private:
  static constexpr std::int64_t kUnitOfColumns = 256;  // tiles are no wider
  static constexpr std::int64_t kMostBlocks = 32;

  Program refuse(std::string const& why) {
    program_.refused = why;
    return std::move(program_);
  }

  // The caller's A is the A of g_, or its B.
  bool is_callers_a(Role factor) const { return (factor == Role::a) != exchanged_; }
  SplitFactor const* kept(Role factor) const { return kept_[factor == Role::a ? 0 : 1]; }

  std::string difference_of_kept() const {
    for (Role const factor : {Role::a, Role::b}) {
      if (kept(factor) == nullptr) continue;
      Geometry const split = split_of(g_, factor, planes_);
      if (auto why = difference(*kept(factor), *Folded(split), is_callers_a(factor) ? "A" : "B"); !why.empty()) {
        return why;
      }
    }
    return "";
  }

  // ---- Memory: exponents and planes of A, and behind them those of B, and residues, of some columns

  std::int64_t most_bytes() const {
    bool const is_gpu = question_.device.memory_bytes > 0;
    return is_gpu ? std::min(question_.workspace_limit, question_.device.memory_bytes / 4) : question_.workspace_limit;
  }
  std::int64_t bytes_of_planes(std::int64_t rows) const {
    return workspace_bytes_of(plane_line(planes_, g_.k.size()) * rows * planes_.planes(), planes_.type());
  }
  std::int64_t bytes_of_split(std::int64_t rows) const { return bytes_of_exponents(rows) + bytes_of_planes(rows); }
  std::int64_t bytes_of_a() const { return kept_[0] != nullptr ? 0 : bytes_of_split(g_.m.size() * g_.l.size()); }
  std::int64_t bytes_of_residues(std::int64_t columns) const {
    if (!planes_.has_residues()) return 0;
    return workspace_bytes_of(residue_line(columns) * g_.m.size() * g_.l.size() * planes_.planes(), DType::i8);
  }
  std::int64_t bytes_of_columns(std::int64_t columns) const {
    return (kept_[1] != nullptr ? 0 : bytes_of_split(columns * g_.l.size())) + bytes_of_residues(columns);
  }

  // Columns of one mode can be divided, unless they are kept split.
  bool has_blocks() const { return g_.n.rank() == 1 && kept_[1] == nullptr; }
  std::int64_t least_columns() const {
    if (!has_blocks()) return g_.n.size();
    auto const of_block = (g_.n.size() + kMostBlocks - 1) / kMostBlocks;
    return std::min((of_block + kUnitOfColumns - 1) / kUnitOfColumns * kUnitOfColumns, g_.n.size());
  }

  // As many as there is memory for; 0 if there is too little for any.
  std::int64_t columns_at_once() const {
    auto const fits = [&](std::int64_t columns) { return bytes_of_a() + bytes_of_columns(columns) <= most_bytes(); };
    if (fits(g_.n.size())) return std::max<std::int64_t>(g_.n.size(), 1);
    std::int64_t columns = least_columns();
    if (!has_blocks() || !fits(columns)) return 0;
    while (fits(columns + kUnitOfColumns)) columns += kUnitOfColumns;
    return columns;
  }

  void set_places(Role factor, std::int64_t first, std::int64_t rows, PlanePlaces& places,
                  Place (&of_planes)[2]) const {
    int const i = factor == Role::a ? 0 : 1;
    if (kept(factor) != nullptr) {
      Source const source = is_callers_a(factor) ? Source::split_a : Source::split_b;
      places.exponents[i] = {source, 0};
      of_planes[i] = {source, kept(factor)->planes_at};
    } else {
      places.exponents[i] = {Source::workspace, first};
      of_planes[i] = {Source::workspace, first + bytes_of_exponents(rows)};
    }
  }

  // ---- Steps

  // A block of columns begins many elements behind the array, and is aligned as that is.
  Geometry some_columns(std::int64_t columns) const {
    Geometry some = g_;
    if (columns == g_.n.size()) return some;
    some.n[0].extent = columns;
    return some;
  }

  // The caller's arrays, from a column on.
  PerRole<Place> own_places(std::int64_t first) const {
    PerRole<Place> places;
    for (int i = 0; i < kRoles; ++i) {
      auto const role = static_cast<Role>(i);
      auto const stride = g_.n.rank() == 0 ? 0 : g_.n[0].stride[role];
      places[role] = {static_cast<Source>(i), g_.has(role) ? first * stride * bytes_of(g_.type[role]) : 0};
    }
    if (exchanged_) std::swap(places[Role::a].source, places[Role::b].source);
    return places;
  }

  void add_split(Role factor, Geometry const& some, PerRole<Place> const& own, PlanePlaces const& places,
                 Place const (&of_planes)[2]) {
    int const i = factor == Role::a ? 0 : 1;
    PerRole<Place> at;
    at[Role::a] = own[factor];
    at[Role::d] = of_planes[i];
    PlanePlaces const of_step{{places.exponents[i], places.exponents[i]}, places.exponents[i]};
    add(is_callers_a(factor) ? Purpose::split_a : Purpose::split_b, split_of(some, factor, planes_), at, of_step);
  }

  void add(Purpose purpose, Geometry const& geometry, PerRole<Place> const& at, PlanePlaces const& places) {
    Question asked = plain_;
    bool const multiplies = purpose == Purpose::multiply;
    if (multiplies) {
      asked.may_split_k = question_.may_split_k;
      asked.workspace_limit = most_bytes();
      asked.kernel = question_.kernel;
      asked.config = question_.config;
      if (asked.config) asked.config->transposed = false;  // the roles have been exchanged
    }
    Choice choice = choose(purpose, FoldedProduct(geometry), at, asked, own_bytes_);
    program_.workspace_bytes = std::max(program_.workspace_bytes, choice.workspace_bytes);
    Step step = std::move(choice.steps.front());
    step.planes = places;
    step.transposed = exchanged_;
    step.takes_scalars = purpose == Purpose::combine || (multiplies && !planes_.has_residues());
    if (multiplies && program_.candidates.empty()) {
      of_multiplication_ = step.estimate.us;
      program_.candidates = std::move(choice.candidates);
    }
    program_.steps.push_back(std::move(step));
  }

  Planes const planes_;
  Question const& question_;
  bool const exchanged_;
  Geometry const& g_;
  Question plain_;
  SplitFactor const* const kept_[2];  // of the roles of g_: factors that were split before are where they are kept
  Program program_;
  std::int64_t own_bytes_ = 0;    // of the workspace: exponents, planes and residues
  double of_multiplication_ = 0;  // of the first block
};

}  // namespace

Program make_emulated(FoldedProduct const& product, Planes const& planes, Question const& question) {
  return Emulation(product, planes, question).run();
}

}  // namespace cute_py::dispatch
