#include "dispatch/fold.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <utility>

#include "problem/entry.hpp"

namespace cute_py::dispatch {
namespace {

constexpr int kMaxArrays = 6;

// The modes of one group with its strides in every array that has it.
struct Group {
  Modes* modes;
  std::int64_t* stride[kMaxArrays];
  int arrays = 0;

  void add(Array& array, int which) { stride[arrays++] = array.stride[which]; }

  void move(int from, int to) {
    modes->extent[to] = modes->extent[from];
    for (int i = 0; i < arrays; ++i) stride[i][to] = stride[i][from];
  }

  void erase(int mode) {
    for (int i = mode + 1; i < modes->rank; ++i) move(i, i - 1);
    --modes->rank;
  }

  // Brings a mode to a place further in front; those between make room.
  void bring(int mode, int place) {
    for (; mode > place; --mode) {
      std::swap(modes->extent[mode], modes->extent[mode - 1]);
      for (int i = 0; i < arrays; ++i) std::swap(stride[i][mode], stride[i][mode - 1]);
    }
  }

  // Makes two modes of one: `length` of its elements, and what they are repeated by. `length` divides the extent.
  void split(int mode, std::int64_t length) {
    for (int i = modes->rank; i > mode + 1; --i) move(i - 1, i);
    ++modes->rank;
    modes->extent[mode + 1] = modes->extent[mode] / length;
    modes->extent[mode] = length;
    for (int i = 0; i < arrays; ++i) stride[i][mode + 1] = stride[i][mode] * length;
  }

  // Does mode j go on where mode i ends, in every array?
  bool continues(int i, int j) const {
    for (int x = 0; x < arrays; ++x) {
      if (stride[x][j] != stride[x][i] * modes->extent[i]) return false;
    }
    return true;
  }

  void drop_single() {
    for (int i = modes->rank; i-- > 0;) {
      if (modes->extent[i] == 1) erase(i);
    }
  }

  // Without a change to the order in which the group is gone through.
  void coalesce_in_order() {
    drop_single();
    for (int i = 0; i + 1 < modes->rank;) {
      if (!continues(i, i + 1)) {
        ++i;
        continue;
      }
      modes->extent[i] *= modes->extent[i + 1];
      erase(i + 1);
    }
  }

  void reverse() {
    for (int i = 0; i < modes->rank; ++i) bring(modes->rank - 1, i);
  }

  void coalesce() {
    drop_single();
    for (int i = 0; i < modes->rank;) {
      int next = 0;
      while (next < modes->rank && (next == i || !continues(i, next))) ++next;
      if (next == modes->rank) {
        ++i;
        continue;
      }
      modes->extent[i] *= modes->extent[next];
      erase(next);
      i = 0;
    }
  }

  // The mode with the shortest stride in an array; strides of 0 are the longest.
  int fastest(int array) const {
    int found = 0;
    for (int i = 1; i < modes->rank; ++i) {
      if (length(array, i) < length(array, found)) found = i;
    }
    return found;
  }

  std::int64_t length(int array, int mode) const {
    auto const s = std::abs(stride[array][mode]);
    return s == 0 ? std::numeric_limits<std::int64_t>::max() : s;
  }

  // By ascending stride in an array.
  void sort(int array) {
    for (int place = 0; place < modes->rank; ++place) {
      int best = place;
      for (int i = place + 1; i < modes->rank; ++i) {
        if (length(array, i) < length(array, best)) best = i;
      }
      bring(best, place);
    }
  }
};

// Runs of this many elements fill the sectors that memory moves.
constexpr std::int64_t kRun = 16;
constexpr std::int64_t kShortestRun = 4;

// The most columns of a result that is small beside A.
constexpr std::int64_t kNarrow = 16;

std::int64_t largest_run(std::int64_t extent) {
  if (extent <= kRun) return extent;
  for (auto run = kRun; run > 1; --run) {
    if (extent % run == 0) return run;
  }
  return 1;
}

// Orders a group for two arrays, either of which may have its fastest mode here. If both have, and the modes differ, a
// run of each comes first, so that a tile has neighbouring elements of both.
void order(Group& group, int first_array, bool first_is_fast, int second_array, bool second_is_fast) {
  group.sort(first_is_fast || !second_is_fast ? first_array : second_array);
  if (group.modes->rank < 2 || !first_is_fast || !second_is_fast) return;
  int const other = group.fastest(second_array);
  if (other == 0) return;
  auto const run_first = largest_run(group.modes->extent[0]);
  auto const run_other = largest_run(group.modes->extent[other]);
  bool const room = group.modes->rank + 2 <= kMaxKernelModes;
  if (!room || run_first < kShortestRun || run_other < kShortestRun) {
    group.bring(other, 1);
    return;
  }
  if (run_other < group.modes->extent[other]) group.split(other, run_other);
  if (run_first < group.modes->extent[0]) {
    group.split(0, run_first);
    group.bring(other + 1, 1);
  } else {
    group.bring(other, 1);
  }
}

}  // namespace

int fastest_group(Array const& array, Modes const& first, Modes const& second) {
  auto shortest = std::numeric_limits<std::int64_t>::max();
  int found = 0;
  for (int group = 0; group < 2; ++group) {
    Modes const& modes = group == 0 ? first : second;
    for (int i = 0; i < modes.rank; ++i) {
      auto const length = std::abs(array.stride[group][i]);
      if (length != 0 && modes.extent[i] > 1 && length < shortest) {
        shortest = length;
        found = group;
      }
    }
  }
  return found;
}

Problem transposed(Problem const& p) {
  Problem t = p;
  std::swap(t.m, t.n);
  std::swap(t.a, t.b);
  std::swap(t.conj_a, t.conj_b);
  std::swap(t.own_a, t.own_b);
  for (Array* array : {&t.c, &t.d, &t.epilogue.bias, &t.epilogue.residual}) {
    std::swap(array->stride[0], array->stride[1]);
  }
  return t;
}

Problem folded(Problem const& problem) {
  Problem p = problem;
  p.own_a = p.own_b = 0;  // said of modes that are about to change
  if (p.alpha == 0.0 || p.k.size() == 0) {
    p.alpha = 0;
    p.k = one_mode(0);
    for (Array* array : {&p.a, &p.b}) {
      for (auto& strides : array->stride) std::fill(std::begin(strides), std::end(strides), 0);
    }
  }
  bool const reads = p.alpha != 0.0;

  Array* results[4];
  int count = 0;
  results[count++] = &p.d;
  if (p.reads_c()) results[count++] = &p.c;
  if (p.epilogue.bias.data != nullptr) results[count++] = &p.epilogue.bias;
  if (p.epilogue.residual.data != nullptr) results[count++] = &p.epilogue.residual;

  Group m{&p.m, {}}, n{&p.n, {}}, k{&p.k, {}}, l{&p.l, {}};
  for (int i = 0; i < count; ++i) {
    m.add(*results[i], 0);
    n.add(*results[i], 1);
    l.add(*results[i], 2);
  }
  if (reads) {
    m.add(p.a, 0);
    k.add(p.a, 1);
    l.add(p.a, 2);
    n.add(p.b, 0);
    k.add(p.b, 1);
    l.add(p.b, 2);
  }
  for (Group* group : {&m, &n, &l}) group->coalesce();
  if (reads && p.batch_invariant) {
    // In the order of the subscripts, the last one fastest: neither extents nor strides decide in what order K is
    // added.
    k.reverse();
    k.coalesce_in_order();
  } else if (reads) {
    k.coalesce();
  }

  bool const d_fast_in_m = fastest_group(p.d, p.m, p.n) == 0;
  bool const a_fast_in_m = reads && fastest_group(p.a, p.m, p.k) == 0;
  bool const b_fast_in_n = reads && fastest_group(p.b, p.n, p.k) == 0;
  bool const narrow = reads && p.n.size() <= kNarrow;
  if (narrow) {  // nearly all of the bytes are A's
    m.sort(count);
  } else {
    order(m, 0, d_fast_in_m, count, a_fast_in_m);
  }
  order(n, 0, !d_fast_in_m, count, b_fast_in_n);
  l.sort(0);
  if (p.batch_invariant) return p;
  if (narrow) {
    k.sort(0);
  } else if (reads) {
    order(k, 0, !a_fast_in_m, 1, !b_fast_in_n);
  }
  return p;
}

}  // namespace cute_py::dispatch
