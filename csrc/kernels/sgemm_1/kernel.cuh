// C(m,n,l) = alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l), or any other epilogue
//
// After:     the first kernel of the CuTe tutorial, local_tile and local_partition and nothing else. Differs in
//            predicated tails, and in a Config instead of a dozen template arguments
// Requires:  any M, N, K >= 0. Not predicated: extents are multiples of the tile, unit strides as in the Config
// Numerics:  fp32 fused multiply-add, k ascending, one accumulator per element of C; bitwise repeatable
// Smem:      one tile of A and one of B, dynamic
// Threads:   Config::threads, all of them copy, all of them compute
#pragma once

#include <cute/tensor.hpp>

#include "kernels/common/modes.cuh"
#include "kernels/common/namespace.hpp"
#include "kernels/common/predication.cuh"
#include "kernels/common/write_staged.cuh"

namespace cute_py::kernels::cutlass_scheduled {

template <class Config, class ProblemShape, class AStride, class BStride, class CStride>
static __global__ __launch_bounds__(Config::threads, Config::ctas_per_multiprocessor)
void sgemm_1(ProblemShape shape_MNK,
             typename Config::PointerA A, AStride dA,
             typename Config::PointerB B, BStride dB,
             typename Config::TC      * C, CStride dC,
             Epilogue<typename Config::TE> const epilogue, Batch const batch)
{
  using namespace cute;

  typename Config::CtaTiler      cta_tiler;                                                             // (BLK_M,BLK_N,BLK_K)
  typename Config::SmemLayoutA   sA_layout;                                                             // (BLK_M,BLK_K)
  typename Config::SmemLayoutB   sB_layout;                                                             // (BLK_N,BLK_K)
  typename Config::ThreadLayoutA tA;                                                                    // (m,k) -> thread
  typename Config::ThreadLayoutB tB;                                                                    // (n,k) -> thread
  typename Config::ThreadLayoutC tC;                                                                    // (m,n) -> thread

  // Preconditions
  CUTE_STATIC_ASSERT_V(rank(shape_MNK) == Int<3>{});                                                    // (M,N,K)
  CUTE_STATIC_ASSERT_V(fits(select<0,2>(shape_MNK), dA));                                               // A strides for (M,K)
  CUTE_STATIC_ASSERT_V(fits(select<1,2>(shape_MNK), dB));                                               // B strides for (N,K)
  CUTE_STATIC_ASSERT_V(congruent(select<0,1>(shape_MNK), dC));                                          // C strides for (M,N)
  CUTE_STATIC_ASSERT_V(size<0>(sA_layout) == size<0>(cta_tiler));                                       // BLK_M
  CUTE_STATIC_ASSERT_V(size<1>(sA_layout) == size<2>(cta_tiler));                                       // BLK_K
  CUTE_STATIC_ASSERT_V(size<0>(sB_layout) == size<1>(cta_tiler));                                       // BLK_N
  CUTE_STATIC_ASSERT_V(size<1>(sB_layout) == size<2>(cta_tiler));                                       // BLK_K
  CUTE_STATIC_ASSERT_V(size(tA) == Int<Config::threads>{});                                             // threads that copy A
  CUTE_STATIC_ASSERT_V(size(tB) == Int<Config::threads>{});                                             // threads that copy B
  CUTE_STATIC_ASSERT_V(size(tC) == Int<Config::threads>{});                                             // threads that compute C
  CUTE_STATIC_ASSERT_V(size<0>(cta_tiler) % size<0>(tA) == Int<0>{});                                   // BLK_M / THR_M
  CUTE_STATIC_ASSERT_V(size<2>(cta_tiler) % size<1>(tA) == Int<0>{});                                   // BLK_K / THR_K
  CUTE_STATIC_ASSERT_V(size<1>(cta_tiler) % size<0>(tB) == Int<0>{});                                   // BLK_N / THR_N
  CUTE_STATIC_ASSERT_V(size<2>(cta_tiler) % size<1>(tB) == Int<0>{});                                   // BLK_K / THR_K
  CUTE_STATIC_ASSERT_V(size<0>(cta_tiler) % size<0>(tC) == Int<0>{});                                   // BLK_M / THR_M
  CUTE_STATIC_ASSERT_V(size<1>(cta_tiler) % size<1>(tC) == Int<0>{});                                   // BLK_N / THR_N

  // This CTA's product of the batch
  auto const to = batch.operands(batch.first + blockIdx.z);                                             // A, B, C

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

  // Partition the copies: each thread moves its own elements of every tile
  int const thread_a = copying_thread<Config::threads>(dA, threadIdx.x);
  int const thread_b = copying_thread<Config::threads>(dB, threadIdx.x);
  Tensor tAgA = local_partition(gA, tA, thread_a);                                                     // (THR_M,THR_K,k)
  Tensor tAcA = local_partition(cA, tA, thread_a);                                                     // (THR_M,THR_K,k)
  Tensor tAsA = local_partition(sA, tA, thread_a);                                                     // (THR_M,THR_K)
  Tensor tBgB = local_partition(gB, tB, thread_b);                                                     // (THR_N,THR_K,k)
  Tensor tBcB = local_partition(cB, tB, thread_b);                                                     // (THR_N,THR_K,k)
  Tensor tBsB = local_partition(sB, tB, thread_b);                                                     // (THR_N,THR_K)

  CUTE_STATIC_ASSERT_V(size<0>(tAgA) == size<0>(tAsA));                                                 // THR_M
  CUTE_STATIC_ASSERT_V(size<1>(tAgA) == size<1>(tAsA));                                                 // THR_K
  CUTE_STATIC_ASSERT_V(size<0>(tBgB) == size<0>(tBsB));                                                 // THR_N
  CUTE_STATIC_ASSERT_V(size<1>(tBgB) == size<1>(tBsB));                                                 // THR_K

  // Partition the math: rows of sA and sB by the rows and columns of tC, gC by both
  Tensor tCsA = local_partition(sA, tC, threadIdx.x, Step<_1, X>{});                                    // (THR_M,BLK_K)
  Tensor tCsB = local_partition(sB, tC, threadIdx.x, Step< X,_1>{});                                    // (THR_N,BLK_K)
  Tensor tCgC = local_partition(gC, tC, threadIdx.x, Step<_1,_1>{});                                    // (THR_M,THR_N)
  Tensor tCcC = local_partition(cC, tC, threadIdx.x, Step<_1,_1>{});                                    // (THR_M,THR_N)
  Tensor tCrC = make_tensor<typename Config::TC>(shape(tCgC));                                          // (THR_M,THR_N)

  CUTE_STATIC_ASSERT_V(size<0>(tCrC) == size<0>(tCsA));                                                 // THR_M
  CUTE_STATIC_ASSERT_V(size<1>(tCrC) == size<0>(tCsB));                                                 // THR_N
  CUTE_STATIC_ASSERT_V(size<1>(tCsA) == size<1>(tCsB));                                                 // BLK_K

  clear(tCrC);

  // Mainloop: copy one tile of A and B into shared memory, multiply, repeat
  int const k_tile_max = size<2>(tAgA);

  for (int k_tile = 0; k_tile < k_tile_max; ++k_tile) {
    if constexpr (Config::predicated) {
      copy_or_zero(tAgA(_,_,k_tile), tAcA(_,_,k_tile), shape_MK, tAsA);
      copy_or_zero(tBgB(_,_,k_tile), tBcB(_,_,k_tile), shape_NK, tBsB);
    } else {
      copy(tAgA(_,_,k_tile), tAsA);
      copy(tBgB(_,_,k_tile), tBsB);
    }

    __syncthreads();  // this tile, written by all threads, becomes visible to all threads

    gemm(tCsA, tCsB, tCrC);                                                                             // (THR_M,THR_N) += (THR_M,BLK_K) * (THR_N,BLK_K)

    __syncthreads();  // all threads have read this tile before any thread overwrites it
  }

  // Epilogue
  store_tile<Config, false, sizeof(shared)>(epilogue, batch, blockIdx.z, tCrC, tCcC, tCgC, cC(0,0), shape_MN, shared_memory);
}

}  // namespace cute_py::kernels::cutlass_scheduled
