#pragma once

#include <cstdint>

#include <cute/tensor.hpp>

#include "problem/entry.hpp"

// What the kernels have in common that multiply by a warpgroup out of shared memory.
namespace cute_py::kernels {

// How an operand lies in shared memory: in spans of 128 bytes, swizzled as wgmma reads them and the copy engine writes
// them. k-major: a row's 128 bytes of K. mn-major: 128 bytes of a column, for all of the tile's K, one such chunk after
// the other.
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

}  // namespace cute_py::kernels
