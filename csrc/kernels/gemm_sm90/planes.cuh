#pragma once

#include <cute/tensor.hpp>

#include "kernels/common/epilogue.cuh"
#include "kernels/common/registers.cuh"
#include "kernels/common/wgmma.hpp"
#include "kernels/gemm_sm90/tiles.hpp"
#include "numeric/power_of_2.hpp"

// What gemm_sm90 does for emulated precision: products of planes, and sums modulo a number.
namespace cute_py::kernels {

// A modulus, and how a sum is reduced by it.
struct ModulusOfTile {
  int modulus;
  int inverse;  // 2^32 / modulus

  CUTE_DEVICE explicit ModulusOfTile(int p) : modulus(p), inverse(static_cast<int>(0xffffffffu / static_cast<unsigned>(p))) {}
};

// Eight moduli, each less one, in the bytes of a number, which a kernel need not keep in memory.
constexpr std::uint64_t eight_moduli(std::int16_t const (&moduli)[kMostModuli], int first) {
  std::uint64_t bytes = 0;
  for (int i = 0; i < 8 && first + i < kMostModuli; ++i) {
    bytes |= static_cast<std::uint64_t>(moduli[first + i] - 1) << (8 * i);
  }
  return bytes;
}

CUTE_DEVICE ModulusOfTile modulus_of_plane(PlaneKind kind, std::uint32_t plane) {
  constexpr std::uint64_t real[3] = {eight_moduli(kModuli, 0), eight_moduli(kModuli, 8), eight_moduli(kModuli, 16)};
  constexpr std::uint64_t gaussian[3] = {eight_moduli(kGaussianModuli, 0), eight_moduli(kGaussianModuli, 8),
                                         eight_moduli(kGaussianModuli, 16)};
  bool const is_real = kind == PlaneKind::residues;
  std::uint32_t const number = is_real ? plane : plane / 2;
  std::uint64_t bytes = is_real ? real[0] : gaussian[0];
  if (number >= 8) bytes = is_real ? real[1] : gaussian[1];
  if (number >= 16) bytes = is_real ? real[2] : gaussian[2];
  return ModulusOfTile(static_cast<int>(bytes >> (8 * (number % 8)) & 0xff) + 1);
}

// What is left of a sum, from -p/2 to p/2. The quotient is right or one too small, of a negative sum one too large.
template <class D>
CUTE_DEVICE D scaled(ModulusOfTile const& m, std::int32_t sum) {
  static_assert(sizeof(D) == 1);
#if defined(__CUDA_ARCH__)
  int const quotient = __mulhi(sum, m.inverse);
#else
  auto const quotient = static_cast<int>(std::int64_t{sum} * m.inverse >> 32);
#endif
  int const rest = sum - quotient * m.modulus;
  return static_cast<D>(rest - (2 * rest > m.modulus ? m.modulus : 0));
}

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
