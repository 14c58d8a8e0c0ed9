#pragma once

#include "kernels/common/operand.hpp"
#include "kernels/common/wgmma.hpp"

namespace cute_py::kernels {

// Two warpgroups that share a tile of C, 64 rows each; stages of shared memory filled by cp.async, in vectors of 16
// bytes.
template <class T, Major major_a, Major major_b, Form form, int columns, int stages_>
struct WgmmaSm90Tile : OperandTypes<T, major_a, major_b, form, false> {
  using TC = WgmmaSum<T>;
  using TE = numeric::EpilogueType<TC>;
  static constexpr bool fuses = true;

  using BlkM = cute::_128;
  using BlkN = cute::Int<columns>;
  using BlkK = cute::Int<128 / static_cast<int>(sizeof(T))>;
  using CtaTiler = cute::Shape<BlkM, BlkN, BlkK>;  // (BLK_M,BLK_N,BLK_K)
  static constexpr int threads = 256;
  static constexpr int stages = stages_;

  using Instruction = decltype(cute::SM90::GMMA::ss_op_selector<T, T, TC, cute::Shape<cute::_64, BlkN, BlkK>,
                                                                wgmma_major(major_a), wgmma_major(major_b)>());
  using TiledMma =
      decltype(cute::make_tiled_mma(Instruction{}, cute::Layout<cute::Shape<cute::_2, cute::_1, cute::_1>>{}));

  // As wgmma's descriptors are made of them, whose swizzle is one of addresses; and as layouts of elements.
  using SwizzledA = typename WgmmaSmem<T, major_a, BlkM, BlkK, stages>::type;  // (m,k,pipe)
  using SwizzledB = typename WgmmaSmem<T, major_b, BlkN, BlkK, stages>::type;  // (n,k,pipe)
  using SmemLayoutA = decltype(cute::as_position_independent_swizzle_layout(SwizzledA{}));
  using SmemLayoutB = decltype(cute::as_position_independent_swizzle_layout(SwizzledB{}));

  // Adjacent threads move contiguous vectors: 8 of them a line of K, or 16 a column.
  static constexpr int vector = 16 / static_cast<int>(sizeof(T));
  using VectorAtom = cute::Copy_Atom<cute::SM80_CP_ASYNC_CACHEGLOBAL<cute::uint128_t>, T>;
  template <Major major>
  static constexpr auto gmem_copy() {
    if constexpr (major == Major::k) {
      return cute::make_tiled_copy(VectorAtom{},
                                   cute::Layout<cute::Shape<cute::_32, cute::_8>, cute::Stride<cute::_8, cute::_1>>{},
                                   cute::Layout<cute::Shape<cute::_1, cute::Int<vector>>>{});
    } else {
      return cute::make_tiled_copy(VectorAtom{}, cute::Layout<cute::Shape<cute::_16, cute::_16>>{},
                                   cute::Layout<cute::Shape<cute::Int<vector>, cute::_1>>{});
    }
  }
  using TiledCopyA = decltype(gmem_copy<major_a>());
  using TiledCopyB = decltype(gmem_copy<major_b>());

  struct SharedStorage {
    alignas(1024) T a[cute::cosize_v<SmemLayoutA>];
    alignas(1024) T b[cute::cosize_v<SmemLayoutB>];
  };

  static constexpr int compute_capability = 90;
  static constexpr int ctas_per_multiprocessor = wgmma_ctas<columns, sizeof(SharedStorage)>;
  static constexpr int alignment_bytes = 16;
};

template <class T, Major major_a, Major major_b, Form form>
using WgmmaSm90 = WgmmaSm90Tile<T, major_a, major_b, form, 128, 3>;

}  // namespace cute_py::kernels
