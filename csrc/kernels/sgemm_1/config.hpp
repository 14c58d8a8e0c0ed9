#pragma once

#include "kernels/common/operand.hpp"

namespace cute_py::kernels {

// The tile of the tutorial's GETT: 64 elements of M's first mode, 2 of its second.
template <class T, Form form>
using CtaTilerOfSgemm1 =
    cute::conditional_t<form == Form::gett, cute::Shape<cute::Shape<cute::_64, cute::_2>, cute::_128, cute::_8>,
                        cute::Shape<TileM<T>, TileN<T>, cute::_8>>;

// 128x128x8 tile of floats, 256 threads, one element per copy, 8x8 results per thread.
template <class T, Major major_a, Major major_b, Form form>
struct Sgemm1 : OperandTypes<T, major_a, major_b, form, true> {
  using CtaTiler = CtaTilerOfSgemm1<T, form>;  // (BLK_M,BLK_N,BLK_K)

  using ThreadLayoutA = typename ThreadLayout<major_a>::type;             // (m,k) -> thread
  using ThreadLayoutB = typename ThreadLayout<major_b>::type;             // (n,k) -> thread
  using ThreadLayoutC = cute::Layout<cute::Shape<cute::_16, cute::_16>>;  // (m,n) -> thread

  using SmemLayoutA = typename SmemLayout<T, major_a, TileM<T>, cute::_8>::type;
  using SmemLayoutB = typename SmemLayout<T, major_b, TileN<T>, cute::_8>::type;

  struct SharedStorage {
    alignas(16) T a[cute::cosize_v<SmemLayoutA>];
    alignas(16) T b[cute::cosize_v<SmemLayoutB>];
  };

  static constexpr int threads = 256;
  static constexpr int stages = 1;
  static constexpr int alignment_bytes = sizeof(T);
};

}  // namespace cute_py::kernels
