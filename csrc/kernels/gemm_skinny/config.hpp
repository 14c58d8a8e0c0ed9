#pragma once

#include "kernels/common/operand.hpp"

namespace cute_py::kernels {

// As in a GEMV, A (M,K) passes once from global memory through the registers of 256 threads to the math. `TiledMma`
// deals out rows and steps of k so that a thread's part of A is whole vectors of 16 bytes, `rows` by `steps` of them,
// and adjacent threads have contiguous vectors. `FragmentA` (MMA,MMA_M,MMA_K) -> element of those vectors,
// (V,rows,steps), tells where in them the math finds its factors.
//
// k-major, of any type: 32 groups of 8 threads, each group one row after the other, V contiguous steps of k for each
// thread. Four adjacent threads have the same steps of k, so that they read the same vectors of B.
template <class T, Major major>
struct SkinnyOp {
  static constexpr int vector = 16 / sizeof(T);
  static constexpr int rows = vector > 1 ? vector / 2 : 1;
  static constexpr int steps = vector / rows;
  using V = cute::Int<vector>;
  using R = cute::Int<rows>;
  using S = cute::Int<steps>;
  using Accumulator = T;
  using Tile =
      cute::Shape<cute::Int<32 * rows>, cute::_2, cute::Int<8 * vector * steps>>;  // (BLK_M,columns,steps of k)
  using TiledMma = decltype(cute::make_tiled_mma(
      cute::UniversalFMA<T, T, T>{},
      cute::Layout<cute::Shape<cute::Shape<cute::_4, cute::_8>, cute::_1, cute::_8>,
                   cute::Stride<cute::Stride<cute::_1, cute::_32>, cute::_0, cute::_4>>{},
      cute::Tile<cute::_32, cute::_2, cute::Layout<cute::Shape<cute::_8, V>, cute::Stride<V, cute::_1>>>{}));
  using FragmentA = cute::Layout<cute::Shape<cute::_1, R, cute::Shape<V, S>>,
                                 cute::Stride<cute::_0, V, cute::Stride<cute::_1, cute::Int<vector * rows>>>>;
  static constexpr int pad_b = vector;
  static constexpr bool reads_ahead = true;
  static constexpr bool turns_first = false;
};

// m-major: 32 threads along m, V rows for each; 8 warps along k, 4 steps of k for each.
template <class T>
struct SkinnyOp<T, Major::mn> {
  static constexpr int vector = 16 / sizeof(T);
  static constexpr int rows = 1;
  static constexpr int steps = 4;
  using V = cute::Int<vector>;
  using Accumulator = T;
  using Tile = cute::Shape<cute::Int<32 * vector>, cute::_2, cute::_32>;
  using TiledMma = decltype(cute::make_tiled_mma(
      cute::UniversalFMA<T, T, T>{},
      cute::Layout<cute::Shape<cute::_32, cute::_1, cute::_8>, cute::Stride<cute::_1, cute::_0, cute::_32>>{},
      cute::Tile<cute::Layout<cute::Shape<cute::_32, V>, cute::Stride<V, cute::_1>>, cute::_2,
                 cute::Layout<cute::Shape<cute::_8, cute::_4>, cute::Stride<cute::_4, cute::_1>>>{}));
  using FragmentA = cute::Layout<cute::Shape<cute::_1, V, cute::_4>, cute::Stride<cute::_0, cute::_1, V>>;
  static constexpr int pad_b = vector;
  static constexpr bool reads_ahead = false;
  static constexpr bool turns_first = true;
};

template <class T>
struct SkinnyAtom;
template <>
struct SkinnyAtom<cutlass::half_t> {
  using type = cute::SM80_16x8x16_F32F16F16F32_TN;
};
template <>
struct SkinnyAtom<cutlass::bfloat16_t> {
  using type = cute::SM80_16x8x16_F32BF16BF16F32_TN;
};

// 16 bits, k-major: 8 warps along m. Of a warp, lane 4 g + t has rows g, and 8, 16 and 24 on, and 8 contiguous steps
// of k for each t: a permutation of k, the same for B, which a sum does not notice.
template <class T>
struct SkinnyTensorOp {
  static constexpr int vector = 8;
  static constexpr int rows = 4;
  static constexpr int steps = 2;
  using Accumulator = float;
  using Tile = cute::Shape<cute::_256, cute::_8, cute::_64>;
  using PermutationK = cute::Layout<cute::Shape<cute::_2, cute::_4, cute::_2, cute::_2>,  // (pair,t,half,instruction)
                                    cute::Stride<cute::_1, cute::_8, cute::_2, cute::_4>>;
  using TiledMma = decltype(cute::make_tiled_mma(typename SkinnyAtom<T>::type{},
                                                 cute::Layout<cute::Shape<cute::_8, cute::_1, cute::_1>>{},
                                                 cute::Tile<cute::_128, cute::_8, PermutationK>{}));
  using FragmentA = cute::Layout<
      cute::Shape<cute::Shape<cute::_2, cute::_2, cute::_2>, cute::_2, cute::Shape<cute::_2, cute::_2>>,
      cute::Stride<cute::Stride<cute::_1, cute::_8, cute::_2>, cute::_16, cute::Stride<cute::_4, cute::_32>>>;
  static constexpr int pad_b = 32;  // 8 rows of B, 4 vectors of each, in different banks
  static constexpr bool reads_ahead = false;
  static constexpr bool turns_first = false;
};

// 16 bits, m-major: 2 warps along m, 4 along k. Lane 4 g + t has 8 contiguous rows for each g, in turn the rows g and
// g + 8 of four instructions, and 4 steps of k for each t.
template <class T>
struct SkinnyTransposedTensorOp {
  static constexpr int vector = 8;
  static constexpr int rows = 1;
  static constexpr int steps = 4;
  using Accumulator = float;
  using Tile = cute::Shape<cute::_128, cute::_8, cute::_64>;
  using PermutationM = cute::Layout<cute::Shape<cute::_8, cute::_2, cute::_2, cute::_4>,  // (g,half,warp,instruction)
                                    cute::Stride<cute::_8, cute::_1, cute::_64, cute::_2>>;
  using PermutationK = cute::Layout<cute::Shape<cute::_2, cute::_4, cute::_2, cute::_4>,  // (pair,t,half,warp)
                                    cute::Stride<cute::_1, cute::_4, cute::_2, cute::_16>>;
  using TiledMma = decltype(cute::make_tiled_mma(
      typename SkinnyAtom<T>::type{},
      cute::Layout<cute::Shape<cute::_2, cute::_1, cute::_4>, cute::Stride<cute::_1, cute::_0, cute::_2>>{},
      cute::Tile<PermutationM, cute::_8, PermutationK>{}));
  using FragmentA = cute::Layout<cute::Shape<cute::Shape<cute::_2, cute::_2, cute::_2>, cute::_4, cute::_1>,
                                 cute::Stride<cute::Stride<cute::_8, cute::_1, cute::_16>, cute::_2, cute::_0>>;
  static constexpr int pad_b = 16;
  static constexpr bool reads_ahead = false;
  static constexpr bool turns_first = false;
};

template <>
struct SkinnyOp<cutlass::half_t, Major::k> : SkinnyTensorOp<cutlass::half_t> {};
template <>
struct SkinnyOp<cutlass::half_t, Major::mn> : SkinnyTransposedTensorOp<cutlass::half_t> {};
template <>
struct SkinnyOp<cutlass::bfloat16_t, Major::k> : SkinnyTensorOp<cutlass::bfloat16_t> {};
template <>
struct SkinnyOp<cutlass::bfloat16_t, Major::mn> : SkinnyTransposedTensorOp<cutlass::bfloat16_t> {};

// An operand that a kernel reads in vectors of 16 bytes along `major`, where it can.
template <Major major>
struct VectorStride : NestedStride {
  bool vectors;  // can it: are there whole ones, next to each other in memory, each at a multiple of 16 bytes?

  static VectorStride of(OperandModes const& x) { return {NestedStride::of(x), lies_in_vectors(x, major)}; }
};

// Up to 16 columns. A is read once, in vectors along its major if it lies right for them and element by element if not;
// B passes through shared memory, 16 KiB at a time, in vectors along k where it can.
template <class T, Major major_a, Major, Form>
struct GemmSkinny {
  using Op = SkinnyOp<T, major_a>;
  using TA = T;
  using TB = T;
  using TC = typename Op::Accumulator;
  using TE = numeric::EpilogueType<TC>;

  static constexpr bool predicated = true;
  static constexpr bool nested = true;
  static constexpr bool converting = false;
  static constexpr bool fuses = true;
  static constexpr int max_rows = kAnyExtent;
  static constexpr int max_columns = 16;
  using ProblemShape = cute::Shape<int, int, int>;

  using PointerA = T const*;
  using PointerB = T const*;
  using StrideA = VectorStride<major_a>;
  using StrideB = VectorStride<Major::k>;
  using StrideC = cute::Stride<std::int64_t, std::int64_t>;

  using TiledMma = typename Op::TiledMma;
  using FragmentA = typename Op::FragmentA;
  static constexpr bool along_k = major_a == Major::k;  // of its vectors
  static constexpr bool reads_ahead =
      Op::reads_ahead;  // of all columns without branches, if there are registers for it
  static constexpr bool turns_first =
      Op::turns_first;  // to the next tile of B before A's next step, if registers are few
  static constexpr int vector = Op::vector;
  static constexpr int rows = Op::rows;    // vectors of a thread with different rows, and with different
  static constexpr int steps = Op::steps;  // steps of k, in one step of the main loop
  static constexpr int threads = decltype(cute::size(TiledMma{}))::value;

  using BlkM = cute::tuple_element_t<0, typename Op::Tile>;
  using Columns = cute::tuple_element_t<1, typename Op::Tile>;  // that are computed or left out together
  using StepK = cute::tuple_element_t<2, typename Op::Tile>;    // of one step of the main loop
  static constexpr int tile_k = 1024 / sizeof(T);
  using StepsK = cute::Int<tile_k / StepK::value>;
  using Blocks = cute::Int<max_columns / Columns::value>;
  using CtaTiler = cute::Shape<BlkM, cute::Int<max_columns>, cute::Int<tile_k>>;  // (BLK_M,BLK_N,BLK_K)

  // (column,k in step,step,block,pipe), k contiguous
  static constexpr int pitch_b = tile_k + Op::pad_b;
  using SmemStepsB = cute::Layout<cute::Shape<Columns, StepK, StepsK, Blocks, cute::_2>,
                                  cute::Stride<cute::Int<pitch_b>, cute::_1, StepK, cute::Int<Columns::value * pitch_b>,
                                               cute::Int<max_columns * pitch_b>>>;
  using SmemLayoutB =  // (n,k,pipe), the same
      cute::Layout<cute::Shape<cute::Int<max_columns>, cute::Int<tile_k>, cute::_2>,
                   cute::Stride<cute::Int<pitch_b>, cute::_1, cute::Int<max_columns * pitch_b>>>;

  // Sums of one block of columns, one for each thread along k: (m,column,thread along k)
  static constexpr int threads_k = cute::size<3>(typename TiledMma::ThrLayoutVMNK{});
  using SmemLayoutSums = cute::Layout<
      cute::Shape<BlkM, Columns, cute::Int<threads_k>>,
      cute::Stride<cute::_1, BlkM, cute::Int<BlkM::value * Columns::value + 16 / static_cast<int>(sizeof(TC))>>>;

  static constexpr int sums_of_thread = BlkM::value * max_columns * threads_k / threads;

  // The owners of the reduced sums, a block of columns after the other: (thread,value) -> element of the tile of C
  using Writers = cute::Int<cute::min(threads, BlkM::value* Columns::value)>;
  using OwnersC = cute::Layout<cute::Shape<Writers, cute::Int<BlkM::value * max_columns / Writers::value>>,
                               cute::Stride<cute::_1, Writers>>;

  union SharedStorage {
    alignas(16) T b[cute::cosize_v<SmemLayoutB>];
    alignas(16) TC sums[cute::cosize_v<SmemLayoutSums>];
  };

  static constexpr int stages = 2;
  static constexpr int compute_capability = 80;
  static constexpr int ctas_per_multiprocessor = 2;
  static constexpr int alignment_bytes = sizeof(T);
};

}  // namespace cute_py::kernels
