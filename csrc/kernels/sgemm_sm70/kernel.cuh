// C(m,n,l) = alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l), or any other epilogue
//
// After:     the third kernel of the CuTe tutorial: two pipelines, gmem -> registers -> smem one tile ahead, and
//            smem -> registers one k-block ahead. Differs in predicated tails, in a Config, and in a TiledMMA whose threads
//            own contiguous elements, so that they read shared memory in 16-byte vectors
// Requires:  any M, N, K >= 0. Not predicated: extents are multiples of the tile, unit strides as in the Config, 16-byte
//            aligned pointers and leading dimensions
// Numerics:  fp32 fused multiply-add, k ascending, one accumulator per element of C; bitwise repeatable
// Smem:      one tile of A and one of B, dynamic
// Threads:   Config::threads, all of them copy, all of them compute
#pragma once

#include <cute/tensor.hpp>

#include "kernels/common/modes.cuh"
#include "kernels/common/namespace.hpp"
#include "kernels/common/predication.cuh"
#include "kernels/common/reduce_global.cuh"
#include "kernels/common/write_staged.cuh"

namespace cute_py::kernels::cutlass_scheduled {

template <class Config, class ProblemShape, class AStride, class BStride, class CStride>
static __global__ __launch_bounds__(Config::threads, Config::ctas_per_multiprocessor)
void sgemm_sm70(ProblemShape shape_MNK,
                typename Config::PointerA A, AStride dA,
                typename Config::PointerB B, BStride dB,
                typename Config::TC      * C, CStride dC,
                Epilogue<typename Config::TE> const epilogue, Batch const batch, SplitK const split_k)
{
  using namespace cute;

  typename Config::CtaTiler    cta_tiler;                                                               // (BLK_M,BLK_N,BLK_K)
  typename Config::SmemLayoutA sA_layout;                                                               // (BLK_M,BLK_K)
  typename Config::SmemLayoutB sB_layout;                                                               // (BLK_N,BLK_K)
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

  // This CTA's product of the batch, and its split of K
  auto const split = split_k(blockIdx.z, ceil_div(size<2>(shape_MNK), size<2>(cta_tiler)));
  auto const to = batch.operands(batch.first + split.l);                                                // A, B, C

  // Full and tiled tensors
  auto shape_MK = select<0,2>(shape_MNK);
  auto shape_NK = select<1,2>(shape_MNK);
  auto shape_MN = select<0,1>(shape_MNK);

  Tensor mA = operand_tensor(A + to.in[0], shape_MK, dA);                                                    // (M,K)
  Tensor mB = operand_tensor(B + to.in[1], shape_NK, dB);                                                    // (N,K)
  Tensor mC = make_tensor(make_gmem_ptr(C + to.in[2]), shape_MN, dC);                                        // (M,N)

  auto cta_coord = make_coord(blockIdx.x, blockIdx.y, _);                                               // (m,n,k)
  Tensor gA = local_tile(mA, cta_tiler, cta_coord, Step<_1, X,_1>{});                                   // (BLK_M,BLK_K,k)
  Tensor gB = local_tile(mB, cta_tiler, cta_coord, Step< X,_1,_1>{});                                   // (BLK_N,BLK_K,k)
  Tensor gC = local_tile(mC, cta_tiler, cta_coord, Step<_1,_1, X>{});                                   // (BLK_M,BLK_N)

  // The coordinate of each element of the tiles, for the predicates
  Tensor cA = local_tile(make_identity_tensor(shape_MK), cta_tiler, cta_coord, Step<_1, X,_1>{});       // (BLK_M,BLK_K,k)
  Tensor cB = local_tile(make_identity_tensor(shape_NK), cta_tiler, cta_coord, Step< X,_1,_1>{});       // (BLK_N,BLK_K,k)
  Tensor cC = local_tile(make_identity_tensor(shape_MN), cta_tiler, cta_coord, Step<_1,_1, X>{});       // (BLK_M,BLK_N)

  // Shared memory
  extern __shared__ __align__(16) unsigned char shared_memory[];
  auto& shared = *reinterpret_cast<typename Config::SharedStorage*>(shared_memory);
  Tensor sA = make_tensor(make_smem_ptr(shared.a), sA_layout);                                          // (BLK_M,BLK_K)
  Tensor sB = make_tensor(make_smem_ptr(shared.b), sB_layout);                                          // (BLK_N,BLK_K)

  // Partition the copies: gmem -> registers -> smem
  ThrCopy thr_copy_a = copy_a.get_slice(copying_thread<Config::threads>(dA, threadIdx.x));
  Tensor tAgA = thr_copy_a.partition_S(gA);                                                             // (CPY,CPY_M,CPY_K,k)
  Tensor tAcA = thr_copy_a.partition_S(cA);                                                             // (CPY,CPY_M,CPY_K,k)
  Tensor tAsA = thr_copy_a.partition_D(sA);                                                             // (CPY,CPY_M,CPY_K)
  Tensor tArA = make_tensor<typename Config::TA>(shape(tAsA));                                          // (CPY,CPY_M,CPY_K)

  ThrCopy thr_copy_b = copy_b.get_slice(copying_thread<Config::threads>(dB, threadIdx.x));
  Tensor tBgB = thr_copy_b.partition_S(gB);                                                             // (CPY,CPY_N,CPY_K,k)
  Tensor tBcB = thr_copy_b.partition_S(cB);                                                             // (CPY,CPY_N,CPY_K,k)
  Tensor tBsB = thr_copy_b.partition_D(sB);                                                             // (CPY,CPY_N,CPY_K)
  Tensor tBrB = make_tensor<typename Config::TB>(shape(tBsB));                                          // (CPY,CPY_N,CPY_K)

  CUTE_STATIC_ASSERT_V(size<1>(tAgA) == size<1>(tAsA));                                                 // CPY_M
  CUTE_STATIC_ASSERT_V(size<2>(tAgA) == size<2>(tAsA));                                                 // CPY_K
  CUTE_STATIC_ASSERT_V(size<1>(tBgB) == size<1>(tBsB));                                                 // CPY_N
  CUTE_STATIC_ASSERT_V(size<2>(tBgB) == size<2>(tBsB));                                                 // CPY_K

  auto load_tile = [&](int k_tile) {                                                                    // gmem -> registers
    if constexpr (Config::predicated) {
      copy_or_zero(tAgA(_,_,_,k_tile), tAcA(_,_,_,k_tile), shape_MK, tArA);
      copy_or_zero(tBgB(_,_,_,k_tile), tBcB(_,_,_,k_tile), shape_NK, tBrB);
    } else {
      copy(copy_a, tAgA(_,_,_,k_tile), tArA);
      copy(copy_b, tBgB(_,_,_,k_tile), tBrB);
    }
  };

  // Partition the math and its accumulators
  ThrMMA thr_mma = mma.get_slice(threadIdx.x);
  Tensor tCsA = thr_mma.partition_A(sA);                                                                // (MMA,MMA_M,MMA_K)
  Tensor tCsB = thr_mma.partition_B(sB);                                                                // (MMA,MMA_N,MMA_K)
  Tensor tCgC = thr_mma.partition_C(gC);                                                                // (MMA,MMA_M,MMA_N)
  Tensor tCcC = thr_mma.partition_C(cC);                                                                // (MMA,MMA_M,MMA_N)
  Tensor tCrA = thr_mma.make_fragment_A(tCsA);                                                          // (MMA,MMA_M,MMA_K)
  Tensor tCrB = thr_mma.make_fragment_B(tCsB);                                                          // (MMA,MMA_N,MMA_K)
  Tensor tCrC = thr_mma.make_fragment_C(tCgC);                                                          // (MMA,MMA_M,MMA_N)

  CUTE_STATIC_ASSERT_V(size<1>(tCgC) == size<1>(tCsA));                                                 // MMA_M
  CUTE_STATIC_ASSERT_V(size<2>(tCgC) == size<1>(tCsB));                                                 // MMA_N
  CUTE_STATIC_ASSERT_V(size<2>(tCsA) == size<2>(tCsB));                                                 // MMA_K

  clear(tCrC);

  // Prologue: the first tile in shared memory, its first k-block in registers
  auto k_block_max = size<2>(tCrA);
  CUTE_STATIC_ASSERT_V(k_block_max > Int<1>{});

  if (split.begin < split.end) {
    load_tile(split.begin);
    prepare_counters(split_k, batch.first + split.l, split.number);  // meanwhile
    copy(tArA, tAsA);
    copy(tBrB, tBsB);

    __syncthreads();  // the first tile, written by all threads, becomes visible to all threads

    copy(tCsA(_,_,0), tCrA(_,_,0));
    copy(tCsB(_,_,0), tCrB(_,_,0));
  }

  // Mainloop: while k-block k is multiplied, k-block k+1 is on its way from shared memory and tile k_tile+1 from global
  for (int k_tile = split.begin; k_tile < split.end; ++k_tile) {
    // The last tile is loaded once more rather than not: behind a branch, the loads would be scheduled after the math.
    int const k_tile_next = k_tile + 1 < split.end ? k_tile + 1 : k_tile;
    CUTE_UNROLL
    for (int k_block = 0; k_block < k_block_max; ++k_block) {
      if (k_block == k_block_max - 1) {
        __syncthreads();  // all threads have read the last k-block of this tile before any thread overwrites it

        copy(tArA, tAsA);
        copy(tBrB, tBsB);

        __syncthreads();  // the next tile, written by all threads, becomes visible to all threads
      }

      int const k_block_next = (k_block + 1) % k_block_max;
      copy(tCsA(_,_,k_block_next), tCrA(_,_,k_block_next));
      copy(tCsB(_,_,k_block_next), tCrB(_,_,k_block_next));

      if (k_block == 0) {
        load_tile(k_tile_next);
      }
      gemm(mma, tCrA(_,_,k_block), tCrB(_,_,k_block), tCrC);                                            // (MMA,MMA_M,MMA_N)
    }
  }

  // Split-K: the last CTA to arrive goes on with the sums of all
  if (!reduce_global<Config::threads>(split_k, batch.first + split.l, split.number, size(tCrC), tCrC, shared_memory)) {
    return;
  }

  // Epilogue
  store_tile<Config, true, sizeof(shared)>(epilogue, batch, split.l, tCrC, tCcC, tCgC, cC(0,0), shape_MN, shared_memory);
}

}  // namespace cute_py::kernels::cutlass_scheduled
