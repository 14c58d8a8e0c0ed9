// C(m,n,l) = alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l), or any other epilogue
//
// After:     the fourth kernel of the CuTe tutorial: cp.async fills several shared-memory stages ahead of the math, and
//            smem -> registers runs one k-block ahead. Differs in predicated tails, in a Config, and in a TiledMMA whose
//            threads own contiguous elements, so that they read shared memory in 16-byte vectors
// Requires:  any M, N, K >= 0. Not nested: extents are multiples of the tile, unit strides as in the Config, 16-byte
//            aligned pointers and leading dimensions
// Numerics:  fp32 fused multiply-add, k ascending, one accumulator per element of C; or, where the TiledMMA has
//            several warps along K (sliced-K), one for each: these are added in the order of the warps, and splits of K in
//            their order; bitwise repeatable
// Reduce:    sliced-K in a CTA, split-K through global memory
// Write:     vectors out of registers; else staged through shared memory, in vectors or scattered
// Smem:      Config::stages tiles of A and of B, dynamic
// Threads:   Config::threads, all of them copy, all of them compute
#pragma once

#include <cute/tensor.hpp>

#include "kernels/common/gather.cuh"
#include "kernels/common/multiply_registers.cuh"
#include "kernels/common/namespace.hpp"
#include "kernels/common/reduce_global.cuh"
#include "kernels/common/reduce_sliced_k.cuh"
#include "kernels/common/write_staged.cuh"

namespace cute_py::kernels::cutlass_scheduled {

template <class Config, class ProblemShape, class AStride, class BStride, class CStride>
static __global__ __launch_bounds__(Config::threads, Config::ctas_per_multiprocessor)
void sgemm_sm80(ProblemShape shape_MNK,
                typename Config::PointerA A, AStride dA,
                typename Config::PointerB B, BStride dB,
                typename Config::TC      * C, CStride dC,
                Epilogue<typename Config::TE> const epilogue, Batch const batch, SplitK const split_k)
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
  CUTE_STATIC_ASSERT_V(congruent(select<0,1>(shape_MNK), dC));                                          // C strides for (M,N)
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
  auto const to = batch.operands(batch.first + split.l);                                                // A, B, C

  // Full and tiled tensors
  auto shape_MK = select<0,2>(shape_MNK);
  auto shape_NK = select<1,2>(shape_MNK);
  auto shape_MN = select<0,1>(shape_MNK);

  Tensor mA = operand_or_coordinates(A + to.in[0], shape_MK, dA);                                       // (M,K)
  Tensor mB = operand_or_coordinates(B + to.in[1], shape_NK, dB);                                       // (N,K)
  Tensor mC = make_tensor(make_gmem_ptr(C + to.in[2]), shape_MN, dC);                                   // (M,N)

  auto cta_coord = make_coord(blockIdx.x, blockIdx.y, _);                                               // (m,n,k)
  Tensor gA = local_tile(mA, cta_tiler, cta_coord, Step<_1, X,_1>{});                                   // (BLK_M,BLK_K,k)
  Tensor gB = local_tile(mB, cta_tiler, cta_coord, Step< X,_1,_1>{});                                   // (BLK_N,BLK_K,k)
  Tensor gC = local_tile(mC, cta_tiler, cta_coord, Step<_1,_1, X>{});                                   // (BLK_M,BLK_N)

  // The coordinate of each element of the tile of C
  Tensor cC = local_tile(make_identity_tensor(shape_MN), cta_tiler, cta_coord, Step<_1,_1, X>{});       // (BLK_M,BLK_N)

  // Shared memory
  extern __shared__ __align__(16) unsigned char shared_memory[];
  auto& shared = *reinterpret_cast<typename Config::SharedStorage*>(shared_memory);
  Tensor sA = make_tensor(make_smem_ptr(shared.a), sA_layout);                                          // (BLK_M,BLK_K,PIPE)
  Tensor sB = make_tensor(make_smem_ptr(shared.b), sB_layout);                                          // (BLK_N,BLK_K,PIPE)

  // Partition the copies: gmem -> smem
  ThrCopy thr_copy_a = copy_a.get_slice(threadIdx.x);
  Tensor tAgA = thr_copy_a.partition_S(gA);                                                             // (CPY,CPY_M,CPY_K,k)
  Tensor tAsA = thr_copy_a.partition_D(sA);                                                             // (CPY,CPY_M,CPY_K,PIPE)

  ThrCopy thr_copy_b = copy_b.get_slice(threadIdx.x);
  Tensor tBgB = thr_copy_b.partition_S(gB);                                                             // (CPY,CPY_N,CPY_K,k)
  Tensor tBsB = thr_copy_b.partition_D(sB);                                                             // (CPY,CPY_N,CPY_K,PIPE)

  CUTE_STATIC_ASSERT_V(size<1>(tAgA) == size<1>(tAsA));                                                 // CPY_M
  CUTE_STATIC_ASSERT_V(size<2>(tAgA) == size<2>(tAsA));                                                 // CPY_K
  CUTE_STATIC_ASSERT_V(size<1>(tBgB) == size<1>(tBsB));                                                 // CPY_N
  CUTE_STATIC_ASSERT_V(size<2>(tBgB) == size<2>(tBsB));                                                 // CPY_K

  // Of operands of any modes, where the elements are
  auto operands = [&] {
    if constexpr (Config::nested) {
      return gathered_operands<Config>(shared, dA, dB, cC(0,0), shape_MNK);
    } else {
      return nullptr;
    }
  }();

  auto load_tile = [&](int k_tile, int pipe) {                                                          // gmem -> smem, asynchronous
    if constexpr (Config::nested) {
      operands.copy_a(k_tile, k_tile < split.end, tAsA(_,_,_,pipe));
      operands.copy_b(k_tile, k_tile < split.end, tBsB(_,_,_,pipe));
    } else if (k_tile < split.end) {
      copy(copy_a, tAgA(_,_,_,k_tile), tAsA(_,_,_,pipe));
      copy(copy_b, tBgB(_,_,_,k_tile), tBsB(_,_,_,pipe));
    }
  };

  // Partition the math and its accumulators
  ThrMMA thr_mma = mma.get_slice(threadIdx.x);
  Tensor tCsA = thr_mma.partition_A(sA);                                                                // (MMA,MMA_M,MMA_K,PIPE)
  Tensor tCsB = thr_mma.partition_B(sB);                                                                // (MMA,MMA_N,MMA_K,PIPE)
  Tensor tCgC = thr_mma.partition_C(gC);                                                                // (MMA,MMA_M,MMA_N)
  Tensor tCcC = thr_mma.partition_C(cC);                                                                // (MMA,MMA_M,MMA_N)
  Tensor tCrA = thr_mma.make_fragment_A(tCsA(_,_,_,0));                                                 // (MMA,MMA_M,MMA_K)
  Tensor tCrB = thr_mma.make_fragment_B(tCsB(_,_,_,0));                                                 // (MMA,MMA_N,MMA_K)
  Tensor tCrC = thr_mma.make_fragment_C(tCgC);                                                          // (MMA,MMA_M,MMA_N)

  CUTE_STATIC_ASSERT_V(size<1>(tCgC) == size<1>(tCsA));                                                 // MMA_M
  CUTE_STATIC_ASSERT_V(size<2>(tCgC) == size<1>(tCsB));                                                 // MMA_N
  CUTE_STATIC_ASSERT_V(size<2>(tCsA) == size<2>(tCsB));                                                 // MMA_K

  clear(tCrC);

  if constexpr (Config::nested) {
    operands.begin(A + to.in[0], B + to.in[1], split.begin);

    __syncthreads();  // the offsets, found by all threads, become visible to all threads

    operands.read_rows();
  }

  // Prologue: all stages but one on their way, the first k-block of the first tile in registers
  auto k_block_max = size<2>(tCrA);
  CUTE_STATIC_ASSERT_V(k_block_max > Int<1>{});

  CUTE_UNROLL
  for (int k_tile = 0; k_tile < Config::stages - 1; ++k_tile) {
    load_tile(split.begin + k_tile, k_tile);
    cp_async_fence();
  }
  prepare_counters(split_k, batch.first + split.l, split.number);  // meanwhile

  int pipe_read  = 0;                    // the stage that is multiplied
  int pipe_write = Config::stages - 1;   // the stage that is filled

  if (split.begin < split.end) {
    cp_async_wait<Config::stages - 2>();  // this thread's part of the first tile has arrived
    __syncthreads();                      // the first tile, written by all threads, becomes visible to all threads

    copy(tCsA(_,_,0,pipe_read), tCrA(_,_,0));
    copy(tCsB(_,_,0,pipe_read), tCrB(_,_,0));
  }

  // Mainloop: while k-block k is multiplied, k-block k+1 is on its way from shared memory and stages - 1 tiles from global.
  // Of operands of any modes, the offsets of further steps of k are found every few tiles
  int k_tile = split.begin;
  CUTE_NO_UNROLL
  while (k_tile < split.end) {
    int stop = split.end;
    if constexpr (Config::nested) {
      stop = min(operands.advance(k_tile + Config::stages - 1) - (Config::stages - 1), stop);
    }
    CUTE_NO_UNROLL
    for (; k_tile < stop; ++k_tile) {
      CUTE_UNROLL
      for (int k_block = 0; k_block < k_block_max; ++k_block) {
        if (k_block == k_block_max - 1) {
          cp_async_wait<Config::stages - 2>();  // this thread's part of the next tile has arrived
          __syncthreads();                      // the next tile becomes visible to all threads, and all threads have read
                                                // this one before any thread refills its stage
          pipe_read = pipe_read == Config::stages - 1 ? 0 : pipe_read + 1;
        }

        int const k_block_next = (k_block + 1) % k_block_max;
        copy(tCsA(_,_,k_block_next,pipe_read), tCrA(_,_,k_block_next));
        copy(tCsB(_,_,k_block_next,pipe_read), tCrB(_,_,k_block_next));

        if (k_block == 0) {
          load_tile(k_tile + Config::stages - 1, pipe_write);
          cp_async_fence();  // one group per tile, empty at the end, so that the waits count tiles
          pipe_write = pipe_write == Config::stages - 1 ? 0 : pipe_write + 1;
        }
        multiply_registers(mma, tCrA(_,_,k_block), tCrB(_,_,k_block), tCrC);                            // (MMA,MMA_M,MMA_N)
      }
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
    if constexpr (Config::nested) {
      if (epilogue.in_place && epilogue.run > 1 && !epilogue.along_n) {
        store_rows<size<0>(cta_tiler), size<1>(cta_tiler), Config::threads>(
            EpilogueOf<typename Config::TE>(epilogue, to.in[2]), sums, coords, cC(0,0), shape_MN, shared_memory);
        return;
      }
    }
    store_tile<Config, true, sizeof(shared)>(epilogue, batch, split.l, sums, coords, tCgC, cC(0,0), shape_MN, shared_memory);
  });
}

}  // namespace cute_py::kernels::cutlass_scheduled
