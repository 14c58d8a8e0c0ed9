#pragma once

#include "kernels/common/operand.hpp"

namespace cute_py::kernels {

// 128x128x8 tile of floats, 256 threads, a TiledCopy of 16-byte vectors and a TiledMMA of 16x16 scalar multiply-adds.
template <class T, Major major_a, Major major_b, Form form>
struct Sgemm2 : OperandTypes<T, major_a, major_b, form, true> {
  using CtaTiler = cute::Shape<TileM<T>, TileN<T>, cute::_8>;  // (BLK_M,BLK_N,BLK_K)

  using ElementAtom = cute::Copy_Atom<cute::UniversalCopy<T>, T>;
  using VectorAtom = cute::Copy_Atom<cute::UniversalCopy<cute::uint128_t>, T>;

  template <Major major>
  using GmemCopy = cute::conditional_t<form == Form::whole, typename VectorCopy<T, major, VectorAtom>::type,
                                       ElementCopy<major, ElementAtom>>;

  using TiledCopyA = GmemCopy<major_a>;
  using TiledCopyB = GmemCopy<major_b>;

  using TiledMma = decltype(cute::make_tiled_mma(cute::UniversalFMA<T, T, T>{},
                                                 cute::Layout<cute::Shape<cute::_16, cute::_16, cute::_1>>{}));

  using SmemLayoutA = typename SmemLayout<T, major_a, TileM<T>, cute::_8>::type;
  using SmemLayoutB = typename SmemLayout<T, major_b, TileN<T>, cute::_8>::type;

  struct SharedStorage {
    alignas(16) T a[cute::cosize_v<SmemLayoutA>];
    alignas(16) T b[cute::cosize_v<SmemLayoutB>];
  };

  static constexpr int threads = decltype(cute::size(TiledMma{}))::value;
  static constexpr int stages = 1;
  static constexpr int alignment_bytes = form == Form::whole ? sizeof(cute::uint128_t) : sizeof(T);
};

}  // namespace cute_py::kernels
