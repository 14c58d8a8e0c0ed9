#pragma once

#include "catalogue/operand.hpp"

namespace cute_py::catalogue {

// 128x128x16 tile of floats, 256 threads, three shared-memory stages filled by cp.async. An mn-major operand moves in
// 16-byte vectors. A k-major operand moves element by element, because cp.async cannot transpose a vector. cp.async
// cannot convert either: A and B have the type T.
template <class T, Major major_a, Major major_b, Form form>
struct SgemmSm80 : OperandTypes<T, major_a, major_b, form, false> {
  using TileK = cute::conditional_t<sizeof(T) <= 4, cute::_16, cute::_8>;
  using CtaTiler = cute::Shape<TileM<T>, TileN<T>, TileK>;  // (BLK_M,BLK_N,BLK_K)

  static constexpr int stages = 3;

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

  using TiledMma = VectorMma<T>;

  template <Major major, class BLK_MN>
  using StagedSmemLayout = decltype(cute::tile_to_shape(typename SmemLayout<T, major, BLK_MN, TileK>::type{},
                                                        cute::Shape<BLK_MN, TileK, cute::Int<stages>>{}));

  using SmemLayoutA = StagedSmemLayout<major_a, TileM<T>>;  // (m,k,pipe) -> element
  using SmemLayoutB = StagedSmemLayout<major_b, TileN<T>>;  // (n,k,pipe) -> element

  struct SharedStorage {
    alignas(16) T a[cute::cosize_v<SmemLayoutA>];
    alignas(16) T b[cute::cosize_v<SmemLayoutB>];
  };

  static constexpr int threads = decltype(cute::size(TiledMma{}))::value;
  static constexpr int alignment_bytes = form == Form::whole ? sizeof(cute::uint128_t) : sizeof(T);
};

}  // namespace cute_py::catalogue
