#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/workspace.hpp"
#include "cpu/dot/dot.hpp"
#include "cpu/finish.hpp"
#include "cpu/loops/plan.hpp"

namespace cute_py::cpu {

inline constexpr std::int64_t kLineConverted = 256;  // elements of a line whose factors have to be converted
inline constexpr std::int64_t kStepsAtOnce = 16;     // columns of a line that is not axpy's
inline constexpr std::int64_t kStepsOfRows = 64;     // that are transposed at a time
inline constexpr std::int64_t kRows = 512;           // whose places are found at a time
inline constexpr int kRowsAtOnce = 4 * kMostLanes;   // four vectors
static_assert(kStepsOfRows * kRowsAtOnce <= kStepsAtOnce * kLineConverted);

// One of the factors.
template <Compute compute>
struct Factor {
  using Scalar = typename Arithmetic<compute>::Scalar;
  using Accumulator = typename Arithmetic<compute>::Accumulator;

  Factor(void const* data_, Geometry const& g, Role role_, Modes const& free)
      : data(data_),
        role(role_),
        type(g.type[role_]),
        is_own_type(g.multiplies && type == numeric::kDTypeOf<Accumulator>),
        conjugate(role_ == Role::a ? g.conj_a : g.conj_b),
        step(g.k.rank() == 0 ? 0 : g.k[0].stride[role_]) {
    for (Mode const& mode : free) varies = varies || mode.stride[role] != 0;
  }

  // Can a line along this mode be read where it lies?
  bool is_ready_along(Mode const& mode) const {
    return mode.stride[role] == 0 || (is_own_type && mode.stride[role] == 1);
  }

  Scalar const* at(std::int64_t offset) const { return static_cast<Scalar const*>(data) + kParts<compute> * offset; }

  void const* data;
  Role role;
  DType type;
  bool is_own_type;
  bool conjugate;
  std::int64_t step;  // of the first mode of k
  bool varies = false;
};

// Both of them, and what multiplies them.
template <Compute compute>
struct Factors {
  using Scalar = typename Arithmetic<compute>::Scalar;

  Kernels<Scalar> const& kernels;
  Geometry const& g;
  LoopPlan const& plan;
  Factor<compute> a;
  Factor<compute> b;

  // A line of a factor in the type that is computed in.
  void load(Factor<compute> const& x, Line const& line, std::int64_t count, Scalar* to) const {
    using Accumulator = typename Arithmetic<compute>::Accumulator;
    load_line<factor_types(compute)>(kernels, x.data, x.type, line, count, reinterpret_cast<Accumulator*>(to));
  }

  void multiply(std::int64_t count, std::int64_t steps, LineFactor<Scalar> const& x, LineFactor<Scalar> const& y,
                Scalar* acc, bool is_first) const {
    if constexpr (kParts<compute> == 2) {
      kernels.complex_gemv.lines(count, steps, x, a.conjugate, y, b.conjugate, acc, is_first);
    } else {
      kernels.gemv.lines(count, steps, x, y, acc, is_first);
    }
  }

  // Calls visit(offset in A, offset in B, steps) for the runs of k in [first, first + count) whose steps are equal.
  template <class Visit>
  void for_runs(std::int64_t first, std::int64_t count, Visit const& visit) const {
    if (g.k.rank() == 0) return visit(std::int64_t{0}, std::int64_t{0}, count);
    while (count > 0) {
      auto const steps = std::min(count, g.k[0].extent - first % g.k[0].extent);
      visit(offset_of(g.k, Role::a, first), offset_of(g.k, Role::b, first), steps);
      first += steps;
      count -= steps;
    }
  }
};

// What one thread computes in.
template <Compute compute>
struct LoopScratch {
  using Scalar = typename Arithmetic<compute>::Scalar;
  using Sum = SumOf<Scalar>;
  static constexpr std::int64_t kParts = cpu::kParts<compute>;
  static constexpr std::int64_t kOfFactor = kParts * kStepsAtOnce * kLineConverted;
  static constexpr std::int64_t kBytesOfLine = 16 << 10;  // of sums, at most
  static constexpr std::int64_t kMostOfLine = kBytesOfLine / static_cast<std::int64_t>(sizeof(Scalar));

  explicit LoopScratch(LoopPlan const& plan) : memory(bytes_of(plan)) {
    a = memory.take<Scalar>(kOfFactor);
    b = memory.take<Scalar>(kOfFactor);
    acc = memory.take<Scalar>(kParts * kMostOfLine);
    rows_a = memory.take<std::int64_t>(kRows);
    rows_b = memory.take<std::int64_t>(kRows);
    if (plan.blocks <= 1) return;
    group = memory.take<Scalar>(kParts * kMostOfLine);
    if (plan.blocks <= kBlocksOfGroup) return;
    sums = memory.take<Sum>(kParts * kMostOfLine);
    compensation = memory.take<Sum>(kParts * kMostOfLine);
  }

  static std::size_t bytes_of(LoopPlan const& plan) {
    auto bytes = 2 * Workspace::bytes_of<Scalar>(kOfFactor) + Workspace::bytes_of<Scalar>(kParts * kMostOfLine) +
                 2 * Workspace::bytes_of<std::int64_t>(kRows);
    if (plan.blocks > 1) bytes += Workspace::bytes_of<Scalar>(kParts * kMostOfLine);
    if (plan.blocks > kBlocksOfGroup) bytes += 2 * Workspace::bytes_of<Sum>(kParts * kMostOfLine);
    return bytes;
  }

  Workspace memory;
  Scalar* a = nullptr;  // factors that are converted, or rows that are transposed
  Scalar* b = nullptr;
  Scalar* acc = nullptr;
  Scalar* group = nullptr;  // see BlockSums
  Sum* sums = nullptr;
  Sum* compensation = nullptr;
  std::int64_t* rows_a = nullptr;  // where rows begin
  std::int64_t* rows_b = nullptr;
};

}  // namespace cute_py::cpu
