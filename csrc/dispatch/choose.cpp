#include "dispatch/choose.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "dispatch/fold.hpp"
#include "dispatch/refusals.hpp"
#include "dispatch/workspace.hpp"

namespace cute_py::dispatch {
namespace {

// So many of the best are looked at in every step.
constexpr std::size_t kLookedAt = 5;

Extents extents_of(Geometry const& g) { return {g.m.size(), g.n.size(), g.k.size(), g.l.size()}; }

// A product in the place of one that is batch_invariant: whatever M, N and L it has, the choice is the one for this.
Geometry canonical(Geometry const& g) {
  constexpr std::int64_t kExtent = 4096;
  auto const mode = [](std::int64_t extent, std::int64_t a, std::int64_t b, std::int64_t d) {
    Mode made{extent, {}, false, false};
    made.stride[Role::a] = a;
    made.stride[Role::b] = b;
    made.stride[Role::d] = d;
    return Modes({made});
  };
  Geometry same = g;
  auto const k = std::max<std::int64_t>(g.k.size(), 1);
  same.m = mode(kExtent, k, 0, 1);
  same.n = mode(kExtent, 0, k, kExtent);
  same.k = mode(g.k.size(), 1, 1, 0);
  same.l.clear();
  return same;
}

// K in parts: its last mode in pieces of one length, and a shorter one if there is a rest. In a K of one mode, pieces
// are whole tiles.
struct Cut {
  std::int64_t length;
  std::int64_t count;  // with the shorter one; not more than was wanted
};

Cut cut_k(Geometry const& g, Traits const& t, std::int64_t wanted) {
  int const last = g.k.rank() - 1;
  auto length = ceil_div(g.k[last].extent, wanted);
  if (last == 0) length = ceil_div(length, t.tile[2]) * t.tile[2];
  return {length, ceil_div(g.k[last].extent, length)};
}

class Chooser {
 public:
  Chooser(Purpose purpose, Geometry const& geometry, PerRole<Place> const& places, Question const& question,
          std::int64_t reserved)
      : purpose_(purpose), places_(places), question_(question), reserved_(reserved) {
    // Kernels write D along m. If D's unit stride is in the other group, that is a reason to compute D^T. Not if it
    // changed bits which must depend on nothing but the row: exchanged factors exchange the adds of a complex product.
    bool const may_exchange = !geometry.batch_invariant || !is_complex(geometry.compute);
    bool const n_major = may_exchange && fastest_group(Role::d, geometry.m, geometry.n) == 1;
    first_ = n_major;
    oriented_[first_] = folded(first_ ? transposed(geometry) : geometry);
    if (may_exchange) oriented_[!first_] = folded(first_ ? geometry : transposed(geometry));
  }

  Choice run() {
    Choice choice;
    propose(first_);
    // If it is batch_invariant, how D lies decides, and the other way is for want of a kernel alone.
    if (oriented_[!first_] && (!geometry_of(first_).batch_invariant || found_.empty())) propose(!first_);
    sort();
    look_closely();
    while (!found_.empty()) {
      auto const best = std::min_element(found_.begin(), found_.end(), [this](Found const& x, Found const& y) {
        return std::make_tuple(!is_close(x), x.candidate.decision.parts > 1, x.order) <
               std::make_tuple(!is_close(y), y.candidate.decision.parts > 1, y.order);
      });
      Built built = build(best->candidate.decision);
      if (built.steps.empty()) {  // in parts, and nobody had looked
        found_.erase(best);
        continue;
      }
      std::rotate(found_.begin(), best, best + 1);
      for (Found const& found : found_) choice.candidates.push_back(found.candidate);
      choice.steps = std::move(built.steps);
      choice.workspace_bytes = built.workspace_bytes;
      return choice;
    }
    choice.steps.push_back({purpose_, geometry_of(first_), first_, oriented_places(first_), true, nullptr, {}});
    choice.workspace_bytes = reserved_;
    return choice;
  }

 private:
  struct Found {
    Candidate candidate;
    std::size_t order;  // in which it was proposed
  };

  // The steps of a decision; none if its kernel does not take a part.
  struct Built {
    std::vector<Step> steps;
    std::int64_t workspace_bytes = 0;
  };

  Geometry const& geometry_of(bool exchanged) const { return *oriented_[exchanged]; }

  PerRole<Place> oriented_places(bool exchanged) const {
    PerRole<Place> places = places_;
    if (exchanged) std::swap(places[Role::a], places[Role::b]);
    return places;
  }

  void propose(bool exchanged) {
    Geometry const& g = geometry_of(exchanged);
    Geometry const& judged = g.batch_invariant ? canonical_.emplace(canonical(g)) : g;
    Extents const x = extents_of(judged);
    bool const may_part = question_.may_part && question_.kernel == "auto" && !g.batch_invariant && g.multiplies &&
                          g.compute != Compute::i32 && g.k.rank() > 0;
    std::vector<std::int64_t> parts;
    for (Entry const& entry : question_.registry) {
      Traits const& t = entry.traits;
      if (t.target != question_.target || t.compute != g.compute || !matches(t, question_.kernel)) continue;
      if (refusals(t, g, question_.device) != kNone) continue;
      parts.assign(1, 1);
      if (question_.config) {
        if (t.name != question_.config->kernel || exchanged != question_.config->transposed) continue;
        parts.assign(1, question_.config->parts);
      } else if (may_part) {
        entry.rules->propose_parts(x, t, question_.device, parts);
      }
      for (auto const wanted : parts) {
        auto const count = wanted > 1 ? cut_k(g, t, wanted).count : 1;
        if ((question_.config && count != wanted) || (wanted > 1 && count < 2)) continue;
        Extents of_parts = x;
        if (count > 1) of_parts.k = ceil_div(x.k, count);
        of_parts.l *= count;
        Estimate estimate = entry.rules->estimate(judged, of_parts, t, question_.device);
        if (count > 1) estimate.us += us_to_add(x, count);
        auto const ctas = entry.rules->ctas(count > 1 ? of_parts : extents_of(g), t);
        found_.push_back({{{&entry, exchanged, count, ctas}, estimate}, found_.size()});
      }
    }
  }

  // Of the sums of parts, before anybody has looked which kernel adds them.
  double us_to_add(Extents const& x, std::int64_t parts) const {
    constexpr double kLaunchUs = 3;
    auto const sums =
        static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.l) * static_cast<double>(parts);
    auto const speed = std::max(question_.device.memory_gb_per_s, 1) * 1e3;
    return kLaunchUs + 2 * sums * sizeof(float) / speed;
  }

  void sort() {
    std::stable_sort(found_.begin(), found_.end(),
                     [](Found const& x, Found const& y) { return x.candidate.estimate.us < y.candidate.estimate.us; });
  }

  // Of the best, those in parts are estimated by all of their steps, and dropped if a step is refused.
  void look_closely() {
    for (std::size_t i = 0; i < std::min(kLookedAt, found_.size());) {
      Candidate& candidate = found_[i].candidate;
      if (candidate.decision.parts == 1) {
        ++i;
        continue;
      }
      Built const built = build(candidate.decision);
      if (built.steps.empty()) {
        found_.erase(found_.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      candidate.estimate.us = 0;
      for (Step const& step : built.steps) candidate.estimate.us += step.estimate.us;
      ++i;
    }
    sort();
  }

  bool is_close(Found const& found) const {
    return found.candidate.estimate.us <= found_.front().candidate.estimate.us * (1 + kTie);
  }

  Step step_of(Purpose purpose, Decision const& decision, Geometry geometry, PerRole<Place> const& places) const {
    auto const estimate =
        decision.entry->rules->estimate(geometry, extents_of(geometry), decision.entry->traits, question_.device);
    return {purpose, std::move(geometry), decision.exchanged, places, false, decision.entry, estimate};
  }

  Built build(Decision const& decision) const {
    Geometry const& g = geometry_of(decision.exchanged);
    PerRole<Place> const places = oriented_places(decision.exchanged);
    if (decision.parts == 1) {
      Step step = step_of(purpose_, decision, g, places);
      step.takes_scalars = true;
      return {{std::move(step)}, reserved_};
    }
    return build_parts(decision, g, places);
  }

  Built build_parts(Decision const& decision, Geometry const& g, PerRole<Place> const& places) const {
    Traits const& t = decision.entry->traits;
    int const last = g.k.rank() - 1;
    auto const [length, slots] = cut_k(g, t, decision.parts);
    auto const parts = g.k[last].extent / length;  // of the full length
    auto const rest = g.k[last].extent - parts * length;
    if (parts < 2 || g.m.rank() + g.n.rank() + g.l.rank() > kMaxKernelModes) return {};

    Geometry part = g;
    part.k[last].extent = length;
    part.reads_c = part.c_is_d = part.has_bias = part.has_residual = part.scales = part.saturate = false;
    part.activation = Activation::none;
    set_array(part, Role::d, type_of_sums(g.compute));
    std::int64_t slot = 1;  // elements of the sums of one part
    for (Modes* modes : {&part.m, &part.n, &part.l}) {
      for (Mode& mode : *modes) {
        mode.stride[Role::c] = mode.stride[Role::bias] = mode.stride[Role::residual] = 0;
        mode.stride[Role::d] = slot;
        slot *= mode.extent;
      }
    }
    Built built;
    Place const sums{Source::workspace, reserved_};
    built.workspace_bytes = reserved_ + workspace_bytes_of(slot * slots, part.type[Role::d]);
    PerRole<Place> part_places;
    part_places[Role::a] = places[Role::a];
    part_places[Role::b] = places[Role::b];
    part_places[Role::d] = sums;

    Geometry remainder = part;
    Mode batch{parts, {}, false, false};
    batch.stride[Role::a] = part.k[last].stride[Role::a] * length;
    batch.stride[Role::b] = part.k[last].stride[Role::b] * length;
    batch.stride[Role::d] = slot;
    part.l.push_back(batch);
    if (refusals(t, part, question_.device) != kNone) return {};
    built.steps.push_back(step_of(Purpose::multiply_parts, decision, std::move(part), part_places));

    if (rest > 0) {
      remainder.k[last].extent = rest;
      for (Role const role : {Role::a, Role::b, Role::d}) {
        auto const bytes = parts * batch.stride[role] * bytes_of(remainder.type[role]);
        part_places[role].offset += bytes;
        remainder.log2_alignment[role] =
            std::min(remainder.log2_alignment[role], log2_alignment_of(static_cast<std::uintptr_t>(bytes)));
      }
      Choice tail = best_of(Purpose::multiply_rest, remainder, part_places);
      if (tail.candidates.empty()) return {};
      built.steps.push_back(std::move(tail.steps.front()));
      built.steps.back().takes_scalars = false;
    }

    // D: the sums of all parts, in their order, times one, and the epilogue.
    Geometry add = g;
    add.compute = exact(g.compute);
    set_array(add, Role::a, type_of_sums(g.compute));
    set_array(add, Role::b, type_of_sums(g.compute));
    add.conj_a = add.conj_b = false;
    for (Modes* modes : {&add.m, &add.n, &add.k, &add.l}) modes->clear();
    Mode summed{slots, {}, false, false};
    summed.stride[Role::a] = slot;
    add.k.push_back(summed);
    std::int64_t step = 1;
    for (Modes const* modes : {&g.m, &g.n, &g.l}) {
      for (Mode mode : *modes) {
        mode.stride[Role::a] = step;
        mode.stride[Role::b] = 0;
        step *= mode.extent;
        add.m.push_back(mode);
      }
    }
    PerRole<Place> add_places = places;
    add_places[Role::a] = sums;
    add_places[Role::b] = {Source::one, kBytesOfOne * static_cast<int>(add.type[Role::b])};
    Choice finish = best_of(Purpose::add_parts, add, add_places);
    if (finish.candidates.empty()) return {};
    built.steps.push_back(std::move(finish.steps.front()));
    return built;
  }

  // A step of its own, in one launch, by whichever kernel is best.
  Choice best_of(Purpose purpose, Geometry const& geometry, PerRole<Place> const& places) const {
    Question question{question_.target, question_.device, "auto", question_.registry};
    question.may_part = false;
    return choose(purpose, geometry, places, question, reserved_);
  }

  Purpose purpose_;
  PerRole<Place> places_;
  Question const& question_;
  std::int64_t reserved_;
  bool first_ = false;
  std::optional<Geometry> oriented_[2];
  std::optional<Geometry> canonical_;
  std::vector<Found> found_;
};

}  // namespace

bool matches(Traits const& traits, std::string_view name) {
  return name == "auto" || name == traits.kernel || name == traits.name;
}

Choice choose(Purpose purpose, Geometry const& geometry, PerRole<Place> const& places, Question const& question,
              std::int64_t reserved_bytes) {
  return Chooser(purpose, geometry, places, question, reserved_bytes).run();
}

std::vector<Rejection> rejections(Geometry const& geometry, Question const& question) {
  std::vector<Rejection> found;
  for (Entry const& entry : question.registry) {
    Traits const& t = entry.traits;
    if (t.target != question.target || !matches(t, question.kernel)) continue;
    if (t.compute != geometry.compute && t.name != question.kernel) continue;
    auto const refused = refusals(t, geometry, question.device);
    if (refused != kNone) found.push_back({&entry, refused});
  }
  return found;
}

}  // namespace cute_py::dispatch
