#pragma once

#include <cute/tensor.hpp>

#include "kernels/common/epilogue.cuh"
#include "kernels/common/registers.cuh"
#include "kernels/common/wgmma.hpp"
#include "kernels/gemm_sm90/tiles.hpp"
#include "numeric/power_of_2.hpp"

// What gemm_sm90 does for emulated precision beside residues: products of planes of 16 bits.
namespace cute_py::kernels {

// Starts to multiply planes of a stage: those of the largest ones, into accumulators that begin with zero, or all others.
template <class Config, bool is_largest, class Mma, class FragmentA, class FragmentB, class Sums>
CUTE_DEVICE void multiply_planes(Mma& mma, FragmentA const& tCrA, FragmentB const& tCrB, int stage, bool is_first, Sums& sums) {
  using namespace cute;
  constexpr int planes = Config::planes;
  auto const multiply = [&](int plane_a, int plane_b) {
    CUTE_UNROLL
    for (int k_block = 0; k_block < size<2>(tCrA); ++k_block) {
      gemm(mma, tCrA(_,_,k_block,stage * planes + plane_a), tCrB(_,_,k_block,stage * planes + plane_b), sums);
      mma.accumulate_ = SM90::GMMA::ScaleOut::One;
    }
  };
  warpgroup_fence_operand(sums);
  warpgroup_arrive();
  mma.accumulate_ = is_largest || is_first ? SM90::GMMA::ScaleOut::Zero : SM90::GMMA::ScaleOut::One;
  if constexpr (is_largest) {
    multiply(0, 0);
  } else {
    CUTE_UNROLL
    for (int sum = planes - 1; sum > 0; --sum) {  // of the planes' numbers: the smallest products first
      CUTE_UNROLL
      for (int plane_a = 0; plane_a <= sum; ++plane_a) multiply(plane_a, sum - plane_a);
    }
  }
  warpgroup_commit_batch();
}

// Where the exponents of a tile's rows and columns are.
struct ExponentsOfTile {
  std::int32_t const* rows;
  std::int32_t const* columns;

  CUTE_DEVICE ExponentsOfTile(PlaneExponents const& all, TileScheduler const& tiles, std::uint32_t product)
      : rows(all.of_rows + static_cast<std::int64_t>(product) * tiles.extent_m),
        columns(all.of_columns + static_cast<std::int64_t>(product) * tiles.extent_n) {}

  // Is the row, or the column, not finite, so that an element is computed elsewhere?
  static constexpr bool any = true;
  CUTE_DEVICE bool operator()(int m, int n) const { return rows[m] == kNotFinite || columns[n] == kNotFinite; }
};

// Adds the products of smaller planes, and scales sums back. `tile` begins with the warpgroup's first row. Returns whether
// there is a row or a column that is not finite, the same in all of its threads.
template <class Config, class Sums, class Accumulators>
CUTE_DEVICE bool finish_planes(Accumulators& sums, Accumulators const& smaller, ExponentsOfTile const& exponents,
                               TileOfD const& tile) {
  using namespace cute;
  constexpr float weight = Config::planes == 2 ? 0x1p-11f : 1.0f;  // of the smaller products
  constexpr int rows = 64;
  constexpr int columns = Config::BlkN::value;
  int const thread = thread_for_now() % 128;
  auto const exponent = [](std::int32_t const* at, int i, int count) { return i < count ? at[i] : 0; };
  auto const of_row = [&](int row) { return exponent(exponents.rows + tile.first_m, row, tile.rows); };
  auto const of_column = [&](int column) { return exponent(exponents.columns + tile.first_n, column, tile.columns); };
  int not_finite = 0;
  CUTE_UNROLL
  for (int row = 0; row < rows; row += 32) not_finite |= of_row(row + thread % 32) == kNotFinite;
  CUTE_UNROLL
  for (int column = 0; column < columns; column += 32) not_finite |= of_column(column + thread % 32) == kNotFinite;
  CUTE_UNROLL
  for (int half = 16; half > 0; half /= 2) not_finite |= __shfl_sync(0xffffffff, not_finite, thread % 32 ^ half);

  int const row_exponent[2] = {of_row(wgmma_row(thread)), of_row(wgmma_row(thread) + 8)};
  CUTE_UNROLL
  for (int i = 0; i < size(sums); i += 4) {  // two columns of two rows
    int const column = wgmma_column(thread) + Sums::column(i);
    int const column_exponent[2] = {of_column(column), of_column(column + 1)};
    CUTE_UNROLL
    for (int j = 0; j < 4; ++j) {
      int const power = -(row_exponent[j / 2] + column_exponent[j % 2]);
      int const first = cute::max(cute::min(power >> 1, 127), -126);
      int const second = cute::max(cute::min(power - (power >> 1), 127), -126);
      sums(i + j) = (sums(i + j) + weight * smaller(i + j)) * numeric::power_of_2<float>(first) * numeric::power_of_2<float>(second);
    }
  }
  return not_finite != 0;
}

}  // namespace cute_py::kernels
