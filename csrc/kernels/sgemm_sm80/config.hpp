#pragma once

#include "kernels/common/operand.hpp"

namespace cute_py::kernels {

// The tile of sgemm_sm80 and the warps that compute it: 8x8 results for each thread.
template <class T>
struct SquareTile {
  using M = TileM<T>;
  using N = TileN<T>;
  using Lanes = cute::conditional_t<sizeof(T) <= 4, LanesInColumns, LanesInPairs>;
  using TiledMma = typename SimtMma<T, M::value / 64, N::value / 32, Lanes>::type;
  static constexpr int ctas = 2;
};

// A tile for results of few columns: 8x4 results for each thread.
template <class T>
struct NarrowTile : SquareTile<T> {
  using M = cute::_256;
  using N = cute::_32;
  using TiledMma = typename SimtMma<T, 4, 2, LanesInColumns>::type;
};

// A tile for small results, and for those that the large one would fill badly: 4x8 results of 4 bytes for each thread,
// 4x4 of 8.
template <class T>
struct SmallTile {
  using M = cute::_64;
  using N = cute::conditional_t<sizeof(T) <= 4, cute::_64, cute::_32>;
  using TiledMma = typename SimtMma<T, 2, 2>::type;
  static constexpr int ctas = 4;
};

// Half of the large tile, as many results for each thread: twice as many tiles, where the large ones leave
// multiprocessors without work.
template <class T>
struct HalfTile : SquareTile<T> {
  using M = cute::_128;
  using N = cute::_64;
  using TiledMma = typename SimtMma<T, 2, 2, LanesInColumns>::type;
  static constexpr int ctas = 4;
};

// A tile of complex numbers with 4x8 results for each thread: half of the registers of the large one, and twice as many
// warps.
template <class T>
struct MediumTile {
  using M = cute::_64;
  using N = cute::_64;
  using TiledMma = typename SimtMma<T, 2, 2>::type;
  static constexpr int ctas = 4;
};

// A tile for so few results that larger ones would leave multiprocessors without work. Each of four warps has all of
// it, 4x8 results for each thread, and takes every fourth step of K. Of complex numbers they share it, 2x4 results for
// each thread.
template <class T>
struct TinyTile {
  using M = cute::_32;
  using N = cute::_32;
  using TiledMma =
      typename cute::conditional_t<sizeof(T) <= 4, SimtMma<T, 1, 1, LanesInPairs, 4>, SimtMma<T, 2, 2>>::type;
  static constexpr int ctas = 4;
};

// Tiles of 16 steps of K of floats, three shared-memory stages filled by cp.async. An mn-major operand moves in vectors
// of up to 16 bytes, or, Form::elements, element by element, as a k-major operand does, because cp.async cannot
// transpose a vector. cp.async cannot convert either: A and B have the type T.
template <class T, Major major_a, Major major_b, Form form, class Tile = SquareTile<T>>
struct SgemmSm80 : OperandTypes<T, major_a, major_b, form, false>,
                   OwnersOfSlicedK<typename Tile::TiledMma, typename Tile::M, typename Tile::N> {
  using TileK = cute::conditional_t<sizeof(T) <= 4, cute::_16, cute::_8>;
  using CtaTiler = cute::Shape<typename Tile::M, typename Tile::N, TileK>;  // (BLK_M,BLK_N,BLK_K)

  static_assert(form == Form::whole || form == Form::vectors || form == Form::elements);
  static constexpr Major along_a = major_a;  // of the accesses to A
  static constexpr Major along_b = major_b;
  using Operands = OperandTypes<T, major_a, major_b, form, false>;
  template <Major major, class Other>
  using Stride = cute::conditional_t<form == Form::whole, Other, RunStride<major>>;
  using StrideA = Stride<major_a, typename Operands::StrideA>;
  using StrideB = Stride<major_b, typename Operands::StrideB>;

  using TiledMma = typename Tile::TiledMma;
  static constexpr int threads = decltype(cute::size(TiledMma{}))::value;
  static constexpr int stages = 3;
  static constexpr bool fuses = true;

  using ElementAtom = cute::Copy_Atom<cute::SM80_CP_ASYNC_CACHEALWAYS<T>, T>;
  using VectorAtom = cute::Copy_Atom<cute::SM80_CP_ASYNC_CACHEALWAYS<cute::uint128_t>, T>;

  // Elements of a thread along mn: 16 bytes, or as many as leave something to do for all threads.
  template <class BLK_MN>
  static constexpr int vector =
      form == Form::elements ? 1 : cute::min(16 / static_cast<int>(sizeof(T)), BLK_MN::value* TileK::value / threads);

  template <Major major, class BLK_MN>
  static constexpr auto gmem_copy() {
    if constexpr (major == Major::k) {
      return cute::make_tiled_copy(
          ElementAtom{},
          cute::Layout<cute::Shape<cute::Int<threads / 8>, cute::_8>, cute::Stride<cute::_8, cute::_1>>{},
          cute::Layout<cute::Shape<cute::_1, cute::_1>>{});
    } else {
      constexpr int width = vector<BLK_MN>;
      constexpr int along = cute::min(BLK_MN::value / width, form == Form::elements ? 32 : threads / 8);
      static_assert(BLK_MN::value % (along * width) == 0 && TileK::value % (threads / along) == 0);
      using Atom = cute::conditional_t<
          form == Form::whole, VectorAtom,
          cute::Copy_Atom<cute::SM80_CP_ASYNC_CACHEALWAYS<cute::uint_bit_t<8 * width * sizeof(T)>>, T>>;
      return cute::make_tiled_copy(Atom{}, cute::Layout<cute::Shape<cute::Int<along>, cute::Int<threads / along>>>{},
                                   cute::Layout<cute::Shape<cute::Int<width>, cute::_1>>{});
    }
  }
  using TiledCopyA = decltype(gmem_copy<major_a, typename Tile::M>());
  using TiledCopyB = decltype(gmem_copy<major_b, typename Tile::N>());

  template <Major major, class BLK_MN>
  using StagedSmemLayout = decltype(cute::tile_to_shape(typename SmemLayout<T, major, BLK_MN, TileK>::type{},
                                                        cute::Shape<BLK_MN, TileK, cute::Int<stages>>{}));

  using SmemLayoutA = StagedSmemLayout<major_a, typename Tile::M>;  // (m,k,pipe) -> element
  using SmemLayoutB = StagedSmemLayout<major_b, typename Tile::N>;  // (n,k,pipe) -> element

  static constexpr bool in_vectors = form != Form::whole;
  template <Major major, class BLK_MN>
  static constexpr int vector_bytes =
      form == Form::vectors && major == Major::mn ? vector<BLK_MN> * static_cast<int>(sizeof(T)) : 0;
  static constexpr int vector_bytes_a = vector_bytes<major_a, typename Tile::M>;  // that have to lie side by side
  static constexpr int vector_bytes_b = vector_bytes<major_b, typename Tile::N>;
  template <Major major, class BLK_MN>
  using Offsets =
      cute::conditional_t<form == Form::whole, NoOffsetTable,
                          OffsetTable<BLK_MN::value, TileK::value, major == Major::mn ? vector<BLK_MN> : 1, 1>>;
  using OffsetsA = Offsets<major_a, typename Tile::M>;
  using OffsetsB = Offsets<major_b, typename Tile::N>;
  struct SharedStorage {
    alignas(16) T a[cute::cosize_v<SmemLayoutA>];
    alignas(16) T b[cute::cosize_v<SmemLayoutB>];
    OffsetsA offsets_a;
    OffsetsB offsets_b;
  };

  static_assert(kSlicedK<TiledMma> == 1 || form != Form::whole);

  static constexpr int ctas_per_multiprocessor = Tile::ctas;
  static constexpr int alignment_bytes = form == Form::whole ? sizeof(cute::uint128_t) : sizeof(T);
};

template <class T, Major major_a, Major major_b, Form form>
using SgemmSm80Narrow = SgemmSm80<T, major_a, major_b, form, NarrowTile<T>>;
template <class T, Major major_a, Major major_b, Form form>
using SgemmSm80Small = SgemmSm80<T, major_a, major_b, form, SmallTile<T>>;
template <class T, Major major_a, Major major_b, Form form>
using SgemmSm80Half = SgemmSm80<T, major_a, major_b, form, HalfTile<T>>;
template <class T, Major major_a, Major major_b, Form form>
using SgemmSm80Medium = SgemmSm80<T, major_a, major_b, form, MediumTile<T>>;
template <class T, Major major_a, Major major_b, Form form>
using SgemmSm80Tiny = SgemmSm80<T, major_a, major_b, form, TinyTile<T>>;

}  // namespace cute_py::kernels
