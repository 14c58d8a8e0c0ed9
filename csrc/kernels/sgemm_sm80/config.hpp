#pragma once

#include "kernels/common/operand.hpp"

namespace cute_py::kernels {

// The tile of sgemm_sm80 and what computes it: 16x16 threads, 8x8 results of 4 bytes for each.
template <class T>
struct SquareTile {
  using M = TileM<T>;
  using N = TileN<T>;
  using TiledMma = VectorMma<T>;
};

// A tile for results of few columns.
template <class T>
struct NarrowTile {
  using M = cute::_256;
  using N = cute::_32;
  using TiledMma = NarrowMma<T>;
};

// 128x128x16 tile of floats, 256 threads, three shared-memory stages filled by cp.async. An mn-major operand moves in
// 16-byte vectors. A k-major operand moves element by element, because cp.async cannot transpose a vector. cp.async
// cannot convert either: A and B have the type T.
template <class T, Major major_a, Major major_b, Form form, class Tile = SquareTile<T>>
struct SgemmSm80 : OperandTypes<T, major_a, major_b, form, false> {
  using TileK = cute::conditional_t<sizeof(T) <= 4, cute::_16, cute::_8>;
  using CtaTiler = cute::Shape<typename Tile::M, typename Tile::N, TileK>;  // (BLK_M,BLK_N,BLK_K)

  static constexpr int stages = 3;
  static constexpr bool fuses = true;

  using ZeroFill = cute::SM80_CP_ASYNC_CACHEALWAYS_ZFILL<T>;
  using ZeroFillAtom = cute::Copy_Atom<ZeroFill, T>;
  using ElementAtom = cute::Copy_Atom<cute::SM80_CP_ASYNC_CACHEALWAYS<T>, T>;
  using VectorAtom = cute::Copy_Atom<cute::SM80_CP_ASYNC_CACHEALWAYS<cute::uint128_t>, T>;

  template <Major major>
  using GmemCopy =
      cute::conditional_t<form != Form::whole, ElementCopy<major, ZeroFillAtom>,
                          cute::conditional_t<major == Major::mn, typename VectorCopy<T, Major::mn, VectorAtom>::type,
                                              ElementCopy<Major::k, ElementAtom>>>;

  using TiledCopyA = GmemCopy<major_a>;
  using TiledCopyB = GmemCopy<major_b>;

  using TiledMma = typename Tile::TiledMma;

  template <Major major, class BLK_MN>
  using StagedSmemLayout = decltype(cute::tile_to_shape(typename SmemLayout<T, major, BLK_MN, TileK>::type{},
                                                        cute::Shape<BLK_MN, TileK, cute::Int<stages>>{}));

  using SmemLayoutA = StagedSmemLayout<major_a, typename Tile::M>;  // (m,k,pipe) -> element
  using SmemLayoutB = StagedSmemLayout<major_b, typename Tile::N>;  // (n,k,pipe) -> element

  using OffsetTables =
      cute::conditional_t<form == Form::nested,
                          OffsetTablesOf<cute::size<0>(CtaTiler{}), cute::size<1>(CtaTiler{}), TileK::value>,
                          NoOffsetTables>;
  struct SharedStorage {
    alignas(16) T a[cute::cosize_v<SmemLayoutA>];
    alignas(16) T b[cute::cosize_v<SmemLayoutB>];
    OffsetTables offsets;
  };

  static constexpr int threads = decltype(cute::size(TiledMma{}))::value;
  static constexpr int alignment_bytes = form == Form::whole ? sizeof(cute::uint128_t) : sizeof(T);
};

template <class T, Major major_a, Major major_b, Form form>
using SgemmSm80Narrow = SgemmSm80<T, major_a, major_b, form, NarrowTile<T>>;

}  // namespace cute_py::kernels
