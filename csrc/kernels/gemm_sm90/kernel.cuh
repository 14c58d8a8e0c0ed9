// C(m,n,l) = alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l), or any other epilogue
//
// After:     gemm_sm80, with TMA and wgmma of SM90. Persistent (static tile scheduler, L2 raster) and warp-specialised: a
//            producer warp starts TMA loads, whose arrival transaction barriers count in bytes (expect_tx), with multicast to
//            the CTAs of a cluster; consumer warpgroups multiply out of shared memory, cooperative or ping-pong, and get the
//            producer's registers (setmaxnreg). Overlaps the previous kernel (PDL)
// Reduce:    split-K: in a cluster, and through global memory among clusters
// Write:     TMA, with the epilogue in registers; else staged through shared memory, in vectors or scattered
// Requires:  any M, N, K >= 0; modes that TMA can follow
// Numerics:  products exact (of tfloat32: of factors that TMA rounds), groups of k ascending, summed by the tensor core in
//            int32 or float32; of float8 in fewer bits, but if Config::promotes, the sums of 128 steps of k are added in
//            float32; splits of K are added in their order; bitwise repeatable. Emulated precision: planes.cuh
// Smem:      Config::stages tiles of A and of B, and boxes of D, dynamic
// Threads:   Config::consumers consumer warpgroups, and the producer's
#pragma once

#include <cute/tensor.hpp>

#include <cutlass/arch/barrier.h>
#include <cutlass/arch/reg_reconfig.h>

#include "kernels/common/epilogue_registers.cuh"
#include "kernels/common/namespace.hpp"
#include "kernels/common/reduce_cluster.cuh"
#include "kernels/common/registers.cuh"
#include "kernels/common/sections.hpp"
#include "kernels/common/write_staged_sm90.cuh"
#include "kernels/common/write_tma.cuh"
#include "kernels/gemm_sm90/planes.cuh"
#include "kernels/gemm_sm90/tiles.hpp"
#include "problem/tensor_box.hpp"

namespace cute_py::kernels::cutlass_scheduled {

// A stage of shared memory, and the parity of the phase of its mbarriers, from step to step.
template <int stages>
struct Pipe {
  int stage = 0;
  std::uint32_t phase = 0;

  CUTE_DEVICE void operator++() {
    if (++stage == stages) {
      stage = 0;
      phase ^= 1;
    }
  }

  CUTE_DEVICE void operator+=(int steps) {
    stage += steps;
    phase ^= stage / stages & 1;
    stage %= stages;
  }
};

// A cluster barrier without memory order (relaxed): cluster_sync() also makes visible what the threads wrote.
CUTE_DEVICE void cluster_meet() {
  cute::cluster_arrive_relaxed();
  cute::cluster_wait();
}

// Prefetches a kernel parameter to the constant cache; each warp prefetches other bytes.
template <class Parameter>
CUTE_DEVICE void prefetch_parameters(Parameter const& parameter, int warp, int warps) {
  constexpr int line = 64;
  for (int at = warp * line; at < static_cast<int>(sizeof(Parameter)); at += warps * line) {
    int const x = *reinterpret_cast<int const*>(reinterpret_cast<char const*>(&parameter) + at);
    asm volatile("" ::"r"(x));
  }
}

// Split-K: reduces a CTA's share of a tile, whose partial sums are in the CTAs of clusters, and writes it by the whole
// epilogue. If that is alpha alone, vectors are written out of registers, by short loops, because an instruction cache miss
// takes longer than the loop. Else sums go through the place of the CTA's own partial sums in shared memory, which no
// other CTA reads.
template <class Config, class LeavesOut>
CUTE_DEVICE void reduce_and_write(EpilogueOf<typename Config::TE> const& product, typename Config::TC* partials,
                                  TileOfD const& tile, ClusterSplit const& split, std::int64_t* places, bool& is_last,
                                  cutlass::arch::NamedBarrier const& barrier, LeavesOut const& leaves_out)
{
  auto const& e = product.e;
  ShareOfTile<Config> const share(e.along_n, split);
  using Vector = typename ShareOfTile<Config>::Vector;
  // A row that is left out is written by the kernel after this one; here it may be, too.
  bool const is_flat = Config::planes == 1 || (e.m.rank <= 1 && e.n.rank <= 1);
  bool const in_vectors = is_flat && e.is_plain && !e.reads_c && e.run > 1;
  TileOfD const tile_of_share = share.of(tile);
  VectorsOfTile<Config::plain_results, typename Config::TE> const vectors(product, tile_of_share);
  auto* const own = partials + share.first * share.pitch;
  bool const is_whole = reduce_cluster(share, partials, split, is_last, barrier, [&](int vector, Vector const& sum) {
    if (in_vectors) {
      vectors.write(share.line_of(vector), share.in_line(vector), sum);
    } else {
      *reinterpret_cast<Vector*>(own + share.place(vector)) = sum;
    }
  });
  if (in_vectors || !is_whole) return;
  find_lines(e, tile_of_share, share.thread, places);
  barrier.sync();  // sums and places become visible to all threads

  store_lines<Config, Config::consumer_threads>(product, tile_of_share, e.along_n ? Config::BlkN::value : Config::BlkM::value,
                                                share.thread, places, own, share.pitch, leaves_out);
}

// The same of residues: sums of all splits, reduced by the modulus of their plane.
template <class Config>
CUTE_DEVICE void reduce_and_write_residues(EpilogueOf<typename Config::TE> const& product, std::int32_t* partials,
                                           TileOfD const& tile, ClusterSplit const& split, bool& is_last,
                                           cutlass::arch::NamedBarrier const& barrier, ModulusOfTile const& modulus)
{
  ShareOfTile<Config> const share(true, split);
  TileOfD const part = share.of(tile);
  auto* const d = static_cast<std::int8_t*>(product.data[kEpilogueD]);
  reduce_cluster(share, partials, split, is_last, barrier, [&](int vector, auto const& sum) {
    int const row = share.line_of(vector), column = share.in_line(vector);
    if (row >= part.rows || column >= part.columns) return;  // a line has room for a whole vector
    AlignedArray<std::int8_t, 4> residues;
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) residues.x[i] = scaled<std::int8_t>(modulus, sum.x[i]);
    auto const at = product.e.m.offset(part.first_m + row, kEpilogueD) + part.first_n + column;
    *reinterpret_cast<AlignedArray<std::int8_t, 4>*>(d + at) = residues;
  });
}

template <class Config>
static __global__ __launch_bounds__(Config::threads, Config::ctas_per_multiprocessor)
void gemm_sm90(CUTE_GRID_CONSTANT TensorMap const map_a,
               CUTE_GRID_CONSTANT TensorMap const map_b,
               CUTE_GRID_CONSTANT TensorMap const map_d,
               CUTE_GRID_CONSTANT TensorMap const last_map_a,
               CUTE_GRID_CONSTANT TensorMap const last_map_b,
               CUTE_GRID_CONSTANT TileScheduler const tiles,
               CUTE_GRID_CONSTANT Epilogue<typename Config::TE> const epilogue,
               CUTE_GRID_CONSTANT Batch         const batch,
               CUTE_GRID_CONSTANT ClusterPartials const partials,
               CUTE_GRID_CONSTANT PlaneExponents const exponents)
{
  using namespace cute;
  using Full  = cutlass::arch::ClusterTransactionBarrier;
  using Empty = cutlass::arch::ClusterBarrier;
  using cutlass::arch::NamedBarrier;

  typename Config::CtaTiler    cta_tiler;                                                               // (BLK_M,BLK_N,BLK_K)
  typename Config::SwizzledA   sA_layout;                                                               // (BLK_M,BLK_K,PIPE)
  typename Config::SwizzledB   sB_layout;                                                               // (BLK_N,BLK_K,PIPE)
  typename Config::TiledMma    mma;
  constexpr int blk_m = size<0>(cta_tiler), blk_n = size<1>(cta_tiler), blk_k = size<2>(cta_tiler);

  // Preconditions
  CUTE_STATIC_ASSERT_V(size<0>(sA_layout) == size<0>(cta_tiler));                                       // BLK_M
  CUTE_STATIC_ASSERT_V(size<1>(sA_layout) == size<2>(cta_tiler));                                       // BLK_K
  CUTE_STATIC_ASSERT_V(size<0>(sB_layout) == size<1>(cta_tiler));                                       // BLK_N
  CUTE_STATIC_ASSERT_V(size<1>(sB_layout) == size<2>(cta_tiler));                                       // BLK_K
  CUTE_STATIC_ASSERT_V(size(mma) == Int<Config::threads_of_tile>{});                                   // threads that compute C

  // Shared memory
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  auto& shared = *kept_address(reinterpret_cast<typename Config::SharedStorage*>(shared_memory));
  Tensor sA = make_tensor(make_smem_ptr(shared.a), sA_layout);                                    // (BLK_M,BLK_K,PIPE)
  Tensor sB = make_tensor(make_smem_ptr(shared.b), sB_layout);                                    // (BLK_N,BLK_K,PIPE)

  int  const warp       = __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x) / 32, 0);
  int  const rank       = static_cast<int>(cute::block_rank_in_cluster());
  int  const multicast  = tiles.multicast_m * tiles.multicast_n;  // CTAs that share tiles of A, or of B: 1, or 2
  int  const multicast_rank = rank & (multicast - 1);
  int  const split      = rank >> (multicast - 1);      // of K, in the cluster
  bool const splits_k   = tiles.splits > 1;
  prefetch_parameters(tiles, warp, Config::threads / 32);

  if (warp == 0 && elect_one_sync()) {
    CUTE_UNROLL
    for (int i = 0; i < Config::stages; ++i) {
      Full::init(&shared.full[i], 1);                                           // the producer
      Empty::init(&shared.empty[i], multicast * Config::threads_of_tile / 32);  // the consumers' warps
    }
    cutlass::arch::fence_barrier_init();
  }
  if (warp == Config::consumer_threads / 32 && elect_one_sync()) {
    prefetch_tma_descriptor(reinterpret_cast<TmaDescriptor const*>(&map_a));
    prefetch_tma_descriptor(reinterpret_cast<TmaDescriptor const*>(&map_b));
    prefetch_tma_descriptor(reinterpret_cast<TmaDescriptor const*>(&last_map_a));
    prefetch_tma_descriptor(reinterpret_cast<TmaDescriptor const*>(&last_map_b));
  }

  // Persistent CTA, static tile scheduler: the split of K of this CTA, and its tiles, each a grid of clusters after the other
  constexpr int consumer_warps = Config::consumer_threads / 32;
  constexpr int turns   = Config::ping_pong ? Config::consumers : 1;
  int const group       = warp / 4;
  int const turn        = Config::ping_pong && warp < consumer_warps ? group : 0;  // whose this warp's first tile is
  int const ctas        = static_cast<int>(tiles.ctas.divisor);                    // that share the K of a tile, or of two
  int const first_work  = static_cast<int>(tiles.ctas.divide(blockIdx.x));
  int const work_step   = tiles.step;
  int const cluster     = splits_k ? (blockIdx.x - first_work * ctas) >> (tiles.log2_splits + multicast - 1) : 0;  // of a tile
  int const k_begin     = splits_k ? ((cluster << tiles.log2_splits) + split) * tiles.split_tiles : 0;
  int const k_end       = min(k_begin + tiles.split_tiles, static_cast<int>(tiles.k.count));
  int const first       = first_work + (splits_k ? 0 : turn * work_step);  // where K is split, for all
  auto const first_tile = tiles(first, multicast_rank);  // found while barriers are waited for
  auto tile_of          = [&](int number) { return number == first ? first_tile : tiles(number, multicast_rank); };
  // This CTA among those that share a tile's K, where that is split: found when it is needed, so that no register keeps it.
  auto own_split = [&] {
    int const rank_now = static_cast<int>(cute::block_rank_in_cluster());
    int const cta_now  = known_for_now(static_cast<int>(blockIdx.x));
    int const work     = static_cast<int>(tiles.ctas.divide(cta_now));
    int const own_rank = rank_now & (multicast - 1);
    return ClusterSplit{partials, tiles.log2_splits, rank_now >> (multicast - 1), multicast, own_rank, tiles.clusters,
                        (cta_now - work * ctas) >> (tiles.log2_splits + multicast - 1), work * multicast + own_rank};
  };
  Pipe<Config::stages> pipe;

  if (multicast > 1 || splits_k) {
    cluster_meet();   // the barriers, which are behind a fence, become visible to the cluster
  } else {
    __syncthreads();  // the barriers become visible to the CTA
  }
  // Programmatic dependent launch (PDL)
  cudaTriggerProgrammaticLaunchCompletion();  // the next kernel may start, up to its own grid dependency sync
  cudaGridDependencySynchronize();            // the kernels before this one have ended

  if (warp >= consumer_warps) {
    // Producer warp: one thread starts TMA loads as soon as a stage is empty
    cutlass::arch::warpgroup_reg_dealloc<Config::producer_registers>();
    if (warp == consumer_warps && elect_one_sync()) {
      // The compiler would read parameters again in each step, and wait for them, instead of keeping them in registers. So a
      // value that it cannot prove to be 0 is added to some of them.
      int const zero = rank >> 16;
      auto const both = static_cast<std::uint16_t>(0b11 << (rank - multicast_rank));  // CTAs of the multicast
      constexpr auto hint = static_cast<std::uint64_t>(TMA::CacheHintSm90::EVICT_NORMAL);

      // Loads the boxes of all tiles. It is compiled for each multicast where there are no outer modes, so that a step takes
      // few instructions: this loop is bound by their latency.
      auto load_tiles = [&](auto is_flat, auto multicasts_a, auto multicasts_b) {
        // Of a tile that is multicast, each CTA loads half of the rows, or of the steps of k, for both.
        auto load_boxes = [&](TensorMap const& map, std::uint64_t* full, auto major, auto rows, auto rows_of_box,
                              auto multicasts, int rows_to_copy, int first_row, int at_k, int const (&outer)[3], auto* tile) {
          constexpr bool along_k = decltype(major)::value == Major::k;
          int const half = multicasts ? multicast_rank : 0;
          int const row_of_half = along_k ? rows_to_copy / 2 * half : 0;
          int const k_of_half = along_k ? 0 : blk_k / 2 * half;
          CUTE_UNROLL
          for (int row = 0; row < rows; row += rows_of_box) {
            if (row >= rows_to_copy) break;
            int const at_mn = first_row + row + row_of_half;
            int const at_own_k = at_k + k_of_half;
            int const c0 = along_k ? at_own_k : at_mn;
            int const c1 = along_k ? at_mn : at_own_k;
            auto* const to = tile + (row + row_of_half) * blk_k + k_of_half * rows_of_box;
            if (multicasts) {
              SM90_TMA_LOAD_MULTICAST_5D::copy(&map, full, both, hint, to, c0, c1, outer[0], outer[1], outer[2]);
            } else {
              SM90_TMA_LOAD_5D::copy(&map, full, hint, to, c0, c1, outer[0], outer[1], outer[2]);
            }
          }
        };

        CUTE_NO_UNROLL
        for (int number = first; number < tiles.count; number += work_step) {
          auto const work = tile_of(number);
          GroupDigits k{};
          int outer_a[3] = {0, 0, 0};
          int outer_b[3] = {0, 0, 0};
          auto find_outer = [&] {
            CUTE_UNROLL
            for (int i = 0; i < 3; ++i) {
              outer_a[i] = outer_coordinate(tiles.a.mode[i], work.m, k, work.l);
              outer_b[i] = outer_coordinate(tiles.b.mode[i], work.n, k, work.l);
            }
          };
          if (!is_flat) find_outer();
          int const first_a = work.m.tile * blk_m;
          int const first_b = work.n.tile * blk_n;
          // With outer modes, which take registers, all tiles have the boxes of a whole one.
          int const rows_a = (is_flat ? tiles.rows_a(first_a, blk_m, tiles.extent_m) : tiles.rows_a.all) + zero;
          int const rows_b = (is_flat ? tiles.rows_b(first_b, blk_n, tiles.extent_n) : tiles.rows_b.all) + zero;
          auto const& own_map_a = !is_flat || rows_a == tiles.rows_a.all ? map_a : last_map_a;
          auto const& own_map_b = !is_flat || rows_b == tiles.rows_b.all ? map_b : last_map_b;
          int const stage_bytes = (rows_a + rows_b) * (blk_k * Config::planes * static_cast<int>(sizeof(typename Config::TA)));
          CUTE_NO_UNROLL
          for (int k_tile = k_begin; k_tile < k_end; ++k_tile) {
            k.tile = k_tile;
            if (!is_flat && tiles.has_outer_k) {
              k = digits_of(tiles.k, k_tile);
              find_outer();
            }
            CUTE_SECTION("wait for a stage");
            Empty::wait(&shared.empty[pipe.stage], pipe.phase ^ 1);
            CUTE_SECTION("load");
            Full::arrive_and_expect_tx(&shared.full[pipe.stage], stage_bytes);
            std::uint64_t* const full = &shared.full[pipe.stage];
            CUTE_UNROLL
            for (int plane = 0; plane < Config::planes; ++plane) {
              if constexpr (Config::planes > 1) outer_a[2] = outer_b[2] = plane;
              int const place = pipe.stage * Config::planes + plane;
              load_boxes(own_map_a, full, C<Config::along_a>{}, Int<blk_m>{}, Int<Config::copy_rows_a>{}, multicasts_a, rows_a,
                         first_a, k.tile * blk_k, outer_a, shared.a + place * (blk_m * blk_k));
              load_boxes(own_map_b, full, C<Config::along_b>{}, Int<blk_n>{}, Int<Config::copy_rows_b>{}, multicasts_b, rows_b,
                         first_b, k.tile * blk_k, outer_b, shared.b + place * (blk_n * blk_k));
            }
            ++pipe;
          }
        }
        CUTE_SECTION("");
        if (multicast > 1) {
          CUTE_NO_UNROLL
          for (int i = 0; i < Config::stages; ++i) {
            // Drains the empty barriers before the CTA exits: consumers of the other CTA arrive here, too.
            Empty::wait(&shared.empty[pipe.stage], pipe.phase ^ 1);
            ++pipe;
          }
        }
      };
      if (!tiles.is_flat) {
        load_tiles(false_type{}, tiles.multicast_n > 1, tiles.multicast_m > 1);
      } else if (tiles.multicast_n > 1) {
        load_tiles(true_type{}, true_type{}, false_type{});
      } else if (tiles.multicast_m > 1) {
        load_tiles(true_type{}, false_type{}, true_type{});
      } else {
        load_tiles(true_type{}, false_type{}, false_type{});
      }
    }
    if (warp == consumer_warps + 1 && elect_one_sync() && tiles.clusters > 1) {
      prepare_counter(partials.counters, own_split().counter());
    }
    __syncwarp();
    if (splits_k) {
      cute::cluster_sync();  // with the consumers, which leave partial sums
    }
  } else {
    // Consumer warpgroups
    cutlass::arch::warpgroup_reg_alloc<Config::consumer_registers>();
    NamedBarrier const warpgroup(128, group);
    int const group_of_tile = Config::ping_pong ? 0 : group;
    ThrMMA thr_mma = mma.get_slice(group_of_tile * 128);
    Tensor tCsA = [&] {                     // (MMA,MMA_M,MMA_K,PIPE)
      if constexpr (Config::a_in_registers) {
        Tensor elements = make_tensor(make_smem_ptr(shared.a), typename Config::SmemLayoutA{});
        return mma.get_slice(group_of_tile * 128 + threadIdx.x % 128).partition_A(elements);
      } else {
        return thr_mma.partition_A(sA);
      }
    }();
    Tensor tCsB = thr_mma.partition_B(sB);  // (MMA,MMA_N,MMA_K,PIPE)
    Tensor tCrA = [&] {                           // (MMA,MMA_M,MMA_K,PIPE): of a stage, or of all
      if constexpr (Config::a_in_registers) {
        return make_fragment_like(tCsA(_,_,_,Int<0>{}));
      } else {
        return thr_mma.make_fragment_A(tCsA);
      }
    }();
    Tensor tCrB = thr_mma.make_fragment_B(tCsB);  // (MMA,MMA_N,MMA_K,PIPE)
    Tensor tCrC = partition_fragment_C(mma, select<0,1>(cta_tiler));                                    // (MMA,MMA_M,MMA_N)
    Tensor sums = make_fragment_like(tCrC);                                                             // (MMA,MMA_M,MMA_N)
    Tensor smaller = make_fragment_like(tCrC);  // of products of smaller planes
    auto& tCrD = [&]() -> auto& {                                                                       // sums for the epilogue
      if constexpr (Config::promotes) {
        return sums;
      } else {
        return tCrC;
      }
    }();
    constexpr int mma_m = size<1>(tCrC);
    CUTE_STATIC_ASSERT_V(size<2>(tCrC) == Int<1>{});

    int const lane = threadIdx.x % 32;
    int const producer = rank - multicast_rank + lane;  // a CTA that loads tiles for this one
    auto release = [&](int stage, bool is_one = true) {                                                 // this warp has read it
      Empty::arrive(&shared.empty[stage], producer, is_one && lane < multicast);
    };

    auto tile_of_d = [&](TileScheduler::Work const& work, int row) {
      int const in_m = work.m.tile * blk_m + row;
      int const in_n = work.n.tile * blk_n;
      return TileOfD{tiles.extent_m * (work.m.outer[0] + work.m.outer[1] * static_cast<int>(tiles.m.outer[0].divisor)) + in_m,
                     tiles.extent_n * (work.n.outer[0] + work.n.outer[1] * static_cast<int>(tiles.n.outer[0].divisor)) + in_n,
                     tiles.extent_m - in_m, min(tiles.extent_n - in_n, blk_n)};
    };
    auto* const own_partials = reinterpret_cast<typename Config::TC*>(shared.a);  // where the stages were

    int boxes = 0;  // that were written
    bool const along_n = epilogue.along_n;
    bool const finishes = Config::finishes && tiles.finishes;
    pipe += turn * (k_end - k_begin);
    CUTE_NO_UNROLL
    for (int number = splits_k && turn > 0 ? tiles.count : first; number < tiles.count; number += turns * work_step) {
      auto const work = tile_of(number);
      auto product_of = [&] { return EpilogueOf<typename Config::TE>(epilogue, batch, work.product); };
      auto tile_from = [&](int row) { return tile_of_d(work, row); };
      std::uint32_t bias[2] = {0, 0};  // in flight during the main loop
      auto bring_bias = [&] {
        if constexpr (Config::finishes) {
          if (!finishes || !tiles.brings_bias) return;
          bias_to_shared(epilogue, bias, reinterpret_cast<float*>(shared.places[group]), warpgroup);
        }
      };
      if (finishes && tiles.brings_bias) {
        load_bias(epilogue, product_of, tiles.is_flat, tile_from(group_of_tile * 64), tiles.bias, bias);
      }
      if (Config::promotes || k_begin >= k_end) clear(tCrD);
      if (Config::planes > 1 && k_begin >= k_end) clear(smaller);
      mma.accumulate_ = SM90::GMMA::ScaleOut::Zero;
      CUTE_SECTION("wait for the turn");
      if (turns > 1 && number != first_work) {
        NamedBarrier::sync(Config::consumer_threads, Config::consumers + 1 + turn);  // ping-pong: the other's math is over
      }
      CUTE_SECTION("main loop");
      int read = 0;  // the stage of the step before, if there is one
      bool has_arrived = false;
      CUTE_NO_UNROLL
      for (int k_tile = k_begin; k_tile < k_end; ++k_tile) {
        if (!has_arrived) {
          Full::wait(&shared.full[pipe.stage], pipe.phase);  // the tiles have arrived
        }
        if constexpr (Config::a_in_registers) {
          // A half of the step is loaded to registers while the half before it is multiplied.
          constexpr int half = size<2>(tCrA) / 2;
          CUTE_UNROLL
          for (int first_block = 0; first_block < 2 * half; first_block += half) {
            warpgroup_wait<1>();  // what these registers held has been multiplied
            if (first_block > 0) release(read, k_tile > k_begin);
            CUTE_UNROLL
            for (int k_block = first_block; k_block < first_block + half; ++k_block) {
              copy(tCsA(_,_,k_block,pipe.stage), tCrA(_,_,k_block));
            }
            warpgroup_fence_operand(tCrC);
            warpgroup_arrive();
            CUTE_UNROLL
            for (int k_block = first_block; k_block < first_block + half; ++k_block) {
              gemm(mma, tCrA(_,_,k_block), tCrB(_,_,k_block,pipe.stage), tCrC);                         // (MMA,MMA_M,MMA_N)
              mma.accumulate_ = SM90::GMMA::ScaleOut::One;
            }
            warpgroup_commit_batch();
          }
        } else if constexpr (Config::planes > 1) {
          multiply_planes<Config, true>(mma, tCrA, tCrB, pipe.stage, false, tCrC);
          warpgroup_wait<1>();  // the step before has been multiplied
          release(read, k_tile > k_begin);
          multiply_planes<Config, false>(mma, tCrA, tCrB, pipe.stage, k_tile == k_begin, smaller);
        } else {
          warpgroup_fence_operand(tCrC);
          warpgroup_arrive();
          CUTE_UNROLL
          for (int k_block = 0; k_block < size<2>(tCrA); ++k_block) {
            gemm(mma, tCrA(_,_,k_block,pipe.stage), tCrB(_,_,k_block,pipe.stage), tCrC);                // (MMA,MMA_M,MMA_N)
            mma.accumulate_ = SM90::GMMA::ScaleOut::One;
          }
          warpgroup_commit_batch();
        }
        auto next = pipe;
        ++next;
        has_arrived = Full::test_wait(&shared.full[next.stage], next.phase, true);  // meanwhile
        if constexpr (Config::planes > 1) {
          warpgroup_wait<1>();  // the largest planes have been multiplied
          warpgroup_fence_operand(tCrC);
          CUTE_UNROLL
          for (int i = 0; i < size(sums); ++i) sums(i) += tCrC(i);
          read = pipe.stage;
        } else if constexpr (Config::promotes) {
          warpgroup_wait<0>();  // this step has been multiplied
          warpgroup_fence_operand(tCrC);
          release(pipe.stage);
          CUTE_UNROLL
          for (int i = 0; i < size(sums); ++i) sums(i) += tCrC(i);
          mma.accumulate_ = SM90::GMMA::ScaleOut::Zero;
        } else {
          if constexpr (!Config::a_in_registers) {
            warpgroup_wait<1>();  // the step before has been multiplied
            warpgroup_fence_operand(tCrC);
            release(read, k_tile > k_begin);
          }
          read = pipe.stage;
        }
        pipe = next;
      }
      if (turns > 1 && number + work_step < tiles.count) {
        NamedBarrier::arrive(Config::consumer_threads, Config::consumers + 2 - turn);
      }
      bring_bias();
      if constexpr (!Config::promotes || Config::planes > 1) {
        warpgroup_wait<0>();
        warpgroup_fence_operand(tCrC);
        release(read, k_begin < k_end);
        if constexpr (Config::planes > 1) warpgroup_fence_operand(smaller);
      }
      pipe += (turns - 1) * (k_end - k_begin);  // skips the stages of the other warpgroup

      // Epilogue
      CUTE_SECTION("epilogue");
      if constexpr (Config::planes > 1) {
        ExponentsOfTile const of_tile(exponents, tiles, work.product);
        using Sums = SumsOfThread<blk_n, Config::consumers_of_tile * 64>;
        bool const leaves_out = finish_planes<Config, Sums>(sums, smaller, of_tile, tile_from(group_of_tile * 64));
        if (leaves_out && !splits_k) {
          if (threadIdx.x % 128 == 0) {
            tma_store_wait<0>();  // boxes of the tile before have left shared memory
          }
          warpgroup.sync();  // so that all threads may write there
          store_sums<Config, Config::consumers_of_tile * 64>(product_of(), sums, tile_from(group_of_tile * 64),
                                                             shared.out[group], shared.places[group], warpgroup, of_tile);
          continue;
        }
      }
      if (tiles.stores_boxes && !splits_k) {
        int outer[3] = {0, 0, 0};
        if (!tiles.is_flat) {
          CUTE_UNROLL
          for (int i = 0; i < 3; ++i) outer[i] = outer_coordinate(tiles.d.mode[i], work.m, work.n, work.l);
        }
        constexpr int step_m = Config::consumers_of_tile * 64;
        auto const alpha = [&] {
          if constexpr (Config::finishes) {
            if (epilogue.alpha != 1.0f) {
              CUTE_UNROLL
              for (int i = 0; i < size(tCrD); ++i) tCrD(i) = epilogue.alpha * tCrD(i);
            }
            if (finishes) {
              using Sums = SumsOfThread<blk_n, step_m>;
              auto const* const bias_of_tile = reinterpret_cast<float const*>(shared.places[group]);
              finish_all<Sums>(epilogue, product_of, tCrD, tile_from(group_of_tile * 64), tiles.bias, bias_of_tile);
            }
            return IsDone{};
          } else if constexpr (Config::residues) {
            return tiles.moduli(work.product);
          } else {
            return epilogue.alpha;
          }
        }();
        CUTE_UNROLL
        for (int i = 0; i < mma_m; ++i) {
          int const at_m = work.m.tile * blk_m + group_of_tile * 64 + i * step_m;
          auto store_box = [&](void const* from, int row, int column) {
            int const m = at_m + row;
            int const n = work.n.tile * blk_n + column;
            SM90_TMA_STORE_5D::copy(&map_d, from, along_n ? n : m, along_n ? m : n, outer[0], outer[1], outer[2]);
          };
          if (Config::residues || along_n) {
            write_tma<Config, true>(alpha, tCrD(_,i,_0{}), shared.out[group], boxes, warpgroup, store_box);
          } else if constexpr (!Config::residues) {
            write_tma<Config, false>(alpha, tCrD(_,i,_0{}), shared.out[group], boxes, warpgroup, store_box);
          }
        }
        continue;
      }

      if (splits_k) break;  // each tile has CTAs of its own
      if constexpr (!Config::residues) {
        store_sums<Config, Config::consumers_of_tile * 64>(product_of(), tCrD, tile_from(group_of_tile * 64), shared.out[group],
                                                           shared.places[group], warpgroup);
      }
    }
    if (splits_k) {
      // Also for a warpgroup without sums: as it seems, racecheck takes what threads do after as many barriers for
      // simultaneous, whichever barriers these are.
      NamedBarrier::sync(Config::consumer_threads, Config::consumers);  // all stages have been read
      if (turn == 0) leave_partials<Config>(tCrD, own_partials, along_n, group_of_tile);
      auto const own = own_split();
      auto const work = tiles(own.tile >> (multicast - 1), own.multicast_rank);  // found again, so that no register keeps it
      auto tile = tile_of_d(work, 0);
      tile.rows = min(tile.rows, blk_m);
      cute::cluster_sync();  // the partial sums of all splits have become visible to the cluster
      EpilogueOf<typename Config::TE> const product(epilogue, batch, work.product);
      NamedBarrier const of_consumers(Config::consumer_threads, Config::consumers + 3);
      if constexpr (Config::residues) {
        reduce_and_write_residues<Config>(product, own_partials, tile, own, shared.is_last, of_consumers,
                                          tiles.moduli(work.product));
      } else if constexpr (Config::planes > 1) {
        reduce_and_write<Config>(product, own_partials, tile, own, shared.places[0], shared.is_last, of_consumers,
                                 ExponentsOfTile(exponents, tiles, work.product));
      } else {
        reduce_and_write<Config>(product, own_partials, tile, own, shared.places[0], shared.is_last, of_consumers,
                                 NothingLeftOut{});
      }
    }
    CUTE_SECTION("");
    if (threadIdx.x % 128 == 0) {
      tma_store_wait<0>();  // the last boxes have left shared memory
    }
  }

  if (splits_k) {
    cluster_meet();  // a CTA exits only after no other CTA reads its shared memory
  }
}

}  // namespace cute_py::kernels::cutlass_scheduled
