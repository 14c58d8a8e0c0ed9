#pragma once

#include <cstdint>

#include <cute/tensor.hpp>

#include "kernels/common/mode_map.hpp"
#include "numeric/epilogue.hpp"
#include "problem/entry.hpp"

// How one operand of a GEMM, A (M,K) or B (N,K), travels from global to shared memory and is read from there. "MN"
// stands for M in A and N in B.
namespace cute_py::kernels {

// Extents that a kernel has no bound for.
inline constexpr int kAnyExtent = 0;

// Elements of padding between the columns of a transposed shared-memory tile. 16 bytes keep a column aligned and, of
// floats, spread a warp's writes, which run along k, over all 32 banks: bank(mn, k) = (mn + 4 k) mod 32.
template <class T>
inline constexpr int kSmemPad = 16 / static_cast<int>(sizeof(T));

// The tile of C of 256 threads: 8x8 results for each of 4 bytes, 8x4 of 8, 4x4 of 16.
template <class T>
using TileM = cute::conditional_t<sizeof(T) <= 8, cute::_128, cute::_64>;
template <class T>
using TileN = cute::conditional_t<sizeof(T) <= 4, cute::_128, cute::_64>;

// A tile in shared memory is always mn-major, because that is how the math reads it. A k-major operand is transposed on
// its way in.
template <class T, Major major, class BLK_MN, class BLK_K>
struct SmemLayout {
  using type = cute::Layout<cute::Shape<BLK_MN, BLK_K>, cute::Stride<cute::_1, BLK_MN>>;  // (mn,k) -> element
};

template <class T, class BLK_MN, class BLK_K>
struct SmemLayout<T, Major::k, BLK_MN, BLK_K> {
  using type = cute::Layout<cute::Shape<BLK_MN, BLK_K>, cute::Stride<cute::_1, cute::Int<BLK_MN::value + kSmemPad<T>>>>;
};

// 256 threads as 32x8, the fast mode along the unit stride: adjacent threads read contiguous elements (coalesced).
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

// One thread moves 16 bytes along the unit stride.
template <class T, Major major, class Atom>
struct VectorCopy {
  using type = decltype(cute::make_tiled_copy(Atom{}, typename ThreadLayout<Major::mn>::type{},
                                              cute::Layout<cute::Shape<cute::Int<16 / sizeof(T)>, cute::_1>>{}));
};

template <class T, class Atom>
struct VectorCopy<T, Major::k, Atom> {
  static constexpr int vector = 16 / sizeof(T);
  static constexpr int threads_k = 8 / vector;
  using type =
      decltype(cute::make_tiled_copy(Atom{},
                                     cute::Layout<cute::Shape<cute::Int<256 / threads_k>, cute::Int<threads_k>>,
                                                  cute::Stride<cute::Int<threads_k>, cute::_1>>{},
                                     cute::Layout<cute::Shape<cute::_1, cute::Int<vector>>>{}));
};

// How a warp's lanes are 8x4 threads of a tile: column by column, or so that lane ^ 1 reads the same of A, and lane ^ 2
// the same of B: such pairs are served together (docs/perf/tutorial-kernels.md).
struct LanesInColumns {
  using M = cute::Layout<cute::_8, cute::_1>;
  using N = cute::Layout<cute::_4, cute::_8>;
};
struct LanesInPairs {
  using M = cute::Layout<cute::Shape<cute::_2, cute::_4>, cute::Stride<cute::_2, cute::_8>>;
  using N = cute::Layout<cute::Shape<cute::_2, cute::_2>, cute::Stride<cute::_1, cute::_4>>;
};

// Scalar multiply-adds by warps of such threads. The permutation gives a thread contiguous rows and columns, as many as
// fill 16 bytes, so that it reads shared memory in vectors: a warp 8 different ones of A and 4 of B. Sliced-K: of every
// `sliced_k` steps of K each of as many groups of warps takes one.
template <class T, int warps_m, int warps_n, class Lanes = LanesInPairs, int sliced_k = 1>
struct SimtMma {
  static constexpr int together = 16 / static_cast<int>(sizeof(T));
  using Warps = cute::Layout<cute::Shape<cute::Int<warps_m>, cute::Int<warps_n>>,
                             cute::Stride<cute::_32, cute::Int<32 * warps_m>>>;
  template <class OfLanes, int mode>
  using Threads = decltype(cute::make_layout(OfLanes{}, cute::get<mode>(Warps{})));
  template <int threads>
  using Rows =
      cute::Layout<cute::Shape<cute::Int<threads>, cute::Int<together>>, cute::Stride<cute::Int<together>, cute::_1>>;
  using SlicedK = cute::Layout<cute::Int<sliced_k>, cute::Int<sliced_k == 1 ? 0 : 32 * warps_m * warps_n>>;
  using type = decltype(cute::make_tiled_mma(
      cute::UniversalFMA<T, T, T>{},
      cute::make_layout(Threads<typename Lanes::M, 0>{}, Threads<typename Lanes::N, 1>{}, SlicedK{}),
      cute::Tile<Rows<8 * warps_m>, Rows<4 * warps_n>, cute::Int<sliced_k>>{}));
};

// Sliced-K: the number of slices of K that the warps of a TiledMMA sum, each a slice of its own. See reduce_sliced_k.
template <class TiledMma>
inline constexpr int kSlicedK = decltype(cute::size<3>(typename TiledMma::ThrLayoutVMNK{}))::value;

// With sliced-K, the results that a thread writes: (thread,value) -> element of the tile of C.
template <class TiledMma, class BlkM, class BlkN, int sliced_k = kSlicedK<TiledMma>>
struct OwnersOfSlicedK {
  static constexpr auto owners() {
    using namespace cute;
    constexpr auto threads = right_inverse(select<0, 1, 2>(typename TiledMma::ThrLayoutVMNK{}));  // of a slice
    constexpr auto tv = TiledMma{}.thrfrg_C(make_layout(Shape<BlkM, BlkN>{})).compose(threads, _);
    constexpr auto share = Int<decltype(size<1>(tv))::value / sliced_k>{};
    constexpr auto values = logical_divide(get<1>(tv), share);  // (share,slice)
    return make_layout(make_layout(get<0>(tv), get<1>(values)), get<0>(values));
  }
  using OwnersC = decltype(owners());
};
template <class TiledMma, class BlkM, class BlkN>
struct OwnersOfSlicedK<TiledMma, BlkM, BlkN, 1> {};

// Strides of an operand in global memory. A kernel for whole tiles knows which one is 1; a predicated one takes any, so
// both are run-time values. Strides are 64-bit: an operand may span more than 2^31 elements.
template <Major major, Form form>
struct GmemStride {
  using type = cute::Stride<std::int64_t, std::int64_t>;
};

template <>
struct GmemStride<Major::mn, Form::whole> {
  using type = cute::Stride<cute::_1, std::int64_t>;
};

template <>
struct GmemStride<Major::k, Form::whole> {
  using type = cute::Stride<std::int64_t, cute::_1>;
};

template <Major major>
struct GmemStride<major, Form::nested> {
  using type = NestedStride;
};
template <Major major>
struct GmemStride<major, Form::vectors> : GmemStride<major, Form::nested> {};

template <Major major>
struct GmemStride<major, Form::elements> : GmemStride<major, Form::nested> {};

// Of A and C of the tutorial's GETT: the strides of M's two modes, and one more. B has the usual two.
using GettStride = cute::Stride<cute::Stride<std::int64_t, std::int64_t>, std::int64_t>;

// What the Configs of products of one type have in common. `converts`: a nested operand is read as its own type and
// becomes a T on its way to shared memory.
template <class T, Major major_a, Major major_b, Form form, bool converts>
struct OperandTypes {
  static constexpr Form made_for = form;

  using TA = T;
  using TB = T;
  using TC = T;
  using TE = numeric::EpilogueType<T>;  // what the epilogue computes in

  static constexpr bool predicated = form != Form::whole;
  static constexpr bool nested = form == Form::nested || form == Form::vectors || form == Form::elements;
  static constexpr bool converting = nested && converts;

  using PointerA = cute::conditional_t<converting, ConvertingPointer<T>, T const*>;
  using PointerB = PointerA;
  using StrideA = cute::conditional_t<form == Form::gett, GettStride, typename GmemStride<major_a, form>::type>;
  using StrideB = typename GmemStride<major_b, form>::type;
  using StrideC =
      cute::conditional_t<form == Form::gett, GettStride,
                          typename GmemStride<Major::mn, form == Form::whole ? Form::whole : Form::predicated>::type>;
  using ProblemShape = cute::conditional_t<form == Form::gett, cute::Shape<cute::Shape<int, int>, int, int>,
                                           cute::Shape<int, int, int>>;  // (M,N,K)

  static constexpr int max_rows = kAnyExtent;
  static constexpr int max_columns = kAnyExtent;

  // Can the whole epilogue follow? Otherwise C is updated in place: the epilogue would be half of the time to compile.
  static constexpr bool fuses = nested;

  static constexpr int compute_capability = 80;
  static constexpr int ctas_per_multiprocessor = 2;  // the compiler keeps to registers for as many
};

}  // namespace cute_py::kernels
