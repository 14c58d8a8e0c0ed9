#include "dispatch/program.hpp"

#include <cstdint>
#include <utility>

#include "dispatch/choose.hpp"
#include "dispatch/workspace.hpp"

namespace cute_py::dispatch {
namespace {

// Sums can be factors of another product, those of int8 cannot.
bool sums_are_factors(Compute compute) { return compute != Compute::i32; }

Place place_of_one(DType type) { return {Source::one, kBytesOfOne * static_cast<int>(type)}; }

class Planner {
 public:
  explicit Planner(Question const& question) : question_(question) {}

  Program run(Geometry geometry) {
    PerRole<Place> places;
    for (int i = 0; i < kRoles; ++i) places[static_cast<Role>(i)] = {static_cast<Source>(i), 0};
    if (geometry.multiplies && sums_are_factors(geometry.compute)) {
      sum_first(geometry, Role::a, places[Role::a]);
      sum_first(geometry, Role::b, places[Role::b]);
    }
    Choice choice = choose(Purpose::multiply, geometry, places, question_, program_.workspace_bytes);
    for (Step& step : choice.steps) program_.steps.push_back(std::move(step));
    program_.workspace_bytes = choice.workspace_bytes;
    program_.candidates = std::move(choice.candidates);
    return std::move(program_);
  }

 private:
  Place reserve(std::int64_t elements, DType type) {
    Place const place{Source::workspace, program_.workspace_bytes};
    program_.workspace_bytes += workspace_bytes_of(elements, type);
    return place;
  }

  // A, or B, is summed over the modes of K that it has alone. If the product is batch_invariant, the extents of the
  // other groups have no say in it.
  void sum_first(Geometry& g, Role x, Place& place) {
    bool const is_a = x == Role::a;
    Modes& mn = is_a ? g.m : g.n;
    auto const is_own = [is_a](Mode const& mode) { return is_a ? mode.only_in_a : mode.only_in_b; };
    std::int64_t lone = 1;
    std::int64_t others = (is_a ? g.n : g.m).size();  // how often each element of x would be multiplied
    for (Mode const& mode : g.k) {
      if (is_own(mode)) {
        lone *= mode.extent;
      } else if (mode.stride[x] == 0) {
        others *= mode.extent;
      }
    }
    if (lone < 2 || (others < 2 && !g.batch_invariant)) return;
    if (mn.rank() + g.k.rank() + g.l.rank() > kMaxModes) return;

    // M: all that stays of x; K: what is summed over.
    Geometry s;
    s.compute = exact(g.compute);
    s.batch_invariant = g.batch_invariant;
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
    Question question{question_.target, question_.device, "auto", question_.registry};
    question.may_part = false;
    auto const purpose = is_a ? Purpose::sum_a : Purpose::sum_b;
    program_.steps.push_back(choose(purpose, s, places, question, program_.workspace_bytes).steps.front());
    program_.steps.back().takes_scalars = false;
    place = result;
  }

  Question const& question_;
  Program program_;
};

}  // namespace

char const* name_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::multiply:
      return "multiply";
    case Purpose::sum_a:
      return "sum A over its own indices";
    case Purpose::sum_b:
      return "sum B over its own indices";
  }
  return "";
}

double Program::us() const {
  double us = 0;
  for (Step const& step : steps) us += step.estimate.us;
  return us;
}

Program make_program(Geometry const& geometry, Question const& question) { return Planner(question).run(geometry); }

}  // namespace cute_py::dispatch
