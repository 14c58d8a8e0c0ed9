// C(m,n,l) = alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l), or any other epilogue
//
// After:     sgemm_sm80, with tensor cores in the place of scalar multiply-adds: cp.async fills swizzled stages of shared
//            memory, ldmatrix brings fragments to registers one k-block ahead of mma.sync
// Requires:  any M, N, K >= 0, any modes
// Numerics:  products exact (of tfloat32: of factors rounded to nearest, ties away), summed by the tensor core in the
//            Config's TC, groups of k ascending; where the TiledMMA has several warps along K (sliced-K), their
//            sums are added in the order of the warps, and splits of K in their order; bitwise repeatable
// Reduce:    sliced-K in a CTA, split-K through global memory
// Write:     staged through shared memory, in vectors or scattered; for emulated precision, what is left of sums modulo a number
// Smem:      Config::stages tiles of A and of B, dynamic
// Threads:   Config::threads, all of them copy, all of them compute
#pragma once

#include <cute/tensor.hpp>

#include "kernels/common/gather.cuh"
#include "kernels/common/namespace.hpp"
#include "kernels/common/predication.cuh"
#include "kernels/common/reduce_global.cuh"
#include "kernels/common/reduce_sliced_k.cuh"
#include "kernels/common/write_residues.cuh"
#include "kernels/common/write_staged.cuh"

namespace cute_py::kernels::cutlass_scheduled {

template <class Config, class ProblemShape, class AStride, class BStride, class CStride>
static __global__ __launch_bounds__(Config::threads, Config::ctas_per_multiprocessor)
void gemm_sm80(ProblemShape shape_MNK,
               typename Config::PointerA A, AStride dA,
               typename Config::PointerB B, BStride dB,
               typename Config::TC      *  , CStride   ,
               Epilogue<typename Config::TE> const epilogue, Batch const batch, SplitK const split_k,
               typename Config::Moduli const moduli)
{
  using namespace cute;

  typename Config::CtaTiler    cta_tiler;                                                               // (BLK_M,BLK_N,BLK_K)
  typename Config::SmemLayoutA sA_layout;                                                               // (BLK_M,BLK_K,PIPE)
  typename Config::SmemLayoutB sB_layout;                                                               // (BLK_N,BLK_K,PIPE)
  typename Config::TiledCopyA  copy_a;
  typename Config::TiledCopyB  copy_b;
  typename Config::TiledMma    mma;

  // Preconditions
  CUTE_STATIC_ASSERT_V(rank(shape_MNK) == Int<3>{});                                                    // (M,N,K)
  CUTE_STATIC_ASSERT_V(fits(select<0,2>(shape_MNK), dA));                                               // A strides for (M,K)
  CUTE_STATIC_ASSERT_V(fits(select<1,2>(shape_MNK), dB));                                               // B strides for (N,K)
  CUTE_STATIC_ASSERT_V(size<0>(sA_layout) == size<0>(cta_tiler));                                       // BLK_M
  CUTE_STATIC_ASSERT_V(size<1>(sA_layout) == size<2>(cta_tiler));                                       // BLK_K
  CUTE_STATIC_ASSERT_V(size<0>(sB_layout) == size<1>(cta_tiler));                                       // BLK_N
  CUTE_STATIC_ASSERT_V(size<1>(sB_layout) == size<2>(cta_tiler));                                       // BLK_K
  CUTE_STATIC_ASSERT_V(size(copy_a) == Int<Config::threads>{});                                         // threads that copy A
  CUTE_STATIC_ASSERT_V(size(copy_b) == Int<Config::threads>{});                                         // threads that copy B
  CUTE_STATIC_ASSERT_V(size(mma) == Int<Config::threads>{});                                            // threads that compute C
  CUTE_STATIC_ASSERT_V(size<2>(sA_layout) == Int<Config::stages>{});                                    // PIPE
  CUTE_STATIC_ASSERT_V(size<2>(sB_layout) == Int<Config::stages>{});                                    // PIPE

  // This CTA's product of the batch, and its split of K
  auto const split = split_k(blockIdx.z, ceil_div(size<2>(shape_MNK), size<2>(cta_tiler)));
  prepare_counters(split_k, batch.first + split.l, split.number);  // no later: docs/perf/compiler-and-checks.md
  auto const to = batch.operands(batch.first + split.l);                                                // A, B, C

  // The tile of C
  auto shape_MN = select<0,1>(shape_MNK);

  auto cta_coord = make_coord(blockIdx.x, blockIdx.y, _);                                               // (m,n,k)
  Tensor cC = local_tile(make_identity_tensor(shape_MN), cta_tiler, cta_coord, Step<_1,_1, X>{});       // (BLK_M,BLK_N)

  // Shared memory
  extern __shared__ __align__(16) unsigned char shared_memory[];
  auto& shared = *reinterpret_cast<typename Config::SharedStorage*>(shared_memory);
  Tensor sA = make_tensor(make_smem_ptr(shared.a), sA_layout);                                          // (BLK_M,BLK_K,PIPE)
  Tensor sB = make_tensor(make_smem_ptr(shared.b), sB_layout);                                          // (BLK_N,BLK_K,PIPE)

  // Partition the copies: gmem -> smem. Where the elements of A and B are, GatheredOperands finds
  Tensor tAsA = copy_a.get_slice(threadIdx.x).partition_D(sA);                                          // (CPY,CPY_M,CPY_K,PIPE)
  Tensor tBsB = copy_b.get_slice(threadIdx.x).partition_D(sB);                                          // (CPY,CPY_N,CPY_K,PIPE)
  auto operands = gathered_operands<Config>(shared, dA, dB, cC(0,0), shape_MNK);

  auto load_tile = [&](int k_tile, int pipe) {                                                          // gmem -> smem, asynchronous
    operands.copy_a(k_tile, k_tile < split.end, tAsA(_,_,_,pipe));
    operands.copy_b(k_tile, k_tile < split.end, tBsB(_,_,_,pipe));
  };

  // Partition the math and its accumulators
  ThrMMA thr_mma = mma.get_slice(threadIdx.x);
  Tensor tCcC = thr_mma.partition_C(cC);                                                                // (MMA,MMA_M,MMA_N)
  Tensor tCrA = make_tensor<typename Config::TA>(partition_shape_A(mma, select<0,2>(cta_tiler)));       // (MMA,MMA_M,MMA_K)
  Tensor tCrB = make_tensor<typename Config::TB>(partition_shape_B(mma, select<1,2>(cta_tiler)));       // (MMA,MMA_N,MMA_K)
  Tensor tCrC = make_tensor<typename Config::TC>(shape(tCcC));                                          // (MMA,MMA_M,MMA_N)

  CUTE_STATIC_ASSERT_V(size<1>(tCrC) == size<1>(tCrA));                                                 // MMA_M
  CUTE_STATIC_ASSERT_V(size<2>(tCrC) == size<1>(tCrB));                                                 // MMA_N
  CUTE_STATIC_ASSERT_V(size<2>(tCrA) == size<2>(tCrB));                                                 // MMA_K

  // Partition the copies: smem -> registers
  auto read_a = make_tiled_copy_A(typename Config::ReadA{}, mma);
  auto thr_read_a = read_a.get_slice(threadIdx.x);
  Tensor tXsA = thr_read_a.partition_S(sA);                                                             // (CPY,MMA_M,MMA_K,PIPE)
  Tensor tXrA = thr_read_a.retile_D(tCrA);                                                              // (CPY,MMA_M,MMA_K)

  auto read_b = make_tiled_copy_B(typename Config::ReadB{}, mma);
  auto thr_read_b = read_b.get_slice(threadIdx.x);
  Tensor tXsB = thr_read_b.partition_S(sB);                                                             // (CPY,MMA_N,MMA_K,PIPE)
  Tensor tXrB = thr_read_b.retile_D(tCrB);                                                              // (CPY,MMA_N,MMA_K)

  auto read_k_block = [&](auto k_block, int pipe) {                                                     // smem -> registers
    copy(read_a, tXsA(_,_,k_block,pipe), tXrA(_,_,k_block));
    copy(read_b, tXsB(_,_,k_block,pipe), tXrB(_,_,k_block));
  };

  clear(tCrC);

  // Where the rows and the first steps of k are
  operands.begin(A + to.in[0], B + to.in[1], split.begin);

  __syncthreads();  // the offsets, found by all threads, become visible to all threads

  operands.read_rows();

  // Prologue: all stages but one on their way, the first k-block of the first tile in registers
  auto k_block_max = size<2>(tCrA);
  CUTE_STATIC_ASSERT_V(k_block_max > Int<1>{});

  CUTE_UNROLL
  for (int k_tile = 0; k_tile < Config::stages - 1; ++k_tile) {
    load_tile(split.begin + k_tile, k_tile);
    cp_async_fence();
  }

  int pipe_read  = 0;                    // the stage that is multiplied
  int pipe_write = Config::stages - 1;   // the stage that is filled

  if (split.begin < split.end) {
    cp_async_wait<Config::stages - 2>();  // this thread's part of the first tile has arrived
    __syncthreads();                      // the first tile, written by all threads, becomes visible to all threads

    read_k_block(Int<0>{}, pipe_read);
  }

  // Mainloop: while k-block k is multiplied, k-block k+1 is on its way from shared memory and stages - 1 tiles from global.
  // Every few tiles, the offsets of further steps of k are found
  int k_tile = split.begin;
  CUTE_NO_UNROLL
  while (k_tile < split.end) {
    int const stop = min(operands.advance(k_tile + Config::stages - 1) - (Config::stages - 1), split.end);
    CUTE_NO_UNROLL
    for (; k_tile < stop; ++k_tile) {
      for_each(make_int_sequence<decltype(k_block_max)::value>{}, [&](auto k_block) {
        if constexpr (k_block == k_block_max - Int<1>{}) {
          cp_async_wait<Config::stages - 2>();  // this thread's part of the next tile has arrived
          __syncthreads();                      // the next tile becomes visible to all threads, and all threads have read
                                                // this one before any thread refills its stage
          pipe_read = pipe_read == Config::stages - 1 ? 0 : pipe_read + 1;
        }

        read_k_block((k_block + Int<1>{}) % k_block_max, pipe_read);

        if constexpr (k_block == Int<0>{}) {
          load_tile(k_tile + Config::stages - 1, pipe_write);
          cp_async_fence();  // one group per tile, empty at the end, so that the waits count tiles
          pipe_write = pipe_write == Config::stages - 1 ? 0 : pipe_write + 1;
        }
        round_factors(tCrA(_,_,k_block));
        round_factors(tCrB(_,_,k_block));
        conjugate_factors(tCrA(_,_,k_block), dA.conjugate);
        conjugate_factors(tCrB(_,_,k_block), dB.conjugate);
        gemm(mma, tCrA(_,_,k_block), tCrB(_,_,k_block), tCrC);                                          // (MMA,MMA_M,MMA_N)
      });
    }
  }

  cp_async_wait<0>();  // this thread's part of the tiles beyond the last, which is zeros, has arrived, too

  // Sliced-K: the sums of the warps that share K are reduced, each thread's for a share of its results
  reduce_sliced_k<Config, sizeof(shared)>(tCrC, tCcC, shared_memory, [&](auto& sums, auto const& coords) {
    // Split-K: the last CTA to arrive goes on with the sums of all
    if (!reduce_global<Config::threads>(split_k, batch.first + split.l, split.number, size(sums), sums, shared_memory)) {
      return;
    }

    // Epilogue
    EpilogueOf<typename Config::TE> const product(epilogue, batch, split.l);
    constexpr int blk_m = size<0>(cta_tiler), blk_n = size<1>(cta_tiler);
    if constexpr (Config::residues) {
      store_residues<blk_m, blk_n, Config::threads, sizeof(shared)>(product, moduli(batch.first + split.l), sums, coords, cC(0,0),
                                                                    shape_MN, shared_memory);
    } else {
      store_fused<blk_m, blk_n, Config::threads, sizeof(shared)>(product, sums, coords, cC(0,0), shape_MN, shared_memory);
    }
  });
}

}  // namespace cute_py::kernels::cutlass_scheduled
