#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/loops/factors.hpp"

namespace cute_py::cpu {

// Dot products and reductions: acc(row,block), the sums of some blocks of K of `count` rows. All blocks of a row, and
// then the next row.
template <Compute compute>
void sum_dot_products(Factors<compute> const& of, std::int64_t count, std::int64_t first, std::int64_t blocks,
                      typename Arithmetic<compute>::Scalar* acc, LoopScratch<compute>& s) {
  using Scalar = typename Arithmetic<compute>::Scalar;
  bool const along_a = of.a.step == 1;
  Factor<compute> const& x = along_a ? of.a : of.b;
  Factor<compute> const& y = along_a ? of.b : of.a;
  auto const* const rows_x = along_a ? s.rows_a : s.rows_b;
  auto const* const rows_y = along_a ? s.rows_b : s.rows_a;
  auto const begin = first * kBlockOfK;
  auto const steps = std::min(blocks * kBlockOfK, of.plan.k - begin);
  AlignedBuffer<Scalar> sums(count > 1 ? blocks : 0);
  for (std::int64_t f = 0; f < count; ++f) {
    Scalar* const to = count > 1 ? sums.data : acc;
    Scalar const* const other = y.at(rows_y[f]);
    of.kernels.dot.blocks(steps, kBlockOfK, x.at(rows_x[f] + begin), y.step == 1 ? other + begin : nullptr, other, to);
    for (std::int64_t i = 0; count > 1 && i < blocks; ++i) acc[i * count + f] = to[i];
  }
}

}  // namespace cute_py::cpu
