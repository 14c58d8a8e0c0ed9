#pragma once

#include "catalogue/operand.hpp"

namespace cute_py::catalogue {

// 128x128x16 tile, 256 threads, three shared-memory stages filled by cp.async. An mn-major operand moves in 16-byte
// vectors. A k-major operand moves element by element, because cp.async cannot transpose a vector.
template <Major major_a, Major major_b, bool predicated_>
struct SgemmSm80 {
  using TA = float;
  using TB = float;
  using TC = float;

  using CtaTiler = cute::Shape<cute::_128, cute::_128, cute::_16>;  // (BLK_M,BLK_N,BLK_K)

  static constexpr int stages = 3;

  using ZeroFillAtom = cute::Copy_Atom<cute::SM80_CP_ASYNC_CACHEALWAYS_ZFILL<float>, float>;
  using ElementAtom = cute::Copy_Atom<cute::SM80_CP_ASYNC_CACHEALWAYS<float>, float>;
  using VectorAtom = cute::Copy_Atom<cute::SM80_CP_ASYNC_CACHEALWAYS<cute::uint128_t>, float>;

  template <Major major>
  using GmemCopy =
      cute::conditional_t<predicated_, ElementCopy<major, ZeroFillAtom>,
                          cute::conditional_t<major == Major::mn, typename VectorCopy<Major::mn, VectorAtom>::type,
                                              ElementCopy<Major::k, ElementAtom>>>;

  using TiledCopyA = GmemCopy<major_a>;
  using TiledCopyB = GmemCopy<major_b>;

  using TiledMma = VectorMma<TC, TA, TB>;

  template <Major major>
  using StagedSmemLayout = decltype(cute::tile_to_shape(typename SmemLayout<major, cute::_128, cute::_16>::type{},
                                                        cute::Shape<cute::_128, cute::_16, cute::Int<stages>>{}));

  using SmemLayoutA = StagedSmemLayout<major_a>;  // (m,k,pipe) -> element
  using SmemLayoutB = StagedSmemLayout<major_b>;  // (n,k,pipe) -> element

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
  static constexpr bool predicated = predicated_;
  static constexpr int alignment_bytes = predicated ? sizeof(float) : sizeof(cute::uint128_t);
};

}  // namespace cute_py::catalogue
