#pragma once

#include "catalogue/operand.hpp"

namespace cute_py::catalogue {

// 128x128x8 tile, 256 threads, one element per copy, 8x8 results per thread.
template <Major major_a, Major major_b, bool predicated_>
struct Sgemm1 {
  using TA = float;
  using TB = float;
  using TC = float;

  using CtaTiler = cute::Shape<cute::_128, cute::_128, cute::_8>;  // (BLK_M,BLK_N,BLK_K)

  using ThreadLayoutA = typename ThreadLayout<major_a>::type;             // (m,k) -> thread
  using ThreadLayoutB = typename ThreadLayout<major_b>::type;             // (n,k) -> thread
  using ThreadLayoutC = cute::Layout<cute::Shape<cute::_16, cute::_16>>;  // (m,n) -> thread

  using SmemLayoutA = typename SmemLayout<major_a, cute::_128, cute::_8>::type;
  using SmemLayoutB = typename SmemLayout<major_b, cute::_128, cute::_8>::type;

  struct SharedStorage {
    alignas(16) TA a[cute::cosize_v<SmemLayoutA>];
    alignas(16) TB b[cute::cosize_v<SmemLayoutB>];
  };

  using StrideA = typename GmemStride<major_a, predicated_>::type;
  using StrideB = typename GmemStride<major_b, predicated_>::type;
  using StrideC = typename GmemStride<Major::mn, predicated_>::type;

  static constexpr int threads = 256;
  static constexpr int compute_capability = 80;
  static constexpr int ctas_per_multiprocessor = 2;  // the compiler keeps to registers for as many
  static constexpr int stages = 1;
  static constexpr bool predicated = predicated_;
  static constexpr int alignment_bytes = sizeof(float);
};

}  // namespace cute_py::catalogue
