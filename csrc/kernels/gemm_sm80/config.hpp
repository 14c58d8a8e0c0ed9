#pragma once

#include "kernels/common/moduli.hpp"
#include "kernels/common/operand.hpp"

namespace cute_py::kernels {

// What a tensor core multiplies: the instruction, what it sums in, and how many of its columns a warp takes at least,
// so that it reads B in whole vectors.
template <class T>
struct TensorOp;

template <>
struct TensorOp<cutlass::half_t> {
  using Instruction = cute::SM80_16x8x16_F32F16F16F32_TN;
  using Accumulator = float;
  static constexpr int columns = 16;
  static constexpr int compute_capability = 80;
};

template <>
struct TensorOp<cutlass::bfloat16_t> : TensorOp<cutlass::half_t> {
  using Instruction = cute::SM80_16x8x16_F32BF16BF16F32_TN;
};

template <>
struct TensorOp<cutlass::tfloat32_t> : TensorOp<cutlass::half_t> {
  using Instruction = cute::SM80_16x8x8_F32TF32TF32F32_TN;
};

template <>
struct TensorOp<std::int8_t> : TensorOp<cutlass::half_t> {
  using Instruction = cute::SM80_16x8x32_S32S8S8S32_TN;
  using Accumulator = std::int32_t;
};

template <>
struct TensorOp<double> {
  using Instruction = cute::SM80_8x8x4_F64F64F64F64_TN;
  using Accumulator = double;
  static constexpr int columns = 8;
  static constexpr int compute_capability = 80;
};

// Four real products.
template <>
struct TensorOp<numeric::complex128> : TensorOp<double> {
  using Instruction = cute::SM80_8x8x4_C64C64C64C64_TN;
  using Accumulator = numeric::complex128;
};

// The doubles of SM90's tensor cores are twice as fast as those that SM80 has, too. They take 8 steps of K, or 4.
struct TensorOpSm90Double : TensorOp<double> {
  using Instruction = cute::SM90_16x8x8_F64F64F64F64_TN;
  static constexpr int compute_capability = 90;
};
struct TensorOpSm90DoubleOfFour : TensorOpSm90Double {
  using Instruction = cute::SM90_16x8x4_F64F64F64F64_TN;
};
struct TensorOpSm90Complex : TensorOp<numeric::complex128> {
  using Instruction = cute::SM90_16x8x4_C64C64C64C64_TN;
  static constexpr int compute_capability = 90;
};

// Tiles of C, what one step of the main loop takes of K, in bytes, and how warps share a tile.
struct TensorTile128x256 {
  using M = cute::_128;
  using N = cute::_256;
  using Warps = cute::Shape<cute::_2, cute::_4, cute::_1>;
  static constexpr int bytes_k = 128;
  static constexpr int stages = 3;
  static constexpr int ctas = 1;
};
struct TensorTile128x128 : TensorTile128x256 {
  using N = cute::_128;
  using Warps = cute::Shape<cute::_2, cute::_2, cute::_1>;
  static constexpr int ctas = 2;
};
struct TensorTile64x64 {
  using M = cute::_64;
  using N = cute::_64;
  using Warps = cute::Shape<cute::_2, cute::_2, cute::_1>;
  static constexpr int bytes_k = 128;
  static constexpr int stages = 4;
  static constexpr int ctas = 3;
};
struct TensorTileDouble128x128 : TensorTile128x128 {
  using Warps = cute::Shape<cute::_4, cute::_2, cute::_1>;
  static constexpr int ctas = 1;
};

struct TensorTile32x64 : TensorTile64x64 {
  using M = cute::_32;
  static constexpr int ctas = 4;
};
struct TensorTile32x32 : TensorTile32x64 {
  using N = cute::_32;
};
// Each warp has the whole tile, and takes every fourth group of 4 steps of K.
struct TensorTileDouble32x32 : TensorTile32x32 {
  using Warps = cute::Shape<cute::_1, cute::_1, cute::_4>;
  static constexpr int bytes_k = 256;
  static constexpr int stages = 3;
  static constexpr int ctas = 3;
};
struct TensorTileComplex64x64 : TensorTile64x64 {
  static constexpr int ctas = 2;
};

// Emulated precision: sums are reduced modulo a number, one for each product of a batch, or two.
template <class Tile>
struct TensorResidues : Tile {
  static constexpr bool residues = true;
};
template <class Tile, class = void>
inline constexpr bool kHasResidues = false;
template <class Tile>
inline constexpr bool kHasResidues<Tile, std::enable_if_t<Tile::residues>> = true;
struct NoModuli {};

// The warps of a tile as a TiledMMA.
template <class Tile, class Op>
struct TensorOpMma {
  using Atom = cute::MMA_Atom<typename Op::Instruction>;
  using AtomShape = typename Atom::Shape_MNK;
  using Warps = typename Tile::Warps;
  static constexpr int m = decltype(cute::size<0>(Warps{}) * cute::size<0>(AtomShape{}))::value;
  static constexpr int n = decltype(cute::size<1>(Warps{}))::value * Op::columns;
  static constexpr int k = decltype(cute::size<2>(Warps{}) * cute::size<2>(AtomShape{}))::value;
  using type = decltype(cute::make_tiled_mma(Atom{}, cute::Layout<Warps>{},
                                             cute::Tile<cute::Int<m>, cute::Int<n>, cute::Int<k>>{}));
};

constexpr int log2_of(int x) { return x <= 1 ? 0 : 1 + log2_of(x / 2); }

// How an operand (MN,K) lies in shared memory, and the instruction that reads it for a tensor core. Swizzled so that
// neither the 16-byte writes nor the reads meet bank conflicts.
//
// k-major: rows of TileK elements, read by ldmatrix. Its 8 rows of 16 bytes fall on all 32 banks.
template <class T, Major major, int TileK, int tile_mn>
struct TensorOpSmem {
  static constexpr int vector = log2_of(16 / sizeof(T));
  static constexpr int row = log2_of(TileK * sizeof(T) / 16);
  using Atom = decltype(cute::composition(
      cute::Swizzle<row, vector, 3>{},
      cute::Layout<cute::Shape<cute::_8, cute::Int<TileK>>, cute::Stride<cute::Int<TileK>, cute::_1>>{}));
  using Read = cute::Copy_Atom<cute::SM75_U32x4_LDSM_N, T>;
};

// mn-major: columns of 64 elements of 16 bits, or of a whole narrower tile, read by ldmatrix, which transposes them.
template <class T, int TileK, int tile_mn>
struct TensorOpSmem<T, Major::mn, TileK, tile_mn> {
  static constexpr int column = cute::min(64, tile_mn);
  using Atom = decltype(cute::composition(
      cute::Swizzle<log2_of(column / 8), 3, 3>{},
      cute::Layout<cute::Shape<cute::Int<column>, cute::_8>, cute::Stride<cute::_1, cute::Int<column>>>{}));
  using Read = cute::Copy_Atom<cute::SM75_U16x8_LDSM_T, T>;
};

// ldmatrix cannot transpose 32 bits. A warp reads 8 rows and 4 steps of k, one element for each thread: steps of k swap
// groups of 8 elements.
template <int TileK, int tile_mn>
struct TensorOpSmem<cutlass::tfloat32_t, Major::mn, TileK, tile_mn> {
  using Atom = decltype(cute::composition(
      cute::Swizzle<2, 3, 2>{}, cute::Layout<cute::Shape<cute::_32, cute::_8>, cute::Stride<cute::_1, cute::_32>>{}));
  using Read = cute::Copy_Atom<cute::UniversalCopy<cutlass::tfloat32_t>, cutlass::tfloat32_t>;
};

// Of doubles, half a warp reads 4 rows and 4 steps of k at a time: rows, or steps of k, swap groups of 4 elements.
template <int TileK, int tile_mn>
struct TensorOpSmem<double, Major::k, TileK, tile_mn> {
  using Atom = decltype(cute::composition(
      cute::Swizzle<2, 2, 2>{}, cute::Layout<cute::Shape<cute::_8, cute::_16>, cute::Stride<cute::_16, cute::_1>>{}));
  using Read = cute::Copy_Atom<cute::UniversalCopy<double>, double>;
};
template <int TileK, int tile_mn>
struct TensorOpSmem<double, Major::mn, TileK, tile_mn> {
  using Atom = decltype(cute::composition(
      cute::Swizzle<2, 2, 2>{}, cute::Layout<cute::Shape<cute::_16, cute::_8>, cute::Stride<cute::_1, cute::_16>>{}));
  using Read = cute::Copy_Atom<cute::UniversalCopy<double>, double>;
};

// Of complex doubles a quarter of a warp reads 2 rows and 4 steps of k at a time.
template <int TileK, int tile_mn>
struct TensorOpSmem<numeric::complex128, Major::k, TileK, tile_mn> {
  using Atom = decltype(cute::composition(
      cute::Swizzle<1, 2, 1>{}, cute::Layout<cute::Shape<cute::_8, cute::_8>, cute::Stride<cute::_8, cute::_1>>{}));
  using Read = cute::Copy_Atom<cute::UniversalCopy<numeric::complex128>, numeric::complex128>;
};
template <int TileK, int tile_mn>
struct TensorOpSmem<numeric::complex128, Major::mn, TileK, tile_mn> {
  using Atom = decltype(cute::composition(
      cute::Swizzle<2, 1, 2>{}, cute::Layout<cute::Shape<cute::_8, cute::_8>, cute::Stride<cute::_1, cute::_8>>{}));
  using Read = cute::Copy_Atom<cute::UniversalCopy<numeric::complex128>, numeric::complex128>;
};

// Warps that share a tile of C; stages of shared memory filled by cp.async, in vectors of 16 bytes or, Form::nested, in
// the widest accesses that the operands' strides allow, or, Form::elements, one element of 8 bytes after the other.
template <class T, Major major_a, Major major_b, Form form, class Tile, class Op = TensorOp<T>>
struct GemmSm80 : OwnersOfSlicedK<typename TensorOpMma<Tile, Op>::type, typename Tile::M, typename Tile::N> {
  using TA = T;
  using TB = T;
  using TC = typename Op::Accumulator;
  using TE = numeric::EpilogueType<TC>;

  static constexpr Form made_for = form;
  static constexpr bool predicated = true;
  static constexpr bool nested = true;
  static constexpr bool converting = false;
  static constexpr bool conjugates = true;
  static constexpr int max_rows = kAnyExtent;
  static constexpr int max_columns = kAnyExtent;
  static constexpr bool fuses = true;
  using ProblemShape = cute::Shape<int, int, int>;

  using PointerA = T const*;
  using PointerB = T const*;
  static constexpr Major along_a = major_a;  // of its vectors
  static constexpr Major along_b = major_b;
  using StrideA = RunStride<major_a>;
  using StrideB = RunStride<major_b>;
  using StrideC = cute::Stride<std::int64_t, std::int64_t>;

  static constexpr int tile_k = Tile::bytes_k / static_cast<int>(sizeof(T));
  using BlkM = typename Tile::M;
  using BlkN = typename Tile::N;
  using BlkK = cute::Int<tile_k>;
  using CtaTiler = cute::Shape<BlkM, BlkN, BlkK>;  // (BLK_M,BLK_N,BLK_K)

  static constexpr bool residues = kHasResidues<Tile>;
  static constexpr Compute step = residues ? Compute::residues : Compute::copy;
  using Moduli = cute::conditional_t<residues, ModuliOfBatch, NoModuli>;

  using TiledMma = typename TensorOpMma<Tile, Op>::type;
  static constexpr int threads = decltype(cute::size(TiledMma{}))::value;
  static constexpr int stages = Tile::stages;

  // Each thread moves 16 bytes along the operand's unit stride, or an element.
  static constexpr int vector = form == Form::elements ? 1 : 16 / static_cast<int>(sizeof(T));
  using VectorAtom = cute::Copy_Atom<
      cute::conditional_t<vector * sizeof(T) == 16, cute::SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<cute::uint128_t>,
                          cute::SM80_CP_ASYNC_CACHEALWAYS_ZFILL<cute::uint64_t>>,
      T>;
  template <Major major, class BLK_MN>
  static constexpr auto gmem_copy() {
    constexpr int lines = major == Major::k ? BLK_MN::value : tile_k;  // of the tile, each along its unit stride
    constexpr int length = major == Major::k ? tile_k : BLK_MN::value;
    constexpr int of_128_bytes = 128 / (vector * static_cast<int>(sizeof(T)));
    constexpr int along =  // threads that share a line
        cute::min(cute::max(of_128_bytes, threads / lines), length / vector);
    static_assert(length % (along * vector) == 0 && lines % (threads / along) == 0);
    if constexpr (major == Major::k) {
      return cute::make_tiled_copy(VectorAtom{},
                                   cute::Layout<cute::Shape<cute::Int<threads / along>, cute::Int<along>>,
                                                cute::Stride<cute::Int<along>, cute::_1>>{},
                                   cute::Layout<cute::Shape<cute::_1, cute::Int<vector>>>{});
    } else {
      return cute::make_tiled_copy(VectorAtom{},
                                   cute::Layout<cute::Shape<cute::Int<along>, cute::Int<threads / along>>>{},
                                   cute::Layout<cute::Shape<cute::Int<vector>, cute::_1>>{});
    }
  }
  using TiledCopyA = decltype(gmem_copy<major_a, BlkM>());
  using TiledCopyB = decltype(gmem_copy<major_b, BlkN>());

  using SmemA = TensorOpSmem<T, major_a, tile_k, BlkM::value>;
  using SmemB = TensorOpSmem<T, major_b, tile_k, BlkN::value>;
  using SmemLayoutA = decltype(cute::tile_to_shape(typename SmemA::Atom{},
                                                   cute::Shape<BlkM, BlkK, cute::Int<stages>>{}));  // (m,k,pipe)
  using SmemLayoutB = decltype(cute::tile_to_shape(typename SmemB::Atom{},
                                                   cute::Shape<BlkN, BlkK, cute::Int<stages>>{}));  // (n,k,pipe)
  using ReadA = typename SmemA::Read;
  using ReadB = typename SmemB::Read;

  static constexpr bool in_vectors = form != Form::nested;
  static constexpr int vector_bytes_a = form == Form::vectors && vector > 1 ? 16 : 0;  // that have to lie side by side
  static constexpr int vector_bytes_b = vector_bytes_a;
  template <Major major, class BLK_MN>
  using Offsets =
      OffsetTable<BLK_MN::value, tile_k, major == Major::mn ? vector : 1, in_vectors && major == Major::k ? vector : 1>;
  using OffsetsA = Offsets<major_a, BlkM>;
  using OffsetsB = Offsets<major_b, BlkN>;
  struct SharedStorage {
    alignas(128) T a[cute::cosize_v<SmemLayoutA>];
    alignas(128) T b[cute::cosize_v<SmemLayoutB>];
    OffsetsA offsets_a;
    OffsetsB offsets_b;
  };

  static constexpr int compute_capability = Op::compute_capability;
  static constexpr int ctas_per_multiprocessor = Tile::ctas;
  static constexpr int alignment_bytes = sizeof(T);
};

template <class T, Major major_a, Major major_b, Form form>
using GemmSm80_128x256 = GemmSm80<T, major_a, major_b, form, TensorTile128x256>;
template <class T, Major major_a, Major major_b, Form form>
using GemmSm80_128x128 = GemmSm80<T, major_a, major_b, form, TensorTile128x128>;
template <class T, Major major_a, Major major_b, Form form>
using GemmSm80_64x64 = GemmSm80<T, major_a, major_b, form, TensorTile64x64>;
template <class T, Major major_a, Major major_b, Form form>
using GemmSm80_32x32 = GemmSm80<T, major_a, major_b, form, TensorTile32x32>;

// Emulated precision.
template <class T, Major major_a, Major major_b, Form form>
using GemmSm80Residues64x64 = GemmSm80<T, major_a, major_b, form, TensorResidues<TensorTile64x64>>;
template <class T, Major major_a, Major major_b, Form form>
using GemmSm80Residues128x256 = GemmSm80<T, major_a, major_b, form, TensorResidues<TensorTile128x256>>;

// Doubles, and on SM90.
template <class T, Major major_a, Major major_b, Form form>
using GemmSm80Double128x128 = GemmSm80<T, major_a, major_b, form, TensorTileDouble128x128>;
template <class T, Major major_a, Major major_b, Form form>
using GemmSm90Double128x128 = GemmSm80<T, major_a, major_b, form, TensorTileDouble128x128, TensorOpSm90Double>;
template <class T, Major major_a, Major major_b, Form form>
using GemmSm90Double64x64 = GemmSm80<T, major_a, major_b, form, TensorTile64x64, TensorOpSm90Double>;
template <class T, Major major_a, Major major_b, Form form>
using GemmSm90Double32x64 = GemmSm80<T, major_a, major_b, form, TensorTile32x64, TensorOpSm90Double>;
template <class T, Major major_a, Major major_b, Form form>
using GemmSm90Double32x32 = GemmSm80<T, major_a, major_b, form, TensorTileDouble32x32, TensorOpSm90DoubleOfFour>;

// Complex doubles, and on SM90.
template <class T, Major major_a, Major major_b, Form form>
using GemmSm80Complex64x64 = GemmSm80<T, major_a, major_b, form, TensorTileComplex64x64>;
template <class T, Major major_a, Major major_b, Form form>
using GemmSm90Complex64x64 = GemmSm80<T, major_a, major_b, form, TensorTileComplex64x64, TensorOpSm90Complex>;
template <class T, Major major_a, Major major_b, Form form>
using GemmSm90Complex32x32 = GemmSm80<T, major_a, major_b, form, TensorTile32x32, TensorOpSm90Complex>;

}  // namespace cute_py::kernels
