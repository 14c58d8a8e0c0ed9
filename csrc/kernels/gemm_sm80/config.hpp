#pragma once

#include "kernels/common/operand.hpp"

namespace cute_py::kernels {

// What a tensor core multiplies: the instruction, what it sums in, and the tile that suits it.
template <class T>
struct TensorOp;

template <>
struct TensorOp<cutlass::half_t> {
  using Atom = cute::MMA_Atom<cute::SM80_16x8x16_F32F16F16F32_TN>;
  using Accumulator = float;
  using CtaTiler = cute::Shape<cute::_128, cute::_256, cute::_64>;
  using Warps = cute::Shape<cute::_2, cute::_4, cute::_1>;
  using MmaTile = cute::Tile<cute::_32, cute::_64, cute::_16>;
  static constexpr int stages = 3;
  static constexpr int compute_capability = 80;
};

template <>
struct TensorOp<cutlass::bfloat16_t> : TensorOp<cutlass::half_t> {
  using Atom = cute::MMA_Atom<cute::SM80_16x8x16_F32BF16BF16F32_TN>;
};

template <>
struct TensorOp<cutlass::tfloat32_t> {
  using Atom = cute::MMA_Atom<cute::SM80_16x8x8_F32TF32TF32F32_TN>;
  using Accumulator = float;
  using CtaTiler = cute::Shape<cute::_128, cute::_256, cute::_32>;
  using Warps = cute::Shape<cute::_2, cute::_4, cute::_1>;
  using MmaTile = cute::Tile<cute::_32, cute::_64, cute::_8>;
  static constexpr int stages = 3;
  static constexpr int compute_capability = 80;
};

template <>
struct TensorOp<double> {
  using Atom = cute::MMA_Atom<cute::SM80_8x8x4_F64F64F64F64_TN>;
  using Accumulator = double;
  using CtaTiler = cute::Shape<cute::_128, cute::_128, cute::_16>;
  using Warps = cute::Shape<cute::_4, cute::_2, cute::_1>;
  using MmaTile = cute::Tile<cute::_32, cute::_16, cute::_4>;
  static constexpr int stages = 3;
  static constexpr int compute_capability = 80;
};

// The doubles of SM90's tensor cores are twice as fast as those that SM80 has, too.
struct TensorOpSm90Double : TensorOp<double> {
  using Atom = cute::MMA_Atom<cute::SM90_16x8x8_F64F64F64F64_TN>;
  using MmaTile = cute::Tile<cute::_64, cute::_16, cute::_8>;
  static constexpr int compute_capability = 90;
};

template <>
struct TensorOp<std::int8_t> {
  using Atom = cute::MMA_Atom<cute::SM80_16x8x32_S32S8S8S32_TN>;
  using Accumulator = std::int32_t;
  using CtaTiler = cute::Shape<cute::_128, cute::_256, cute::_128>;
  using Warps = cute::Shape<cute::_2, cute::_4, cute::_1>;
  using MmaTile = cute::Tile<cute::_32, cute::_64, cute::_32>;
  static constexpr int stages = 3;
  static constexpr int compute_capability = 80;
};

constexpr int log2_of(int x) { return x <= 1 ? 0 : 1 + log2_of(x / 2); }

// How an operand (MN,K) lies in shared memory, and the instruction that reads it for a tensor core. Swizzled so that
// neither the 16-byte writes nor the reads meet bank conflicts.
//
// k-major: rows of TileK elements, read by ldmatrix. Its 8 rows of 16 bytes fall on all 32 banks.
template <class T, Major major, int TileK>
struct TensorOpSmem {
  static constexpr int vector = log2_of(16 / sizeof(T));
  static constexpr int row = log2_of(TileK * sizeof(T) / 16);
  using Atom = decltype(cute::composition(
      cute::Swizzle<row, vector, 3>{},
      cute::Layout<cute::Shape<cute::_8, cute::Int<TileK>>, cute::Stride<cute::Int<TileK>, cute::_1>>{}));
  using Read = cute::Copy_Atom<cute::SM75_U32x4_LDSM_N, T>;
};

// mn-major: columns of 64 elements of 16 bits, read by ldmatrix, which transposes them.
template <class T, int TileK>
struct TensorOpSmem<T, Major::mn, TileK> {
  using Atom = decltype(cute::composition(
      cute::Swizzle<3, 3, 3>{}, cute::Layout<cute::Shape<cute::_64, cute::_8>, cute::Stride<cute::_1, cute::_64>>{}));
  using Read = cute::Copy_Atom<cute::SM75_U16x8_LDSM_T, T>;
};

// ldmatrix cannot transpose 32 bits. A warp reads 8 rows and 4 steps of k, one element for each thread: steps of k swap
// groups of 8 elements.
template <int TileK>
struct TensorOpSmem<cutlass::tfloat32_t, Major::mn, TileK> {
  using Atom = decltype(cute::composition(
      cute::Swizzle<2, 3, 2>{}, cute::Layout<cute::Shape<cute::_32, cute::_8>, cute::Stride<cute::_1, cute::_32>>{}));
  using Read = cute::Copy_Atom<cute::UniversalCopy<cutlass::tfloat32_t>, cutlass::tfloat32_t>;
};

// Of doubles, half a warp reads 4 rows and 4 steps of k at a time: rows, or steps of k, swap groups of 4 elements.
template <int TileK>
struct TensorOpSmem<double, Major::k, TileK> {
  using Atom = decltype(cute::composition(
      cute::Swizzle<2, 2, 2>{}, cute::Layout<cute::Shape<cute::_8, cute::_16>, cute::Stride<cute::_16, cute::_1>>{}));
  using Read = cute::Copy_Atom<cute::UniversalCopy<double>, double>;
};
template <int TileK>
struct TensorOpSmem<double, Major::mn, TileK> {
  using Atom = decltype(cute::composition(
      cute::Swizzle<2, 2, 2>{}, cute::Layout<cute::Shape<cute::_16, cute::_8>, cute::Stride<cute::_1, cute::_16>>{}));
  using Read = cute::Copy_Atom<cute::UniversalCopy<double>, double>;
};

// An element, or zero where there is none.
template <class T>
struct CopyOrZero {
  CUTE_HOST_DEVICE static void copy(T const& source, T& destination, bool exists) {
    destination = exists ? source : T(0);
  }
};

// 256 threads in 8 warps; stages of shared memory filled by cp.async in 16-byte vectors, or, for any modes and
// alignment, element by element through registers, always k-major.
template <class T, Major major_a, Major major_b, Form form, class Op = TensorOp<T>>
struct GemmSm80 {
  using TA = T;
  using TB = T;
  using TC = typename Op::Accumulator;
  using TE = numeric::EpilogueType<TC>;

  static constexpr bool predicated = form != Form::whole;
  static constexpr bool nested = form == Form::nested;
  static constexpr bool converting = false;
  static constexpr int max_rows = kAnyExtent;
  static constexpr int max_columns = kAnyExtent;
  static constexpr bool fuses = true;
  using ProblemShape = cute::Shape<int, int, int>;

  using PointerA = T const*;
  using PointerB = T const*;
  using StrideA = typename GmemStride<major_a, form>::type;
  using StrideB = typename GmemStride<major_b, form>::type;
  using StrideC = cute::Stride<std::int64_t, std::int64_t>;

  using CtaTiler = typename Op::CtaTiler;  // (BLK_M,BLK_N,BLK_K)
  static constexpr int tile_k = cute::size<2>(CtaTiler{});

  using TiledMma =
      decltype(cute::make_tiled_mma(typename Op::Atom{}, cute::Layout<typename Op::Warps>{}, typename Op::MmaTile{}));
  static constexpr int threads = decltype(cute::size(TiledMma{}))::value;
  static constexpr int stages = Op::stages;

  // 16 bytes for each thread along the unit stride, or one element.
  using VectorAtom = cute::Copy_Atom<cute::SM80_CP_ASYNC_CACHEGLOBAL<cute::uint128_t>, T>;
  using ElementAtom = cute::Copy_Atom<cute::UniversalCopy<T>, T>;
  static constexpr int vector = 16 / sizeof(T);
  template <Major major, class BLK_MN>
  static constexpr auto gmem_copy() {
    if constexpr (nested) {
      return ElementCopy<Major::k, ElementAtom>{};
    } else if constexpr (major == Major::k) {
      constexpr int along = tile_k / vector;
      return cute::make_tiled_copy(VectorAtom{},
                                   cute::Layout<cute::Shape<cute::Int<threads / along>, cute::Int<along>>,
                                                cute::Stride<cute::Int<along>, cute::_1>>{},
                                   cute::Layout<cute::Shape<cute::_1, cute::Int<vector>>>{});
    } else {
      constexpr int along = cute::min(BLK_MN::value / vector, threads / 8);
      return cute::make_tiled_copy(VectorAtom{},
                                   cute::Layout<cute::Shape<cute::Int<along>, cute::Int<threads / along>>>{},
                                   cute::Layout<cute::Shape<cute::Int<vector>, cute::_1>>{});
    }
  }
  using BlkM = cute::tuple_element_t<0, CtaTiler>;
  using BlkN = cute::tuple_element_t<1, CtaTiler>;
  using BlkK = cute::tuple_element_t<2, CtaTiler>;
  using TiledCopyA = decltype(gmem_copy<major_a, BlkM>());
  using TiledCopyB = decltype(gmem_copy<major_b, BlkN>());
  using ZeroFill = CopyOrZero<T>;

  using SmemA = TensorOpSmem<T, major_a, tile_k>;
  using SmemB = TensorOpSmem<T, major_b, tile_k>;
  using SmemLayoutA = decltype(cute::tile_to_shape(typename SmemA::Atom{},
                                                   cute::Shape<BlkM, BlkK, cute::Int<stages>>{}));  // (m,k,pipe)
  using SmemLayoutB = decltype(cute::tile_to_shape(typename SmemB::Atom{},
                                                   cute::Shape<BlkN, BlkK, cute::Int<stages>>{}));  // (n,k,pipe)
  using ReadA = typename SmemA::Read;
  using ReadB = typename SmemB::Read;

  using OffsetTables =
      cute::conditional_t<nested, OffsetTablesOf<BlkM::value, BlkN::value, BlkK::value>, NoOffsetTables>;
  struct SharedStorage {
    alignas(128) T a[cute::cosize_v<SmemLayoutA>];
    alignas(128) T b[cute::cosize_v<SmemLayoutB>];
    OffsetTables offsets;
  };

  static constexpr int compute_capability = Op::compute_capability;
  static constexpr int ctas_per_multiprocessor = 1;
  static constexpr int alignment_bytes = form == Form::whole ? 16 : sizeof(T);
};

// Doubles on SM90.
template <class T, Major major_a, Major major_b, Form form>
using GemmSm80OnSm90 = GemmSm80<T, major_a, major_b, form, TensorOpSm90Double>;

}  // namespace cute_py::kernels
