#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "cpu/arithmetic.hpp"
#include "problem/geometry.hpp"

namespace cute_py::cpu {

inline std::int64_t length(Mode const& mode, Role role) { return std::abs(mode.stride[role]); }

// What computes the sums: rectangles of the first two modes (rectangles.hpp); dot products and reductions; GEMV by
// lines along the first mode, or by rows along k.
enum class Operation { elementwise, dot, gemv_lines, gemv_rows };

// How the sums are gone through: what does not depend on arrays.
struct LoopPlan {
  Modes free;  // M, N and L; the first is that of the lines
  Operation operation = Operation::gemv_lines;
  std::int64_t elements = 0;  // of free
  std::int64_t k = 0;
  std::int64_t blocks = 0;  // of K

  // Do lines of results stay in L1, for some steps of k at a time?
  bool in_lines() const { return operation == Operation::gemv_lines; }

  std::int64_t steps_of(std::int64_t block) const { return std::min(kBlockOfK, k - block * kBlockOfK); }
};

// A short line of results times one number each, which the next one goes on with: if the numbers are repeated as often
// as they are needed, both lines are one. Which factor has them; c if there is none.
inline Role numbers_of_short_lines(Mode const& line, Mode const& next, std::int64_t k) {
  constexpr std::int64_t kShort = 64;
  if (k != 1 || line.extent > kShort) return Role::c;
  auto const goes_on = [&](Role role) { return line.stride[role] == 1 && next.stride[role] == line.extent; };
  if (!goes_on(Role::d)) return Role::c;
  if (line.stride[Role::a] == 0 && next.stride[Role::a] != 0 && goes_on(Role::b)) return Role::a;
  if (line.stride[Role::b] == 0 && next.stride[Role::b] != 0 && goes_on(Role::a)) return Role::b;
  return Role::c;
}

// What it costs an element that a line goes along this mode: loads and stores, and what a line costs.
inline double cost_of_line(Geometry const& g, Mode const& mode) {
  double cost = 40.0 / static_cast<double>(mode.extent);
  for (int i = 0; i < kRoles; ++i) {
    auto const role = static_cast<Role>(i);
    if (g.has(role)) cost += length(mode, role) == 0 ? 0 : mode.stride[role] == 1 ? 1 : 6;
  }
  return cost;
}

// Are results written as sums of products of one type, and nothing else is done to them?
inline bool is_simple(Geometry const& g) {
  auto const own = type_of_sums(g.compute);
  return (g.compute == Compute::f32 || g.compute == Compute::f64) && g.multiplies && g.is_plain() && !g.reads_c &&
         g.type[Role::a] == own && g.type[Role::b] == own && g.type[Role::d] == own;
}

// Puts the modes of a rectangle first, if there is one: one along which the result is dense, and one along which the
// larger factor is, or else the next of the result that is no short one.
inline void find_rectangle(Geometry const& g, Role larger, LoopPlan& plan) {
  if (!is_simple(g) || g.k.rank() > 1 || plan.k > kBlockOfK || (!plan.in_lines() && plan.k != 1)) return;
  auto const move = [&](int from, int to) {
    std::rotate(plan.free.begin() + to, plan.free.begin() + from, plan.free.begin() + from + 1);
  };
  int dense = 0;
  while (dense < plan.free.rank() && plan.free[dense].stride[Role::d] != 1) ++dense;
  if (dense == plan.free.rank() || (plan.k > 1 && dense != 0)) return;
  // A long line of sums stays in a cache, while the larger factor is read as it lies.
  constexpr std::int64_t kLong = 64;
  if (plan.k > 1 && plan.free[0].extent >= kLong && plan.free[0].stride[larger] == 1) return;
  plan.operation = Operation::elementwise;
  move(dense, 0);
  for (int mode = 1; mode < plan.free.rank(); ++mode) {
    if (numbers_of_short_lines(plan.free[0], plan.free[mode], plan.k) != Role::c) return move(mode, 1);
  }
  constexpr std::int64_t kShort = 8;
  int next = 1;
  while (next < plan.free.rank() && plan.free[next].stride[larger] != 1) ++next;
  if (next == plan.free.rank() || plan.free[0].stride[larger] == 1 || plan.free[0].stride[larger] == 0) {
    next = 1;
    while (next < plan.free.rank() && plan.free[next].extent < kShort) ++next;
  }
  if (next < plan.free.rank()) move(next, 1);
}

inline LoopPlan make_plan(Geometry const& g) {
  LoopPlan plan;
  for (Modes const* group : {&g.m, &g.n, &g.l}) {
    for (Mode const& mode : *group) plan.free.push_back(mode);
  }
  coalesce(plan.free);
  plan.elements = plan.free.size();
  plan.k = g.multiplies ? g.k.size() : 0;
  plan.blocks = ceil_div(plan.k, kBlockOfK);

  std::stable_sort(plan.free.begin(), plan.free.end(), [](Mode const& x, Mode const& y) {
    auto const of = [](Mode const& mode) {
      return mode.stride[Role::d] == 0 ? std::numeric_limits<std::int64_t>::max() : length(mode, Role::d);
    };
    return of(x) < of(y);
  });
  // Elements of a factor.
  auto const size_of = [&](Role role) {
    double size = 1;
    Modes const* const both[] = {&plan.free, &g.k};
    for (Modes const* modes : both) {
      for (Mode const& mode : *modes) size *= mode.stride[role] == 0 ? 1 : static_cast<double>(mode.extent);
    }
    return size;
  };
  Role const larger = size_of(Role::a) >= size_of(Role::b) ? Role::a : Role::b;
  if (plan.k > 1) {
    // Rows, if the shortest stride of the larger factor is along k.
    auto shortest = std::numeric_limits<std::int64_t>::max();
    int line = -1;
    for (int i = 0; i < plan.free.rank(); ++i) {
      if (length(plan.free[i], larger) == 0 || length(plan.free[i], larger) >= shortest) continue;
      shortest = length(plan.free[i], larger);
      line = i;
    }
    constexpr std::int64_t kShortLine = 8;
    bool in_lines = line >= 0 && plan.free[line].extent >= kShortLine;
    for (Mode const& mode : g.k) {
      if (length(mode, larger) != 0 && length(mode, larger) < shortest) in_lines = false;
    }
    plan.operation = is_dot_product(g) ? Operation::dot : in_lines ? Operation::gemv_lines : Operation::gemv_rows;
    if (plan.in_lines()) std::rotate(plan.free.begin(), plan.free.begin() + line, plan.free.begin() + line + 1);
  } else if (plan.free.rank() > 1) {
    auto const cheapest = std::min_element(plan.free.begin(), plan.free.end(), [&](Mode const& x, Mode const& y) {
      return cost_of_line(g, x) < cost_of_line(g, y);
    });
    std::rotate(plan.free.begin(), cheapest, cheapest + 1);
  }
  find_rectangle(g, larger, plan);
  if (plan.free.rank() == 0) plan.free.push_back(Mode{1, {}, false, false});
  return plan;
}

}  // namespace cute_py::cpu
