#pragma once

#include "catalogue/operand.hpp"

namespace cute_py::catalogue {

// 128x128x8 tile, 256 threads, a TiledCopy of 16-byte vectors and a TiledMMA of 16x16 scalar multiply-adds.
template <Major major_a, Major major_b, bool predicated_>
struct Sgemm2 {
  using TA = float;
  using TB = float;
  using TC = float;

  using CtaTiler = cute::Shape<cute::_128, cute::_128, cute::_8>;  // (BLK_M,BLK_N,BLK_K)

  using ElementAtom = cute::Copy_Atom<cute::UniversalCopy<float>, float>;
  using VectorAtom = cute::Copy_Atom<cute::UniversalCopy<cute::uint128_t>, float>;

  using TiledCopyA = cute::conditional_t<predicated_, ElementCopy<major_a, ElementAtom>,
                                         typename VectorCopy<major_a, VectorAtom>::type>;
  using TiledCopyB = cute::conditional_t<predicated_, ElementCopy<major_b, ElementAtom>,
                                         typename VectorCopy<major_b, VectorAtom>::type>;

  using TiledMma = decltype(cute::make_tiled_mma(cute::UniversalFMA<TC, TA, TB>{},
                                                 cute::Layout<cute::Shape<cute::_16, cute::_16, cute::_1>>{}));

  using SmemLayoutA = typename SmemLayout<major_a, cute::_128, cute::_8>::type;
  using SmemLayoutB = typename SmemLayout<major_b, cute::_128, cute::_8>::type;

  struct SharedStorage {
    alignas(16) TA a[cute::cosize_v<SmemLayoutA>];
    alignas(16) TB b[cute::cosize_v<SmemLayoutB>];
  };

  using StrideA = typename GmemStride<major_a, predicated_>::type;
  using StrideB = typename GmemStride<major_b, predicated_>::type;
  using StrideC = typename GmemStride<Major::mn, predicated_>::type;

  static constexpr int threads = decltype(cute::size(TiledMma{}))::value;
  static constexpr int compute_capability = 80;
  static constexpr int ctas_per_multiprocessor = 2;  // the compiler keeps to registers for as many
  static constexpr int stages = 1;
  static constexpr bool predicated = predicated_;
  static constexpr int alignment_bytes = predicated ? sizeof(float) : sizeof(cute::uint128_t);
};

}  // namespace cute_py::catalogue
