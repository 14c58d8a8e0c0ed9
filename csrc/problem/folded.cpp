#include "problem/folded.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "problem/entry.hpp"

namespace cute_py {
namespace {

// Contiguous runs of this many elements fill the sectors that memory moves.
constexpr std::int64_t kRun = 16;
constexpr std::int64_t kShortestRun = 4;

// The most columns of a result that is small beside A.
constexpr std::int64_t kNarrow = 16;

// Keeps the order in which the group is traversed.
void coalesce_in_order(Modes& modes) {
  drop_single(modes);
  for (int i = 0; i + 1 < modes.rank();) {
    if (!continues(modes[i], modes[i + 1])) {
      ++i;
      continue;
    }
    modes[i].extent *= modes[i + 1].extent;
    modes.erase(i + 1);
  }
}

// Of a mode in an array; a stride of 0 is the longest.
std::int64_t length(Mode const& mode, Role role) {
  auto const stride = std::abs(mode.stride[role]);
  return stride == 0 ? std::numeric_limits<std::int64_t>::max() : stride;
}

bool is_shorter(Mode const& x, Mode const& y, Role role) { return length(x, role) < length(y, role); }

// By ascending stride in an array.
void sort(Modes& modes, Role role) {
  std::stable_sort(modes.begin(), modes.end(), [&](Mode const& x, Mode const& y) { return is_shorter(x, y, role); });
}

// Brings a mode to a place further in front; those between make room.
void bring(Modes& modes, int mode, int place) {
  std::rotate(modes.begin() + place, modes.begin() + mode, modes.begin() + mode + 1);
}

// Makes two modes of one: `run` of its elements, and what they are repeated by. `run` divides the extent.
void split(Modes& modes, int mode, std::int64_t run) {
  Mode rest = modes[mode];
  rest.extent /= run;
  for (auto& stride : rest.stride.values) stride *= run;
  modes[mode].extent = run;
  modes.insert(mode + 1, rest);
}

std::int64_t largest_run(std::int64_t extent) {
  if (extent <= kRun) return extent;
  for (auto run = kRun; run > 1; --run) {
    if (extent % run == 0) return run;
  }
  return 1;
}

// Orders a group for two arrays, either of which may have its fastest mode here. If both have, and the modes differ, a
// run of each comes first, so that a tile has contiguous elements of both.
void order(Modes& modes, Role first, bool first_is_fast, Role second, bool second_is_fast) {
  sort(modes, first_is_fast || !second_is_fast ? first : second);
  if (modes.rank() < 2 || !first_is_fast || !second_is_fast) return;
  auto const fastest = std::min_element(modes.begin(), modes.end(),
                                        [&](Mode const& x, Mode const& y) { return is_shorter(x, y, second); });
  int const other = static_cast<int>(fastest - modes.begin());
  if (other == 0) return;
  auto const run_first = largest_run(modes[0].extent);
  auto const run_other = largest_run(modes[other].extent);
  bool const room = modes.rank() + 2 <= kMaxKernelModes;
  if (!room || run_first < kShortestRun || run_other < kShortestRun) {
    bring(modes, other, 1);
    return;
  }
  if (run_other < modes[other].extent) split(modes, other, run_other);
  if (run_first < modes[0].extent) {
    split(modes, 0, run_first);
    bring(modes, other + 1, 1);
  } else {
    bring(modes, other, 1);
  }
}

}  // namespace

int fastest_group(Role role, Modes const& first, Modes const& second) {
  auto shortest = std::numeric_limits<std::int64_t>::max();
  int found = 0;
  for (int group = 0; group < 2; ++group) {
    for (Mode const& mode : group == 0 ? first : second) {
      if (mode.extent > 1 && length(mode, role) < shortest) {
        shortest = length(mode, role);
        found = group;
      }
    }
  }
  return found;
}

Geometry transposed(Geometry const& geometry) {
  Geometry t = geometry;
  std::swap(t.m, t.n);
  std::swap(t.conj_a, t.conj_b);
  std::swap(t.padded_a, t.padded_b);
  std::swap(t.type[Role::a], t.type[Role::b]);
  std::swap(t.log2_alignment[Role::a], t.log2_alignment[Role::b]);
  for_each_group(t, [](Modes& modes) {
    for (Mode& mode : modes) {
      std::swap(mode.stride[Role::a], mode.stride[Role::b]);
      std::swap(mode.only_in_a, mode.only_in_b);
    }
  });
  return t;
}

Folded::Folded(Geometry const& geometry) : geometry_(geometry) {
  Geometry& g = geometry_;
  for (Mode& mode : g.k) mode.only_in_a = mode.only_in_b = false;  // flags of the modes before the merge
  if (is_of_a_step(g.compute)) {                                   // planes and exponents are in the order of the modes
    for_each_group(g, [](Modes& modes) { coalesce_in_order(modes); });
    return;
  }
  if (!g.multiplies) {
    g.k = Modes({Mode{0, {}, false, false}});
    for_each_group(g, [](Modes& modes) {
      for (Mode& mode : modes) mode.stride[Role::a] = mode.stride[Role::b] = 0;
    });
  }
  for (Modes* modes : {&g.m, &g.n, &g.l}) coalesce(*modes);
  bool const keeps_k = g.batch_invariant || g.precision == Precision::reproducible;
  if (g.multiplies && keeps_k) {
    // In the order of the subscripts, the last one fastest: neither extents nor strides decide in what order K is
    // added.
    std::reverse(g.k.begin(), g.k.end());
    coalesce_in_order(g.k);
  } else if (g.multiplies) {
    coalesce(g.k);
  }

  bool const d_fast_in_m = fastest_group(Role::d, g.m, g.n) == 0;
  bool const a_fast_in_m = g.multiplies && fastest_group(Role::a, g.m, g.k) == 0;
  bool const b_fast_in_n = g.multiplies && fastest_group(Role::b, g.n, g.k) == 0;
  bool const narrow = g.multiplies && g.n.size() <= kNarrow;
  if (narrow) {  // nearly all of the bytes are A's
    sort(g.m, Role::a);
  } else {
    order(g.m, Role::d, d_fast_in_m, Role::a, a_fast_in_m);
  }
  order(g.n, Role::d, !d_fast_in_m, Role::b, b_fast_in_n);
  sort(g.l, Role::d);
  if (keeps_k) return;
  if (narrow) {
    sort(g.k, Role::a);
  } else if (g.multiplies) {
    order(g.k, Role::a, !a_fast_in_m, Role::b, !b_fast_in_n);
  }
}

FoldedProduct::FoldedProduct(Geometry geometry)
    : asked_(std::move(geometry)),
      straight_(asked_),
      is_along_n_(asked_.compute != Compute::copy && fastest_group(Role::d, asked_.m, asked_.n) == 1) {
  bool const has_roles = asked_.compute != Compute::copy && !is_of_a_step(asked_.compute);
  if (!has_roles || (asked_.batch_invariant && is_complex(asked_.compute))) {
    is_along_n_ = false;
  } else {
    exchanged_.emplace(transposed(asked_));
  }
}

}  // namespace cute_py
