#pragma once

#include <cstdint>

#include <cute/tensor.hpp>

#include "problem/entry.hpp"

// What the kernels have in common that multiply by a warpgroup out of shared memory.
namespace cute_py::kernels {

// How an operand lies in shared memory: in spans of 128 bytes, swizzled as wgmma reads them and TMA writes them.
// k-major: a row's 128 bytes of K. mn-major: 128 bytes of a column, for all of the tile's K, one such chunk after the
// other.
template <class T, Major major, class BLK_MN, class BLK_K, int stages>
struct WgmmaSmem {
  using Atom = cute::SM90::GMMA::Layout_K_SW128_Atom<T>;
  using type = decltype(cute::tile_to_shape(Atom{}, cute::Shape<BLK_MN, BLK_K, cute::Int<stages>>{}));  // (mn,k,pipe)
  static constexpr int chunk = BLK_MN::value;  // rows of one copy
};
template <class T, class BLK_MN, class BLK_K, int stages>
struct WgmmaSmem<T, Major::mn, BLK_MN, BLK_K, stages> {
  using Atom = cute::SM90::GMMA::Layout_MN_SW128_Atom<T>;
  using type = decltype(cute::tile_to_shape(Atom{}, cute::Shape<BLK_MN, BLK_K, cute::Int<stages>>{},
                                            cute::Step<cute::_2, cute::_1, cute::_3>{}));
  static constexpr int chunk = 128 / static_cast<int>(sizeof(T));
};

constexpr cute::SM90::GMMA::Major wgmma_major(Major major) {
  return major == Major::k ? cute::SM90::GMMA::Major::K : cute::SM90::GMMA::Major::MN;
}

// What products of such factors are summed in.
template <class T>
using WgmmaSum = cute::conditional_t<cute::is_same_v<T, std::int8_t>, std::int32_t, float>;

// CTAs of two warpgroups that share a tile of 128 rows, for which a multiprocessor has registers and shared memory.
template <int columns, int shared_bytes>
constexpr int wgmma_ctas = columns <= 128 && 2 * (shared_bytes + 1024) <= 233472 ? 2 : 1;

// A warpgroup's accumulators of 64 rows are (2,2,N/8) values of a thread: two adjacent columns, of a row and of the
// one 8 further on, every 8 columns. The first row, and the first column, of a thread:
CUTE_HOST_DEVICE int wgmma_row(int thread) { return thread % 128 / 32 * 16 + thread % 32 / 4; }
CUTE_HOST_DEVICE int wgmma_column(int thread) { return thread % 4 * 2; }

// From there to the row and the column of value i, in tiles of `columns` columns; `step_m` goes from 64 rows to the
// next, where there are more.
template <int columns, int step_m>
struct SumsOfThread {
  static constexpr int of_rows = columns / 2;  // of each 64 rows
  CUTE_HOST_DEVICE static constexpr int row(int i) { return i / of_rows * step_m + i / 2 % 2 * 8; }
  CUTE_HOST_DEVICE static constexpr int column(int i) { return i % of_rows / 4 * 8 + i % 2; }
};

}  // namespace cute_py::kernels
