#pragma once

#include <cute/tensor.hpp>

#include "kernels/common/operand.hpp"
#include "kernels/common/wgmma.hpp"
#include "kernels/gemm_sm90/tiles.hpp"
#include "problem/tensor_box.hpp"

namespace cute_py::kernels {

// Tiles of C, stages of shared memory, and the schedule of the two consumer warpgroups: cooperative, they share a tile,
// or ping-pong, each has tiles of its own, so that one multiplies while the other runs its epilogue. `promotes`: the
// sums of each step of K are added to others, in float32, because the tensor core keeps too few bits of sums of float8.
template <int m, int n, int stages_, bool ping_pong_, bool promotes_ = false, int boxes_ = 2>
struct WgmmaTile {
  using M = cute::Int<m>;
  using N = cute::Int<n>;
  static constexpr bool ping_pong = ping_pong_;
  static constexpr int stages = stages_;
  static constexpr bool promotes = promotes_;
  static constexpr int boxes = boxes_;  // of D, of a warpgroup, on their way out
  static constexpr int planes = 1;
  static constexpr bool residues = false;
};

// Emulated precision. Sums of int8 are reduced modulo a number, one for each product of a batch, or two.
template <int m, int n, int stages_, bool ping_pong_>
struct ResidueTile : WgmmaTile<m, n, stages_, ping_pong_> {
  static constexpr bool residues = true;
};

// Factors in two or three planes of 16 bits. The products of the largest planes have accumulators of their own, which
// are added to others after each step of K (promoted).
template <int m, int n, int stages_, int planes_>
struct PlaneTile : WgmmaTile<m, n, stages_, false, true> {
  static constexpr int planes = planes_;
};

// Warp-specialised: a producer warp, and consumer warpgroups that multiply and run the epilogue.
template <class T, Major major_a, Major major_b, class Tile>
struct GemmSm90 {
  using TA = T;
  using TB = T;
  using TC = WgmmaSum<T>;
  using TE = numeric::EpilogueType<TC>;

  static constexpr bool predicated = true;
  static constexpr bool nested = true;
  static constexpr bool converting = false;
  static constexpr int max_rows = kAnyExtent;
  static constexpr int max_columns = kAnyExtent;
  static constexpr bool fuses = true;
  using ProblemShape = cute::Shape<int, int, int>;
  using StrideA = NestedStride;

  static constexpr Major along_a = major_a;
  static constexpr Major along_b = major_b;
  static constexpr int tile_k = 128 / static_cast<int>(sizeof(T));
  using BlkM = typename Tile::M;
  using BlkN = typename Tile::N;
  using BlkK = cute::Int<tile_k>;
  using CtaTiler = cute::Shape<BlkM, BlkN, BlkK>;  // (BLK_M,BLK_N,BLK_K)

  static constexpr int planes = Tile::planes;       // of a factor; 1: it is one of 16 bits itself, or of another type
  static constexpr bool residues = Tile::residues;  // sums are reduced modulo a number
  static constexpr Compute step = residues ? Compute::residues : planes > 1 ? Compute::planes : Compute::copy;
  static constexpr int max_cluster = 8;  // CTAs that share a tile's K
  static constexpr int stages = Tile::stages;
  static constexpr bool ping_pong = Tile::ping_pong;
  static constexpr bool promotes = Tile::promotes;
  static constexpr int consumers = 2;  // warpgroups
  static constexpr int consumers_of_tile = ping_pong ? 1 : consumers;
  static constexpr int threads_of_tile = 128 * consumers_of_tile;
  static constexpr int consumer_threads = 128 * consumers;
  static constexpr int threads = consumer_threads + 128;

  // setmaxnreg: a CTA starts with equally many registers for each thread; the producer warpgroup gives most of its own
  // to the consumer warpgroups.
  static constexpr int producer_registers = planes > 1 ? 24 : 56;
  static constexpr int consumer_registers = planes > 1 ? 240 : 224;

  // Of 32 bits an m-major A, which the instruction does not take out of shared memory, comes by way of registers.
  static constexpr bool a_in_registers = sizeof(T) == 4 && major_a == Major::mn;
  static constexpr auto instruction() {
    using OfWarpgroup = cute::Shape<cute::_64, BlkN, BlkK>;
    if constexpr (a_in_registers) {
      return cute::SM90::GMMA::rs_op_selector<T, T, TC, OfWarpgroup>();
    } else {
      return cute::SM90::GMMA::ss_op_selector<T, T, TC, OfWarpgroup, wgmma_major(major_a), wgmma_major(major_b)>();
    }
  }
  using Instruction = decltype(instruction());
  using TiledMma = decltype(cute::make_tiled_mma(
      Instruction{}, cute::Layout<cute::Shape<cute::Int<consumers_of_tile>, cute::_1, cute::_1>>{}));

  using SmemA = WgmmaSmem<T, major_a, BlkM, BlkK, stages * planes>;
  using SmemB = WgmmaSmem<T, major_b, BlkN, BlkK, stages * planes>;
  // As wgmma's descriptors are made of them, whose swizzle is one of addresses; and as layouts of elements.
  using SwizzledA = typename SmemA::type;  // (m,k,pipe), the planes of a stage side by side
  using SwizzledB = typename SmemB::type;  // (n,k,pipe)
  using SmemLayoutA = decltype(cute::as_position_independent_swizzle_layout(SwizzledA{}));
  using SmemLayoutB = decltype(cute::as_position_independent_swizzle_layout(SwizzledB{}));

  // The most rows of a box. With multicast each CTA loads half of them.
  static constexpr int copy_rows_a = SmemA::chunk;
  static constexpr int copy_rows_b = SmemB::chunk;
  static constexpr int stage_bytes = (BlkM::value + BlkN::value) * tile_k * planes * static_cast<int>(sizeof(T));

  // An epilogue buffer: 64 rows of D, of a warpgroup, and as many columns as fill 8 KB; two in turn. Or sums of 64 rows
  // and some columns.
  static constexpr int box = 64;
  static constexpr int out_boxes = Tile::boxes;
  static constexpr int box_bytes = box * 128;
  static constexpr int out_bytes = out_boxes * box_bytes;
  using BoxElement = numeric::CppType<type_in_boxes(numeric::kDTypeOf<T>, step)>;  // of D
  // The types that are written in vectors, if there is nothing more to do, and those beside the ones of all kernels.
  static constexpr DTypeSet plain_results =
      types(numeric::kDTypeOf<BoxElement>) | (std::is_integral_v<T> ? 0 : types(DType::f32));
  static constexpr bool finishes = std::is_same_v<TE, float>;  // sums in registers
  static constexpr DTypeSet own_results = is_float8(numeric::kDTypeOf<T>) ? kFloat8 : 0;
  static constexpr int sum_columns = out_boxes == 1 ? 16 : 32;
  // The partial sums of a split of K, where the stages were: lines along m, or along n.
  static constexpr int sums_pad = 8;
  static constexpr int sums_line_m = BlkM::value + sums_pad;
  static constexpr int sums_line_n = BlkN::value + sums_pad;
  static constexpr int partial_bytes = cute::max(sums_line_m * BlkN::value, sums_line_n* BlkM::value) * 4;

  struct SharedStorage {
    alignas(1024) T a[cute::cosize_v<SmemLayoutA>];
    alignas(1024) T b[cute::cosize_v<SmemLayoutB>];
    alignas(1024) unsigned char out[consumers][out_bytes];
    std::int64_t places[consumers][128];  // of lines in D
    std::uint64_t full[stages];           // a stage has arrived
    std::uint64_t empty[stages];          // a stage has been read
    bool is_last;                         // of the clusters that share a tile
  };
  static_assert(partial_bytes <= stages * stage_bytes);

  static constexpr int compute_capability = 90;
  static constexpr int ctas_per_multiprocessor = 1;
  static constexpr int alignment_bytes = sizeof(T);
};

template <class T, Major major_a, Major major_b, Form>
using GemmSm90_128x256 = GemmSm90<T, major_a, major_b, WgmmaTile<128, 256, 4, false>>;
template <class T, Major major_a, Major major_b, Form>
using GemmSm90_128x192 = GemmSm90<T, major_a, major_b, WgmmaTile<128, 192, 4, false>>;
template <class T, Major major_a, Major major_b, Form>
using GemmSm90_128x128 = GemmSm90<T, major_a, major_b, WgmmaTile<128, 128, 6, true>>;
template <class T, Major major_a, Major major_b, Form>
using GemmSm90_64x128 = GemmSm90<T, major_a, major_b, WgmmaTile<64, 128, 8, true>>;
template <class T, Major major_a, Major major_b, Form>
using GemmSm90Cooperative128x128 = GemmSm90<T, major_a, major_b, WgmmaTile<128, 128, 6, false>>;
template <class T, Major major_a, Major major_b, Form>
using GemmSm90_64x64 = GemmSm90<T, major_a, major_b, WgmmaTile<64, 64, 12, true>>;

// Of float8, with sums of all bits.
template <class T, Major major_a, Major major_b, Form>
using GemmSm90Promoted128x192 = GemmSm90<T, major_a, major_b, WgmmaTile<128, 192, 4, false, true>>;
template <class T, Major major_a, Major major_b, Form>
using GemmSm90Promoted128x128 = GemmSm90<T, major_a, major_b, WgmmaTile<128, 128, 6, false, true>>;
template <class T, Major major_a, Major major_b, Form>
using GemmSm90Promoted64x128 = GemmSm90<T, major_a, major_b, WgmmaTile<64, 128, 8, true, true>>;
template <class T, Major major_a, Major major_b, Form>
using GemmSm90Promoted64x64 = GemmSm90<T, major_a, major_b, WgmmaTile<64, 64, 12, true, true>>;

// Emulated precision.
template <class T, Major major_a, Major major_b, Form>
using GemmSm90Residues128x128 = GemmSm90<T, major_a, major_b, ResidueTile<128, 128, 6, true>>;
template <class T, Major major_a, Major major_b, Form>
using GemmSm90Residues128x256 = GemmSm90<T, major_a, major_b, ResidueTile<128, 256, 4, false>>;
template <class T, Major major_a, Major major_b, Form>
using GemmSm90TwoPlanes128x64 = GemmSm90<T, major_a, major_b, PlaneTile<128, 64, 4, 2>>;
template <class T, Major major_a, Major major_b, Form>
using GemmSm90ThreePlanes128x64 = GemmSm90<T, major_a, major_b, PlaneTile<128, 64, 2, 3>>;
template <class T, Major major_a, Major major_b, Form>
using GemmSm90TwoPlanes128x128 = GemmSm90<T, major_a, major_b, PlaneTile<128, 128, 3, 2>>;
template <class T, Major major_a, Major major_b, Form>
using GemmSm90ThreePlanes128x128 = GemmSm90<T, major_a, major_b, PlaneTile<128, 128, 2, 3>>;

}  // namespace cute_py::kernels
