#include "dispatch/program.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "dispatch/choose.hpp"
#include "dispatch/emulated.hpp"
#include "dispatch/real_parts.hpp"
#include "problem/folded.hpp"
#include "problem/packing.hpp"
#include "problem/workspace.hpp"

namespace cute_py::dispatch {
namespace {

// Sums can be factors of another product, those of numbers of 8 bits cannot.
bool sums_are_factors(Geometry const& g) { return g.compute != Compute::i32 && !is_float8(g.type[Role::a]); }

// What it takes to fill memory with zeros before a launch.
constexpr double kClearUs = 2;

Place place_of_one(DType type) { return {Source::one, kBytesOfOne * static_cast<int>(type)}; }

class Planner {
 public:
  explicit Planner(Question const& question) : question_(question) {}

  Program run(FoldedProduct const& product) {
    PerRole<Place> places;
    for (int i = 0; i < kRoles; ++i) places[static_cast<Role>(i)] = {static_cast<Source>(i), 0};
    Geometry geometry = product.asked();
    if (!geometry.multiplies || !sums_are_factors(geometry)) return finish(product, places);
    bool const of_a = sum_first(geometry, Role::a, places[Role::a]);
    bool const of_b = sum_first(geometry, Role::b, places[Role::b]);
    return of_a || of_b ? finish(FoldedProduct(std::move(geometry)), places) : finish(product, places);
  }

 private:
  // The product after the sums of single operands.
  Program finish(FoldedProduct const& product, PerRole<Place> const& places) {
    Purpose const purpose = product.asked().compute == Compute::copy ? Purpose::copy : Purpose::multiply;
    Choice best = choose(purpose, product, places, asked(0), program_.workspace_bytes);
    Packing chosen;
    for (Packs const packs : packs_worth_a_look(product, best)) look_at(packs, product, places, best, chosen);
    for (auto* const steps : {&chosen.before, &best.steps, &chosen.after}) {
      for (Step& step : *steps) program_.steps.push_back(std::move(step));
    }
    program_.workspace_bytes = best.workspace_bytes;
    program_.candidates = std::move(best.candidates);
    return std::move(program_);
  }

  // The copies of a product.
  struct Packing {
    std::vector<Step> before;
    std::vector<Step> after;
  };

  // Adds the candidates with these packs; the best of all is chosen.
  void look_at(Packs packs, FoldedProduct const& product, PerRole<Place> places, Choice& best, Packing& chosen) const {
    Packing packing;
    Geometry geometry = product.asked();
    auto reserved = program_.workspace_bytes;
    bool const done = (!(packs & kPackD) || pack_result(geometry, places, reserved, packing)) &&
                      (!(packs & kPackA) || pack(geometry, Role::a, places, reserved, packing)) &&
                      (!(packs & kPackB) || pack(geometry, Role::b, places, reserved, packing));
    bool const is_forced = question_.config.has_value();
    if (!done || reserved > question_.workspace_limit) return;
    if (!is_forced && reserved > question_.platform.most_packed_bytes(question_.device)) return;
    Question question = asked(packs);
    for (Step const& step : packing.before) question.us_of_zeros += step.clear_bytes > 0 ? kClearUs : 0;
    Choice found = choose(Purpose::multiply, FoldedProduct(std::move(geometry)), places, question, reserved);
    Entry const* const entry = found.steps.front().entry;
    if (entry != nullptr && !question_.platform.reads_gaps(entry->traits)) {
      for (Step& step : packing.before) step.clear_bytes = 0;
    }
    take(std::move(found), packs, packing, best, chosen);
  }

  // A decision that is forced to other packs has no candidates here.
  Question asked(Packs packs) const {
    Question question = question_;
    question.is_void = question.config && question.config->packs != packs;
    question.has_packed = (packs & (kPackA | kPackB)) != 0;
    return question;
  }

  std::vector<Packs> packs_worth_a_look(FoldedProduct const& product, Choice const& best) const {
    Geometry const& g = product.asked();
    bool const is_possible = g.compute != Compute::copy && g.multiplies && !g.batch_invariant;
    if (!is_possible) return {};
    if (question_.config) {
      return question_.config->packs == 0 ? std::vector<Packs>{} : std::vector{question_.config->packs};
    }
    if (question_.kernel != "auto") return {};
    double const us =
        best.candidates.empty() ? std::numeric_limits<double>::infinity() : best.candidates.front().estimate.us;
    return question_.platform.worth_packing(product, us, question_.device);
  }

  // A copy takes neither alpha nor beta.
  Step copy_step(Purpose purpose, Geometry const& copy, Place const& from, Place const& to) const {
    PerRole<Place> places;
    places[Role::a] = from;
    places[Role::d] = to;
    Step step = choose(purpose, FoldedProduct(copy), places, question_of_step(), 0).steps.front();
    step.takes_scalars = false;
    return step;
  }

  // The decision for a step other than the multiplication.
  Question question_of_step() const {
    return {question_.target, question_.platform, question_.device, "auto", question_.registry};
  }

  // Adds the step that packs a factor, and replaces the factor by the packed one; false if that cannot be done.
  bool pack(Geometry& g, Role x, PerRole<Place>& places, std::int64_t& reserved, Packing& packing) const {
    auto found = question_.platform.pack(Folded(g), x);
    if (!found) return false;
    Place const to{Source::workspace, reserved};
    Step step = copy_step(x == Role::a ? Purpose::pack_a : Purpose::pack_b, found->copy, places[x], to);
    if (step.entry == nullptr) return false;
    step.estimate.us *= question_.platform.copies_take;
    if (found->has_gaps) step.clear_bytes = found->bytes;
    places[x] = to;
    reserved += found->bytes;
    g = std::move(found->product);
    packing.before.push_back(std::move(step));
    return true;
  }

  bool pack_result(Geometry& g, PerRole<Place>& places, std::int64_t& reserved, Packing& packing) const {
    Packed found = packed_result(g);
    Place const from{Source::workspace, reserved};
    Step step = copy_step(Purpose::unpack_d, found.copy, from, places[Role::d]);
    if (step.entry == nullptr) return false;
    places[Role::d] = from;
    reserved += found.bytes;
    g = std::move(found.product);
    packing.after.push_back(std::move(step));
    return true;
  }

  // Adds the candidates with some packs. If the first of them is better than the best so far, it is chosen.
  static void take(Choice found, Packs packs, Packing const& packing, Choice& best, Packing& chosen) {
    auto& all = found.candidates;
    if (all.empty()) return;
    double us = 0;
    for (Step const& step : packing.before) us += step.estimate.us;
    for (Step const& step : packing.after) us += step.estimate.us;
    for (Candidate& candidate : all) {
      candidate.decision.packs = packs;
      candidate.estimate.us += us;
    }
    bool const is_better =
        best.candidates.empty() || all.front().estimate.us * (1 + kTie) < best.candidates.front().estimate.us;
    if (is_better) {
      std::swap(found, best);
      chosen = packing;
    }
    best.candidates.insert(best.candidates.end(), all.begin(), all.end());
    std::stable_sort(best.candidates.begin() + 1, best.candidates.end(),
                     [](Candidate const& x, Candidate const& y) { return x.estimate.us < y.estimate.us; });
  }

  Place reserve(std::int64_t elements, DType type) {
    Place const place{Source::workspace, program_.workspace_bytes};
    program_.workspace_bytes += workspace_bytes_of(elements, type);
    return place;
  }

  template <class IsOwn>
  static std::int64_t bytes_of_sums(Geometry const& g, Role x, Modes const& mn, IsOwn const& is_own) {
    std::int64_t elements = 1;
    for (Modes const* modes : {&mn, &g.k, &g.l}) {
      for (Mode const& mode : *modes) elements *= mode.stride[x] == 0 || is_own(mode) ? 1 : mode.extent;
    }
    return workspace_bytes_of(elements, type_of_sums(g.compute));
  }

  // A, or B, is summed over the modes of K that it has alone, however often its elements are used: infinity times a sum
  // is not the sum of infinite products. A sum that is multiplied by one is done then.
  bool sum_first(Geometry& g, Role x, Place& place) {
    bool const is_a = x == Role::a;
    Modes& mn = is_a ? g.m : g.n;
    auto const is_own = [is_a](Mode const& mode) { return is_a ? mode.only_in_a : mode.only_in_b; };
    std::int64_t lone = 1;
    for (Mode const& mode : g.k) {
      if (is_own(mode)) lone *= mode.extent;
    }
    if (lone < 2 || g.b_is_one) return false;
    if (mn.rank() + g.k.rank() + g.l.rank() > kMaxModes) return false;
    if (bytes_of_sums(g, x, mn, is_own) > question_.workspace_limit - program_.workspace_bytes) return false;

    // M: all that stays of x; K: what is summed over.
    Geometry s;
    s.compute = exact_compute(g.compute);
    s.batch_invariant = g.batch_invariant;
    s.is_sum = true;
    s.b_is_one = true;
    set_array(s, Role::a, g.type[x]);
    s.log2_alignment[Role::a] = g.log2_alignment[x];
    set_array(s, Role::b, g.type[x]);
    set_array(s, Role::d, type_of_sums(g.compute));
    std::int64_t elements = 1;
    auto const keep = [&](Mode& mode) {
      if (mode.stride[x] == 0) return;  // repeated before, repeated after
      Mode kept{mode.extent, {}, false, false};
      kept.stride[Role::a] = mode.stride[x];
      kept.stride[Role::d] = elements;
      s.m.push_back(kept);
      mode.stride[x] = elements;
      elements *= mode.extent;
    };
    for (Mode& mode : mn) keep(mode);
    Modes left;
    for (Mode& mode : g.k) {
      if (is_own(mode)) {
        Mode summed{mode.extent, {}, false, false};
        summed.stride[Role::a] = mode.stride[x];
        s.k.push_back(summed);
      } else {
        keep(mode);
        left.push_back(mode);
      }
    }
    for (Mode& mode : g.l) keep(mode);
    g.k = std::move(left);
    set_array(g, x, s.type[Role::d]);

    Place const result = reserve(elements, g.type[x]);
    PerRole<Place> places;
    places[Role::a] = place;
    places[Role::b] = place_of_one(s.type[Role::b]);
    places[Role::d] = result;
    Question question = question_of_step();
    question.may_split_k = false;
    auto const purpose = is_a ? Purpose::sum_a : Purpose::sum_b;
    if (auto parts = in_real_parts(s)) s = std::move(*parts);
    program_.steps.push_back(
        choose(purpose, FoldedProduct(std::move(s)), places, question, program_.workspace_bytes).steps.front());
    program_.steps.back().takes_scalars = false;
    place = result;
    return true;
  }

  Question const& question_;
  Program program_;
};

}  // namespace

char const* name_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::multiply:
      return "multiply";
    case Purpose::copy:
      return "copy";
    case Purpose::sum_a:
      return "sum A over its own indices";
    case Purpose::sum_b:
      return "sum B over its own indices";
    case Purpose::pack_a:
      return "pack A";
    case Purpose::pack_b:
      return "pack B";
    case Purpose::unpack_d:
      return "unpack C";
    case Purpose::split_a:
      return "split A";
    case Purpose::split_b:
      return "split B";
    case Purpose::combine:
      return "combine";
  }
  return "";
}

double Program::us() const {
  double us = 0;
  for (Step const& step : steps) us += step.estimate.us;
  return us;
}

namespace {

// Do two decisions add in the same order? All kernels of one platform do so with real numbers, if the roles of the
// factors, and with them the order of K, are the same.
bool add_alike(Decision const& x, Decision const& y, Compute compute) {
  return x.exchanged == y.exchanged && x.packs == y.packs && (!is_complex(compute) || x.entry == y.entry);
}

// Bits must not depend on the number of threads: packs and the roles of A and B are chosen as for one thread, and the
// kernel for the actual number.
Program for_threads(FoldedProduct const& product, Question const& question) {
  Program program = Planner(question).run(product);
  if (question.device.multiprocessors <= 1 || question.config || program.candidates.size() < 2) return program;
  DeviceInfo alone = question.device;
  alone.multiprocessors = 1;
  Program of_one =
      Planner(
          {question.target, question.platform, alone, question.kernel, question.registry, {}, question.workspace_limit})
          .run(product);
  Decision const decided = of_one.candidates.front().decision;
  auto& all = program.candidates;
  auto const found = std::find_if(all.begin(), all.end(), [&](Candidate const& candidate) {
    return add_alike(candidate.decision, decided, product.asked().compute);
  });
  if (found == all.begin()) return program;
  if (found == all.end()) return of_one;
  Question forced = question;
  forced.config = Config{found->decision.entry->traits.name, decided.exchanged, {}, decided.packs};
  Program chosen = Planner(forced).run(product);
  std::rotate(all.begin(), found, found + 1);
  chosen.candidates = std::move(all);
  return chosen;
}

Program make_one(FoldedProduct const& product, Question const& question) {
  return question.platform.has_threads ? for_threads(product, question) : Planner(question).run(product);
}

}  // namespace

namespace {

// By emulated precision, if that was asked for and, where it may be exact as well, if it is faster.
std::optional<Program> emulated(FoldedProduct const& product, Question const& question) {
  Geometry const& asked = product.asked();
  std::optional<Program> best;
  for (Planes const& planes : planes_for(asked)) {
    Program found = make_emulated(product, planes, question);
    if (!best || (found.refused.empty() && (!best->refused.empty() || found.us() < best->us())))
      best = std::move(found);
  }
  return best;
}

}  // namespace

Program make_program(FoldedProduct const& product, Question const& question) {
  if (product.asked().precision != Precision::exact) {
    // Where a kernel is named, it says which.
    bool const names_step = question.kernel != "auto" &&
                            std::any_of(question.registry.begin(), question.registry.end(), [&](Entry const& entry) {
                              return is_of_a_step(entry.traits.types.compute) && matches(entry.traits, question.kernel);
                            });
    bool const may_be_exact = product.asked().precision == Precision::fast && !names_step;
    // The choice depends on extents.
    bool const names_exact = may_be_exact && (question.kernel != "auto" || product.asked().batch_invariant);
    Geometry exact = product.asked();
    exact.precision = Precision::exact;
    if (!exact.multiplies && names_step) {  // nothing to split
      Question of_any = question;
      of_any.kernel = "auto";
      of_any.config.reset();
      return make_program(FoldedProduct(std::move(exact)), of_any);
    }
    if (!exact.multiplies || names_exact) return make_program(FoldedProduct(std::move(exact)), question);
    auto found = emulated(product, question);
    if (found && !may_be_exact) return *std::move(found);
    Program program = make_program(FoldedProduct(std::move(exact)), question);
    bool const is_faster =
        found && found->refused.empty() && (program.candidates.empty() || found->us() < program.us());
    return is_faster ? *std::move(found) : program;
  }
  Geometry const& asked = product.asked();
  Geometry adapted = asked;
  question.platform.adapt(adapted);
  // The same product by simpler arithmetic, unless a kernel for the original arithmetic is named.
  Geometry simpler = in_real_parts(adapted).value_or(adapted);
  if (simpler.b_is_one) simpler.compute = exact_compute(simpler.compute);  // nothing is multiplied, nor rounded first
  if (!(simpler == adapted)) {
    Program program = make_one(FoldedProduct(std::move(simpler)), question);
    if (!program.candidates.empty()) return program;
  }
  return adapted == asked ? make_one(product, question) : make_one(FoldedProduct(std::move(adapted)), question);
}

}  // namespace cute_py::dispatch
