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
         "its rows, its steps of K or their conjugation are others here\n  next: prepare(..., axis=) with the mode "
         "that is summed "
         "over, or the array itself";
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

Program make_emulated(FoldedProduct const& product, Planes const& planes, Question const& question) {
  Program program;
  Geometry const& asked = product.asked();
  // Residues are read along n; the result is written along its unit stride.
  bool const exchanged = product.may_exchange() && !product.is_along_n();
  Geometry const& g = *product.folded(exchanged);
  bool const has_residues = planes.has_residues();
  auto const refuse = [&](std::string const& why) {
    program.refused = why;
    return program;
  };
  if (auto const why = obstacle(g, planes); !why.empty()) return refuse(why);

  Geometry const split[2] = {split_of(g, Role::a, planes), split_of(g, Role::b, planes)};
  Geometry const multiplication = product_of(g, planes);
  Geometry const combination = combination_of(g, planes);
  std::int64_t next = 0;
  auto const reserve = [&](std::int64_t bytes) {
    auto const place = next;
    next += bytes;
    return place;
  };
  // Of the roles of g: factors that were split before are where they are kept.
  SplitFactor const* const kept[2] = {question.split[exchanged ? 1 : 0], question.split[exchanged ? 0 : 1]};
  PlanePlaces places{};
  Place of_planes[2];
  for (int i = 0; i < 2; ++i) {
    bool const is_a = (i == 0) != exchanged;
    if (kept[i] != nullptr) {
      if (auto const why = difference(*kept[i], *Folded(split[i]), is_a ? "A" : "B"); !why.empty()) return refuse(why);
      Source const source = is_a ? Source::split_a : Source::split_b;
      places.exponents[i] = {source, 0};
      of_planes[i] = {source, kept[i]->planes_at};
      continue;
    }
    places.exponents[i] = {Source::workspace, reserve(bytes_of_exponents(split[i].m.size()))};
    auto const elements = split[i].l[0].stride[Role::d] * planes.planes();
    of_planes[i] = {Source::workspace, reserve(workspace_bytes_of(elements, planes.type()))};
  }
  places.residues = {Source::workspace, 0};
  if (has_residues) {
    auto const elements = residue_line(g.n.size()) * g.m.size() * g.l.size() * planes.planes();
    places.residues.offset = reserve(workspace_bytes_of(elements, DType::i8));
  }
  bool const is_gpu = question.device.memory_bytes > 0;
  auto const most =
      is_gpu ? std::min(question.workspace_limit, question.device.memory_bytes / 4) : question.workspace_limit;
  if (next > most) {
    return refuse("needs a workspace of " + std::to_string(next) + " bytes, and may take " + std::to_string(most) +
                  "\n  next: a larger workspace=, the product in blocks of columns, or leave compute out");
  }

  Question plain{question.target, question.platform, question.device, "auto", question.registry};
  plain.may_split_k = false;
  double us = 0;
  double of_multiplication = 0;
  auto const add = [&](Purpose purpose, Geometry const& geometry, PerRole<Place> const& at,
                       PlanePlaces const& of_step) {
    Question asked_for = plain;
    if (purpose == Purpose::multiply) {
      asked_for.kernel = question.kernel;
      asked_for.config = question.config;
      if (asked_for.config) asked_for.config->transposed = false;  // the roles have been exchanged
    }
    Choice choice = choose(purpose, FoldedProduct(geometry), at, asked_for, next);
    Step step = std::move(choice.steps.front());
    step.planes = of_step;
    step.transposed = exchanged;
    step.takes_scalars = purpose == Purpose::combine || (purpose == Purpose::multiply && !has_residues);
    us += step.estimate.us;
    bool const is_found = step.entry != nullptr;
    if (purpose == Purpose::multiply) {
      of_multiplication = step.estimate.us;
      program.candidates = std::move(choice.candidates);
    }
    program.steps.push_back(std::move(step));
    return is_found;
  };
  PerRole<Place> own_places;
  for (int i = 0; i < kRoles; ++i) own_places[static_cast<Role>(i)] = {static_cast<Source>(i), 0};
  if (exchanged) std::swap(own_places[Role::a], own_places[Role::b]);
  bool is_complete = true;
  for (int i = 0; i < 2; ++i) {
    if (kept[i] != nullptr) continue;
    Role const factor = i == 0 ? Role::a : Role::b;
    PerRole<Place> at;
    at[Role::a] = own_places[factor];
    at[Role::d] = of_planes[i];
    PlanePlaces const of_step{{places.exponents[i], places.exponents[i]}, places.exponents[i]};
    bool const is_a = (factor == Role::a) != exchanged;
    is_complete = add(is_a ? Purpose::split_a : Purpose::split_b, split[i], at, of_step) && is_complete;
  }
  PerRole<Place> at = own_places;
  at[Role::a] = of_planes[0];
  at[Role::b] = of_planes[1];
  if (has_residues) at[Role::d] = places.residues;
  is_complete = add(Purpose::multiply, multiplication, at, places) && is_complete;
  is_complete = add(Purpose::combine, combination, own_places, places) && is_complete;
  program.workspace_bytes = next;
  if (!is_complete) {
    program.candidates.clear();
    for (Step const& step : program.steps) {
      if (step.entry != nullptr) continue;
      return refuse(std::string("has no kernel here for the step '") + name_of(step.purpose) + "'" +
                    reason(step.geometry, plain) +
                    "\n  next: leave compute out for exact arithmetic; cute_py.kernels() says where its kernels run");
    }
  }
  for (Candidate& candidate : program.candidates) {
    candidate.decision.exchanged = exchanged;
    candidate.estimate.us += us - of_multiplication;
  }
  return program;
}

}  // namespace cute_py::dispatch
