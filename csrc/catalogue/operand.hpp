#pragma once

#include <cstdint>

#include <cute/tensor.hpp>

#include "problem/entry.hpp"

// How one operand of a GEMM, A (M,K) or B (N,K), travels from global to shared memory and is read from there. "MN"
// stands for M in A and N in B.
namespace cute_py::catalogue {

// Elements of padding between the columns of a transposed shared-memory tile. Four floats keep a column 16-byte aligned
// and spread a warp's writes, which run along k, over all 32 banks: bank(mn, k) = (mn + 4 k) mod 32.
inline constexpr int kSmemPad = 4;

// A tile in shared memory is always mn-major, because that is how the math reads it. A k-major operand is transposed on
// its way in.
template <Major major, class BLK_MN, class BLK_K>
struct SmemLayout {
  using type = cute::Layout<cute::Shape<BLK_MN, BLK_K>, cute::Stride<cute::_1, BLK_MN>>;  // (mn,k) -> element
};

template <class BLK_MN, class BLK_K>
struct SmemLayout<Major::k, BLK_MN, BLK_K> {
  using type = cute::Layout<cute::Shape<BLK_MN, BLK_K>, cute::Stride<cute::_1, cute::Int<BLK_MN::value + kSmemPad>>>;
};

// 256 threads as 32x8, the fast mode along the unit stride, so that neighbouring threads read neighbouring elements.
template <Major major>
struct ThreadLayout {
  using type = cute::Layout<cute::Shape<cute::_32, cute::_8>, cute::Stride<cute::_1, cute::_32>>;  // (mn,k) -> thread
};

template <>
struct ThreadLayout<Major::k> {
  using type = cute::Layout<cute::Shape<cute::_32, cute::_8>, cute::Stride<cute::_8, cute::_1>>;
};

// One thread moves one element. Legal for any strides and any extents.
template <Major major, class Atom>
using ElementCopy = decltype(cute::make_tiled_copy(Atom{}, typename ThreadLayout<major>::type{},
                                                   cute::Layout<cute::Shape<cute::_1, cute::_1>>{}));

// One thread moves 16 bytes, four floats, along the unit stride.
template <Major major, class Atom>
struct VectorCopy {
  using type = decltype(cute::make_tiled_copy(Atom{}, typename ThreadLayout<Major::mn>::type{},
                                              cute::Layout<cute::Shape<cute::_4, cute::_1>>{}));
};

template <class Atom>
struct VectorCopy<Major::k, Atom> {
  using type = decltype(cute::make_tiled_copy(
      Atom{}, cute::Layout<cute::Shape<cute::_128, cute::_2>, cute::Stride<cute::_2, cute::_1>>{},
      cute::Layout<cute::Shape<cute::_1, cute::_4>>{}));
};

// 16x16 threads, 8x8 results each. A warp is 8x4 threads and the permutation gives a thread four neighbouring rows and
// columns, so that it reads shared memory in 16-byte vectors, 8 different ones of A and 4 of B per warp.
template <class TC, class TA, class TB>
using VectorMma = decltype(cute::make_tiled_mma(
    cute::UniversalFMA<TC, TA, TB>{},
    cute::Layout<cute::Shape<cute::Shape<cute::_8, cute::_2>, cute::Shape<cute::_4, cute::_4>, cute::_1>,
                 cute::Stride<cute::Stride<cute::_1, cute::_32>, cute::Stride<cute::_8, cute::_64>, cute::_0>>{},
    cute::Tile<cute::Layout<cute::Shape<cute::_16, cute::_4>, cute::Stride<cute::_4, cute::_1>>,
               cute::Layout<cute::Shape<cute::_16, cute::_4>, cute::Stride<cute::_4, cute::_1>>, cute::_1>{}));

// Strides of an operand in global memory. A predicated kernel takes any strides, so both are run-time values; the other
// kernels know which one is 1. Strides are 64-bit: an operand may span more than 2^31 elements.
template <Major major, bool predicated>
struct GmemStride {
  using type = cute::Stride<std::int64_t, std::int64_t>;
};

template <>
struct GmemStride<Major::mn, false> {
  using type = cute::Stride<cute::_1, std::int64_t>;
};

template <>
struct GmemStride<Major::k, false> {
  using type = cute::Stride<std::int64_t, cute::_1>;
};

}  // namespace cute_py::catalogue
