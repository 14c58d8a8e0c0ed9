// C(m,n,l) = alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l), or any other epilogue
//
// After:     sgemm_sm80, whose copies it keeps, with the warpgroups' tensor cores of SM90: they read A and B out of shared
//            memory by themselves, so that nothing goes to registers but sums
// Requires:  extents that are multiples of the tile, unit strides as in the Config, 16-byte aligned pointers and leading
//            dimensions
// Numerics:  products exact, summed by the tensor core in float32, groups of k ascending; bitwise repeatable
// Smem:      Config::stages tiles of A and of B, dynamic
// Threads:   Config::threads, all of them copy, all of them compute
#pragma once

#include <cute/tensor.hpp>

#include <cutlass/arch/barrier.h>

#include "kernels/common/namespace.hpp"
#include "kernels/common/write_staged.cuh"

namespace cute_py::kernels::cutlass_scheduled {

template <class Config>
static __global__ __launch_bounds__(Config::threads, Config::ctas_per_multiprocessor)
void wgmma_sm90(typename Config::ProblemShape shape_MNK,
                typename Config::PointerA A, typename Config::StrideA dA,
                typename Config::PointerB B, typename Config::StrideB dB,
                typename Config::TC      *, typename Config::StrideC,
                Epilogue<typename Config::TE> const epilogue, Batch const batch)
{
  using namespace cute;

  typename Config::CtaTiler   cta_tiler;                                                                // (BLK_M,BLK_N,BLK_K)
  typename Config::SwizzledA  sA_layout;                                                                // (BLK_M,BLK_K,PIPE)
  typename Config::SwizzledB  sB_layout;                                                                // (BLK_N,BLK_K,PIPE)
  typename Config::TiledCopyA copy_a;
  typename Config::TiledCopyB copy_b;
  typename Config::TiledMma   mma;

  // Preconditions
  CUTE_STATIC_ASSERT_V(congruent(select<0,2>(shape_MNK), dA));                                          // A strides for (M,K)
  CUTE_STATIC_ASSERT_V(congruent(select<1,2>(shape_MNK), dB));                                          // B strides for (N,K)
  CUTE_STATIC_ASSERT_V(size<0>(sA_layout) == size<0>(cta_tiler));                                       // BLK_M
  CUTE_STATIC_ASSERT_V(size<1>(sA_layout) == size<2>(cta_tiler));                                       // BLK_K
  CUTE_STATIC_ASSERT_V(size<0>(sB_layout) == size<1>(cta_tiler));                                       // BLK_N
  CUTE_STATIC_ASSERT_V(size<1>(sB_layout) == size<2>(cta_tiler));                                       // BLK_K
  CUTE_STATIC_ASSERT_V(size(copy_a) == Int<Config::threads>{});                                         // threads that copy A
  CUTE_STATIC_ASSERT_V(size(copy_b) == Int<Config::threads>{});                                         // threads that copy B
  CUTE_STATIC_ASSERT_V(size(mma) == Int<Config::threads>{});                                            // threads that compute C

  // Full and tiled tensors
  auto const to = batch.operands(batch.first + blockIdx.z);                                             // A, B, C
  auto shape_MN = select<0,1>(shape_MNK);
  Tensor mA = make_tensor(make_gmem_ptr(A + to.in[0]), select<0,2>(shape_MNK), dA);                     // (M,K)
  Tensor mB = make_tensor(make_gmem_ptr(B + to.in[1]), select<1,2>(shape_MNK), dB);                     // (N,K)

  auto cta_coord = make_coord(blockIdx.x, blockIdx.y, _);                                               // (m,n,k)
  Tensor gA = local_tile(mA, cta_tiler, cta_coord, Step<_1, X,_1>{});                                   // (BLK_M,BLK_K,k)
  Tensor gB = local_tile(mB, cta_tiler, cta_coord, Step< X,_1,_1>{});                                   // (BLK_N,BLK_K,k)
  Tensor cC = local_tile(make_identity_tensor(shape_MN), cta_tiler, cta_coord, Step<_1,_1, X>{});       // (BLK_M,BLK_N)

  // Shared memory
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  auto& shared = *reinterpret_cast<typename Config::SharedStorage*>(shared_memory);
  Tensor sA = make_tensor(make_smem_ptr(shared.a), sA_layout);                                          // (BLK_M,BLK_K,PIPE)
  Tensor sB = make_tensor(make_smem_ptr(shared.b), sB_layout);                                          // (BLK_N,BLK_K,PIPE)

  // Partition the copies: gmem -> smem
  ThrCopy thr_copy_a = copy_a.get_slice(threadIdx.x);
  Tensor tAgA = thr_copy_a.partition_S(gA);                                                             // (CPY,CPY_M,CPY_K,k)
  Tensor tAsA = thr_copy_a.partition_D(as_position_independent_swizzle_tensor(sA));                     // (CPY,CPY_M,CPY_K,PIPE)

  ThrCopy thr_copy_b = copy_b.get_slice(threadIdx.x);
  Tensor tBgB = thr_copy_b.partition_S(gB);                                                             // (CPY,CPY_N,CPY_K,k)
  Tensor tBsB = thr_copy_b.partition_D(as_position_independent_swizzle_tensor(sB));                     // (CPY,CPY_N,CPY_K,PIPE)

  int const k_tiles = size<3>(tAgA);
  auto load_tile = [&](int k_tile, int pipe) {                                                          // gmem -> smem, asynchronous
    if (k_tile < k_tiles) {
      copy(copy_a, tAgA(_,_,_,k_tile), tAsA(_,_,_,pipe));
      copy(copy_b, tBgB(_,_,_,k_tile), tBsB(_,_,_,pipe));
    }
  };

  // Partition the math: fragments of A and B are descriptors of where they lie in shared memory
  ThrMMA thr_mma = mma.get_slice(threadIdx.x);
  Tensor tCsA = thr_mma.partition_A(sA);                                                                // (MMA,MMA_M,MMA_K,PIPE)
  Tensor tCsB = thr_mma.partition_B(sB);                                                                // (MMA,MMA_N,MMA_K,PIPE)
  Tensor tCcC = thr_mma.partition_C(cC);                                                                // (MMA,MMA_M,MMA_N)
  Tensor tCrA = thr_mma.make_fragment_A(tCsA);                                                          // (MMA,MMA_M,MMA_K,PIPE)
  Tensor tCrB = thr_mma.make_fragment_B(tCsB);                                                          // (MMA,MMA_N,MMA_K,PIPE)
  Tensor tCrC = partition_fragment_C(mma, select<0,1>(cta_tiler));                                      // (MMA,MMA_M,MMA_N)

  CUTE_STATIC_ASSERT_V(size<1>(tCrC) == size<1>(tCrA));                                                 // MMA_M
  CUTE_STATIC_ASSERT_V(size<2>(tCrC) == size<1>(tCrB));                                                 // MMA_N
  CUTE_STATIC_ASSERT_V(size<2>(tCrA) == size<2>(tCrB));                                                 // MMA_K

  clear(tCrC);

  // Prologue: all stages but one on their way
  CUTE_UNROLL
  for (int k_tile = 0; k_tile < Config::stages - 1; ++k_tile) {
    load_tile(k_tile, k_tile);
    cp_async_fence();
  }

  int pipe_read  = 0;                   // the stage that is multiplied
  int pipe_write = Config::stages - 1;  // the stage that is filled

  // Mainloop: while one tile is multiplied, stages - 1 are on their way
  CUTE_NO_UNROLL
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    cp_async_wait<Config::stages - 2>();       // this thread's part of the tile has arrived
    cutlass::arch::fence_view_async_shared();  // and is seen by the tensor cores, which do not read as threads do
    __syncthreads();                           // the tile becomes visible to all, and all have multiplied the one before, whose
                                               // stage is refilled now
    load_tile(k_tile + Config::stages - 1, pipe_write);
    cp_async_fence();  // one group per tile, empty at the end, so that the waits count tiles

    warpgroup_fence_operand(tCrC);
    warpgroup_arrive();
    gemm(mma, tCrA(_,_,_,pipe_read), tCrB(_,_,_,pipe_read), tCrC);                                      // (MMA,MMA_M,MMA_N)
    warpgroup_commit_batch();
    warpgroup_wait<0>();  // the sums are in registers
    warpgroup_fence_operand(tCrC);

    pipe_read  = pipe_read == Config::stages - 1 ? 0 : pipe_read + 1;
    pipe_write = pipe_write == Config::stages - 1 ? 0 : pipe_write + 1;
  }

  // Epilogue
  store_fused<size<0>(cta_tiler), size<1>(cta_tiler), Config::threads, sizeof(shared)>(
      EpilogueOf<typename Config::TE>(epilogue, batch, blockIdx.z), tCrC, tCcC, cC(0,0), shape_MN, shared_memory);
}

}  // namespace cute_py::kernels::cutlass_scheduled
