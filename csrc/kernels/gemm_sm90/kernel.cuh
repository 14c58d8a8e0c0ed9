// C(m,n,l) = alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l), or any other epilogue
//
// After:     gemm_sm80, with the copy engine and the warpgroups' tensor cores of SM90: one warp asks for boxes of A and B,
//            whose arrival an mbarrier counts in bytes; warpgroups multiply them out of shared memory
// Requires:  any M, N, K >= 0; modes that the copy engine can follow
// Numerics:  products exact (of tfloat32: of factors that the copy engine rounds), groups of k ascending, summed by the tensor
//            core in int32 or float32; of float8 in fewer bits, but if Config::promotes, the sums of 128 steps of k are added
//            in float32; bitwise repeatable
// Smem:      Config::stages tiles of A and of B, and boxes of D, dynamic
// Threads:   Config::consumers warpgroups that compute, and one that copies
#pragma once

#include <cute/tensor.hpp>

#include <cutlass/arch/barrier.h>
#include <cutlass/arch/reg_reconfig.h>

#include "kernels/common/namespace.hpp"
#include "kernels/gemm_sm90/store.cuh"
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

// The threads of a cluster meet, which says nothing of what they wrote: cluster_sync() waits until all of it is visible.
CUTE_DEVICE void cluster_meet() {
  cute::cluster_arrive_relaxed();
  cute::cluster_wait();
}

// Each warp asks for other bytes of a parameter than the others, so that they are at hand for all of them soon.
template <class Parameter>
CUTE_DEVICE void prefetch_parameters(Parameter const& parameter, int warp, int warps) {
  constexpr int line = 64;
  for (int at = warp * line; at < static_cast<int>(sizeof(Parameter)); at += warps * line) {
    int const x = *reinterpret_cast<int const*>(reinterpret_cast<char const*>(&parameter) + at);
    asm volatile("" ::"r"(x));
  }
}

template <class Config>
static __global__ __launch_bounds__(Config::threads, Config::ctas_per_multiprocessor)
void gemm_sm90(CUTE_GRID_CONSTANT TensorMap const map_a,
               CUTE_GRID_CONSTANT TensorMap const map_b,
               CUTE_GRID_CONSTANT TensorMap const map_d,
               CUTE_GRID_CONSTANT TensorMap const last_map_a,
               CUTE_GRID_CONSTANT TensorMap const last_map_b,
               CUTE_GRID_CONSTANT GemmTiles const tiles,
               CUTE_GRID_CONSTANT Epilogue<typename Config::TE> const epilogue,
               CUTE_GRID_CONSTANT Batch         const batch,
               CUTE_GRID_CONSTANT SumsOfClusters const others)
{
  using namespace cute;
  using Full  = cutlass::arch::ClusterTransactionBarrier;
  using Empty = cutlass::arch::ClusterBarrier;

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
  int  const pair       = tiles.pair_m * tiles.pair_n;  // CTAs of a cluster that share tiles of A, or of B: 1, or 2
  int  const in_pair    = rank & (pair - 1);
  int  const part       = rank >> (pair - 1);           // of the cluster's part of K
  bool const has_parts  = tiles.parts > 1;              // the pairs of a cluster share K
  prefetch_parameters(tiles, warp, Config::threads / 32);

  if (warp == 0 && elect_one_sync()) {
    CUTE_UNROLL
    for (int i = 0; i < Config::stages; ++i) {
      Full::init(&shared.full[i], 1);                                      // the CTA that copies
      Empty::init(&shared.empty[i], pair * Config::threads_of_tile / 32);  // the warps that read
    }
    cutlass::arch::fence_barrier_init();
  }
  if (warp == Config::computing_threads / 32 && elect_one_sync()) {
    prefetch_tma_descriptor(reinterpret_cast<TmaDescriptor const*>(&map_a));
    prefetch_tma_descriptor(reinterpret_cast<TmaDescriptor const*>(&map_b));
    prefetch_tma_descriptor(reinterpret_cast<TmaDescriptor const*>(&last_map_a));
    prefetch_tma_descriptor(reinterpret_cast<TmaDescriptor const*>(&last_map_b));
  }

  // What this CTA does: a part of K, of tiles that are as far apart as there are clusters
  constexpr int computing_warps = Config::computing_threads / 32;
  constexpr int turns   = Config::alternate ? Config::groups : 1;
  int const group       = warp / 4;
  int const turn        = Config::alternate && warp < computing_warps ? group : 0;  // whose this warp's first tile is
  int const ctas        = static_cast<int>(tiles.ctas.divisor);                     // that share a tile, or two
  int const first_work  = static_cast<int>(tiles.ctas.divide(blockIdx.x));
  int const work_step   = tiles.step;
  int const cluster     = has_parts ? (blockIdx.x - first_work * ctas) >> (tiles.log2_parts + pair - 1) : 0;  // that shares K
  int const k_begin     = has_parts ? ((cluster << tiles.log2_parts) + part) * tiles.part_tiles : 0;
  int const k_end       = min(k_begin + tiles.part_tiles, static_cast<int>(tiles.k.count));
  int const first       = first_work + (has_parts ? 0 : turn * work_step);  // where K is in parts, for all
  auto const first_tile = tiles(first, in_pair);  // found while barriers are waited for
  auto tile_of          = [&](int number) { return number == first ? first_tile : tiles(number, in_pair); };
  // This CTA among those that share a tile's K, where that is in parts: found when it is needed, so that no register keeps it.
  auto own_place = [&] {
    int const rank_now = static_cast<int>(cute::block_rank_in_cluster());
    int const cta_now  = known_for_now(static_cast<int>(blockIdx.x));
    int const work     = static_cast<int>(tiles.ctas.divide(cta_now));
    int const own_in_pair = rank_now & (pair - 1);
    return ClusterOfTile{others, tiles.log2_parts, rank_now >> (pair - 1), pair, own_in_pair, tiles.clusters,
                         (cta_now - work * ctas) >> (tiles.log2_parts + pair - 1), work * pair + own_in_pair};
  };
  Pipe<Config::stages> pipe;

  if (pair > 1 || has_parts) {
    cluster_meet();   // the barriers, which are behind a fence, become visible to the cluster
  } else {
    __syncthreads();  // the barriers become visible to the CTA
  }
  cudaTriggerProgrammaticLaunchCompletion();  // the next kernel may come as far as here
  cudaGridDependencySynchronize();            // the kernels before have ended

  if (warp >= computing_warps) {
    // Those who copy: one thread asks for boxes as soon as there is room
    cutlass::arch::warpgroup_reg_dealloc<Config::copying_registers>();
    if (warp == computing_warps && elect_one_sync()) {
      // Compilers would rather read parameters again in each step, which waits for them, than keep them in registers: so
      // something is added to some that they do not know to be 0.
      int const zero = rank >> 16;
      auto const both = static_cast<std::uint16_t>(0b11 << (rank - in_pair));  // CTAs of the pair
      constexpr auto hint = static_cast<std::uint64_t>(TMA::CacheHintSm90::EVICT_NORMAL);

      // Asks for the boxes of all tiles. It is compiled for each way to share them where there are no outer modes, so
      // that a step takes few instructions, each of which is waited for.
      auto copy_tiles = [&](auto is_flat, auto shares_a, auto shares_b) {
        // Of a tile that a pair shares, each CTA copies half of the rows, or of the steps of k, for both.
        auto copy_boxes = [&](TensorMap const& map, std::uint64_t* full, auto major, auto rows, auto rows_of_box,
                              auto is_shared, int rows_to_copy, int first_row, int at_k, int const (&outer)[3], auto* tile) {
          constexpr bool along_k = decltype(major)::value == Major::k;
          int const half = is_shared ? in_pair : 0;
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
            if (is_shared) {
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
          int const stage_bytes = (rows_a + rows_b) * blk_k * static_cast<int>(sizeof(typename Config::TA));
          CUTE_NO_UNROLL
          for (int k_tile = k_begin; k_tile < k_end; ++k_tile) {
            k.tile = k_tile;
            if (!is_flat && tiles.has_outer_k) {
              k = digits_of(tiles.k, k_tile);
              find_outer();
            }
            Empty::wait(&shared.empty[pipe.stage], pipe.phase ^ 1);
            Full::arrive_and_expect_tx(&shared.full[pipe.stage], stage_bytes);
            std::uint64_t* const full = &shared.full[pipe.stage];
            copy_boxes(own_map_a, full, C<Config::along_a>{}, Int<blk_m>{}, Int<Config::copy_rows_a>{}, shares_a, rows_a,
                       first_a, k.tile * blk_k, outer_a, shared.a + pipe.stage * (blk_m * blk_k));
            copy_boxes(own_map_b, full, C<Config::along_b>{}, Int<blk_n>{}, Int<Config::copy_rows_b>{}, shares_b, rows_b,
                       first_b, k.tile * blk_k, outer_b, shared.b + pipe.stage * (blk_n * blk_k));
            ++pipe;
          }
        }
        if (pair > 1) {
          CUTE_NO_UNROLL
          for (int i = 0; i < Config::stages; ++i) {
            Empty::wait(&shared.empty[pipe.stage], pipe.phase ^ 1);  // nobody says so any more to a CTA that is gone
            ++pipe;
          }
        }
      };
      if (!tiles.is_flat) {
        copy_tiles(false_type{}, tiles.pair_n > 1, tiles.pair_m > 1);
      } else if (tiles.pair_n > 1) {
        copy_tiles(true_type{}, true_type{}, false_type{});
      } else if (tiles.pair_m > 1) {
        copy_tiles(true_type{}, false_type{}, true_type{});
      } else {
        copy_tiles(true_type{}, false_type{}, false_type{});
      }
    }
    if (warp == computing_warps + 1 && elect_one_sync() && tiles.clusters > 1) {
      make_ready(others.arrived, own_place().number());
    }
    __syncwarp();
    if (has_parts) {
      cute::cluster_sync();  // with those who leave sums
    }
  } else {
    // Those who compute
    cutlass::arch::warpgroup_reg_alloc<Config::computing_registers>();
    int const group_of_tile = Config::alternate ? 0 : group;
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
    auto& tCrD = [&]() -> auto& {                                                                       // what D is made of
      if constexpr (Config::promotes) {
        return sums;
      } else {
        return tCrC;
      }
    }();
    constexpr int mma_m = size<1>(tCrC);
    CUTE_STATIC_ASSERT_V(size<2>(tCrC) == Int<1>{});

    int const lane = threadIdx.x % 32;
    int const reader = rank - in_pair + lane;  // of the CTAs that this one shares tiles with, or itself
    auto release = [&](int stage, bool is_one = true) {                                                 // this warp has read it
      Empty::arrive(&shared.empty[stage], reader, is_one && lane < pair);
    };

    auto tile_of_d = [&](GemmTiles::Work const& work, int row) {
      int const in_m = work.m.tile * blk_m + row;
      int const in_n = work.n.tile * blk_n;
      return TileOfD{tiles.extent_m * (work.m.outer[0] + work.m.outer[1] * static_cast<int>(tiles.m.outer[0].divisor)) + in_m,
                     tiles.extent_n * (work.n.outer[0] + work.n.outer[1] * static_cast<int>(tiles.n.outer[0].divisor)) + in_n,
                     tiles.extent_m - in_m, min(tiles.extent_n - in_n, blk_n)};
    };
    auto* const sums_of_part = reinterpret_cast<typename Config::TC*>(shared.a);  // where the stages were

    int boxes = 0;  // that were written
    bool const along_n = epilogue.along_n;
    bool const finishes = Config::finishes && tiles.finishes;
    pipe += turn * (k_end - k_begin);
    CUTE_NO_UNROLL
    for (int number = has_parts && turn > 0 ? tiles.count : first; number < tiles.count; number += turns * work_step) {
      auto const work = tile_of(number);
      auto product_of = [&] { return EpilogueOf<typename Config::TE>(epilogue, batch, work.product); };
      auto tile_from = [&](int row) { return tile_of_d(work, row); };
      std::uint32_t bias[2] = {0, 0};  // asked for before it is needed
      auto bring_bias = [&] {
        if constexpr (Config::finishes) {
          if (!finishes || !tiles.brings_bias) return;
          bias_to_shared(epilogue, bias, reinterpret_cast<float*>(shared.places[group]), group);
        }
      };
      if (finishes && tiles.brings_bias) {
        ask_for_bias(epilogue, product_of, tiles.is_flat, tile_from(group_of_tile * 64), tiles.bias, bias);
      }
      if (Config::promotes || k_begin >= k_end) clear(tCrD);
      mma.accumulate_ = SM90::GMMA::ScaleOut::Zero;
      if (turns > 1 && number != first_work) {
        NamedBarrier::sync(Config::computing_threads, Config::groups + 1 + turn);  // the other's steps are behind it
      }
      int read = 0;  // the stage of the step before, if there is one
      bool has_arrived = false;
      CUTE_NO_UNROLL
      for (int k_tile = k_begin; k_tile < k_end; ++k_tile) {
        if (!has_arrived) {
          Full::wait(&shared.full[pipe.stage], pipe.phase);  // the tiles have arrived
        }
        if constexpr (Config::a_in_registers) {
          // Half of a step is brought to registers while the half before it is multiplied.
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
        if constexpr (Config::promotes) {
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
        NamedBarrier::arrive(Config::computing_threads, Config::groups + 2 - turn);
      }
      bring_bias();
      if constexpr (!Config::promotes) {
        warpgroup_wait<0>();
        warpgroup_fence_operand(tCrC);
        release(read, k_begin < k_end);
      }
      pipe += (turns - 1) * (k_end - k_begin);  // those of the other warpgroup

      // Epilogue
      if (tiles.stores_boxes && !has_parts) {
        int outer[3] = {0, 0, 0};
        if (!tiles.is_flat) {
          CUTE_UNROLL
          for (int i = 0; i < 3; ++i) outer[i] = outer_coordinate(tiles.d.mode[i], work.m, work.n, work.l);
        }
        constexpr int step_m = Config::groups_of_tile * 64;
        auto const times = [&] {
          if constexpr (Config::finishes) {
            multiply_all(epilogue.alpha, tCrD);
            if (finishes) {
              using Sums = SumsOfThread<blk_n, step_m>;
              auto const* const bias_of_tile = reinterpret_cast<float const*>(shared.places[group]);
              finish_all<Sums>(epilogue, product_of, tCrD, tile_from(group_of_tile * 64), tiles.bias, bias_of_tile);
            }
            return IsDone{};
          } else {
            return epilogue.alpha;
          }
        }();
        CUTE_UNROLL
        for (int i = 0; i < mma_m; ++i) {
          int const at_m = work.m.tile * blk_m + group_of_tile * 64 + i * step_m;
          auto copy_box = [&](void const* from, int row, int column) {
            int const m = at_m + row;
            int const n = work.n.tile * blk_n + column;
            SM90_TMA_STORE_5D::copy(&map_d, from, along_n ? n : m, along_n ? m : n, outer[0], outer[1], outer[2]);
          };
          if (along_n) {
            store_boxes<Config, true>(times, tCrD(_,i,_0{}), shared.out[group], boxes, group, copy_box);
          } else {
            store_boxes<Config, false>(times, tCrD(_,i,_0{}), shared.out[group], boxes, group, copy_box);
          }
        }
        continue;
      }

      if (has_parts) break;  // there is a CTA for each tile
      store_sums<Config, Config::groups_of_tile * 64>(product_of(), tCrD, tile_from(group_of_tile * 64), shared.out[group],
                                                       shared.places[group], group);
    }
    if (has_parts) {
      // Also for a warpgroup without sums: as it seems, racecheck takes what threads do after as many barriers for
      // simultaneous, whichever barriers these are.
      NamedBarrier::sync(Config::computing_threads, Config::groups);  // all stages have been read
      if (turn == 0) {
        int const thread = thread_for_now();
        int const row_stride = along_n ? Config::sums_line_n : 1;
        int const column_stride = along_n ? 1 : Config::sums_line_m;
        CUTE_UNROLL
        for (int i = 0; i < size(tCrC); i += 2) {
          int const row = (i / (blk_n / 2) * Config::groups_of_tile + group_of_tile) * 64 + wgmma_row(thread) + i / 2 % 2 * 8;
          int const column = wgmma_column(thread) + i % (blk_n / 2) / 4 * 8;
          auto* const to = sums_of_part + row * row_stride + column * column_stride;
          if (along_n) {
            *reinterpret_cast<Neighbours<typename Config::TC, 2>*>(to) = {tCrD(i), tCrD(i + 1)};
          } else {
            to[0] = tCrD(i);
            to[column_stride] = tCrD(i + 1);
          }
        }
      }
      auto tile = tile_of_d(first_tile, 0);
      tile.rows = min(tile.rows, blk_m);
      cute::cluster_sync();  // the sums of all parts have become visible to the cluster
      store_parts<Config>(EpilogueOf<typename Config::TE>(epilogue, batch, first_tile.product), sums_of_part, tile, own_place(),
                          shared.places[0], shared.is_last, Config::groups + 3);
    }
    if (threadIdx.x % 128 == 0) {
      tma_store_wait<0>();  // the last boxes have left shared memory
    }
  }

  if (has_parts) {
    cluster_meet();  // nobody reads the memory of a CTA that is gone
  }
}

}  // namespace cute_py::kernels::cutlass_scheduled
