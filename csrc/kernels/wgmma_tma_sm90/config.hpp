#pragma once

#include "kernels/common/operand.hpp"
#include "kernels/common/wgmma.hpp"

namespace cute_py::kernels {

// Two warpgroups that share a tile of C, 64 rows each; stages of shared memory filled by TMA.
template <class T, Major major_a, Major major_b, Form, int columns, int stages_>
struct WgmmaTmaSm90Tile {
  using TA = T;
  using TB = T;
  using TC = WgmmaSum<T>;
  using TE = numeric::EpilogueType<TC>;

  static constexpr bool predicated = true;
  static constexpr bool nested = false;
  static constexpr bool converting = false;
  static constexpr int max_rows = kAnyExtent;
  static constexpr int max_columns = kAnyExtent;
  static constexpr bool fuses = true;
  using ProblemShape = cute::Shape<int, int, int>;  // (M,N,K)
  using StrideA = NestedStride;

  static constexpr Major along_a = major_a;
  static constexpr Major along_b = major_b;
  using BlkM = cute::_128;
  using BlkN = cute::Int<columns>;
  using BlkK = cute::Int<128 / static_cast<int>(sizeof(T))>;
  using CtaTiler = cute::Shape<BlkM, BlkN, BlkK>;  // (BLK_M,BLK_N,BLK_K)
  static constexpr int max_cluster = 0;
  static constexpr int threads = 256;
  static constexpr int stages = stages_;

  using Instruction = decltype(cute::SM90::GMMA::ss_op_selector<T, T, TC, cute::Shape<cute::_64, BlkN, BlkK>,
                                                                wgmma_major(major_a), wgmma_major(major_b)>());
  using TiledMma =
      decltype(cute::make_tiled_mma(Instruction{}, cute::Layout<cute::Shape<cute::_2, cute::_1, cute::_1>>{}));

  // As wgmma's descriptors are made of them, whose swizzle is one of addresses; and as layouts of elements.
  using SmemA = WgmmaSmem<T, major_a, BlkM, BlkK, stages>;
  using SmemB = WgmmaSmem<T, major_b, BlkN, BlkK, stages>;
  using SwizzledA = typename SmemA::type;  // (m,k,pipe)
  using SwizzledB = typename SmemB::type;  // (n,k,pipe)
  using SmemLayoutA = decltype(cute::as_position_independent_swizzle_layout(SwizzledA{}));
  using SmemLayoutB = decltype(cute::as_position_independent_swizzle_layout(SwizzledB{}));

  // Rows of a box.
  static constexpr int copy_rows_a = SmemA::chunk;
  static constexpr int copy_rows_b = SmemB::chunk;
  static constexpr int stage_bytes = (BlkM::value + BlkN::value) * BlkK::value * static_cast<int>(sizeof(T));

  struct SharedStorage {
    alignas(1024) T a[cute::cosize_v<SmemLayoutA>];
    alignas(1024) T b[cute::cosize_v<SmemLayoutB>];
    std::uint64_t full[stages];   // a tile has arrived
    std::uint64_t empty[stages];  // it has been multiplied
  };

  static constexpr int compute_capability = 90;
  static constexpr int ctas_per_multiprocessor = wgmma_ctas<columns, sizeof(SharedStorage)>;
  static constexpr int alignment_bytes = sizeof(T);
};

template <class T, Major major_a, Major major_b, Form form>
using WgmmaTmaSm90 = WgmmaTmaSm90Tile<T, major_a, major_b, form, 128, 3>;

}  // namespace cute_py::kernels
