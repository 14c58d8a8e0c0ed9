// C(m,n,l) = alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l), or any other epilogue
//
// After:     wgmma_sm90, with TMA loads: one thread starts those of A and B, whose bytes a transaction barrier counts as they
//            arrive (expect_tx); TMA swizzles, and fills with zeros what lies beyond the ends
// Requires:  any M, N, K >= 0; a unit stride along Config::along_a and along_b, other strides and pointers multiples of 16 bytes
// Numerics:  products exact, summed by the tensor core in float32, groups of k ascending; bitwise repeatable
// Smem:      Config::stages tiles of A and of B, and two mbarriers for each stage, dynamic
// Threads:   Config::threads, all of them compute, the first one copies
#pragma once

#include <cute/tensor.hpp>

#include <cutlass/arch/barrier.h>

#include "kernels/common/namespace.hpp"
#include "kernels/common/write_staged.cuh"
#include "problem/tensor_box.hpp"

namespace cute_py::kernels::cutlass_scheduled {

template <class Config>
static __global__ __launch_bounds__(Config::threads, Config::ctas_per_multiprocessor)
void wgmma_tma_sm90(typename Config::ProblemShape shape_MNK,
                    CUTE_GRID_CONSTANT TensorMap const map_a,
                    CUTE_GRID_CONSTANT TensorMap const map_b,
                    bool const repeats_a, bool const repeats_b,
                    Epilogue<typename Config::TE> const epilogue, Batch const batch)
{
  using namespace cute;
  using Full  = cutlass::arch::ClusterTransactionBarrier;
  using Empty = cutlass::arch::ClusterBarrier;

  typename Config::CtaTiler  cta_tiler;                                                                 // (BLK_M,BLK_N,BLK_K)
  typename Config::SwizzledA sA_layout;                                                                 // (BLK_M,BLK_K,PIPE)
  typename Config::SwizzledB sB_layout;                                                                 // (BLK_N,BLK_K,PIPE)
  typename Config::TiledMma  mma;
  constexpr int blk_m = size<0>(cta_tiler), blk_n = size<1>(cta_tiler), blk_k = size<2>(cta_tiler);

  // Preconditions
  CUTE_STATIC_ASSERT_V(size<0>(sA_layout) == size<0>(cta_tiler));                                       // BLK_M
  CUTE_STATIC_ASSERT_V(size<1>(sA_layout) == size<2>(cta_tiler));                                       // BLK_K
  CUTE_STATIC_ASSERT_V(size<0>(sB_layout) == size<1>(cta_tiler));                                       // BLK_N
  CUTE_STATIC_ASSERT_V(size<1>(sB_layout) == size<2>(cta_tiler));                                       // BLK_K
  CUTE_STATIC_ASSERT_V(size(mma) == Int<Config::threads>{});                                            // threads that compute C

  // The tile of C, as coordinates
  auto shape_MN = select<0,1>(shape_MNK);
  auto cta_coord = make_coord(blockIdx.x, blockIdx.y, _);                                               // (m,n,k)
  Tensor cC = local_tile(make_identity_tensor(shape_MN), cta_tiler, cta_coord, Step<_1,_1, X>{});       // (BLK_M,BLK_N)

  // Shared memory
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  auto& shared = *reinterpret_cast<typename Config::SharedStorage*>(shared_memory);
  Tensor sA = make_tensor(make_smem_ptr(shared.a), sA_layout);                                          // (BLK_M,BLK_K,PIPE)
  Tensor sB = make_tensor(make_smem_ptr(shared.b), sB_layout);                                          // (BLK_N,BLK_K,PIPE)

  // Copies: the first thread starts the loads of a tile, and says how many bytes will arrive (expect_tx)
  bool const copies  = threadIdx.x == 0;
  int  const k_tiles = ceil_div(size<2>(shape_MNK), blk_k);
  int  const product = batch.first + blockIdx.z;
  auto copy_boxes = [&](TensorMap const& map, auto along_k, auto rows, auto rows_of_box, int first, int k, int l, auto* tile,
                        std::uint64_t* full) {
    constexpr auto hint = static_cast<std::uint64_t>(TMA::CacheHintSm90::EVICT_NORMAL);
    CUTE_UNROLL
    for (int row = 0; row < rows; row += rows_of_box) {
      int const at = first + row;
      SM90_TMA_LOAD_3D::copy(&map, full, hint, tile + row * blk_k, along_k ? k : at, along_k ? at : k, l);
    }
  };
  auto load_tile = [&](int k_tile, int pipe) {                                                          // gmem -> smem, asynchronous
    std::uint64_t* const full = &shared.full[pipe];
    Full::arrive_and_expect_tx(full, Config::stage_bytes);
    copy_boxes(map_a, C<Config::along_a == Major::k>{}, Int<blk_m>{}, Int<Config::copy_rows_a>{}, blockIdx.x * blk_m,
               k_tile * blk_k, repeats_a ? 0 : product, shared.a + pipe * (blk_m * blk_k), full);
    copy_boxes(map_b, C<Config::along_b == Major::k>{}, Int<blk_n>{}, Int<Config::copy_rows_b>{}, blockIdx.y * blk_n,
               k_tile * blk_k, repeats_b ? 0 : product, shared.b + pipe * (blk_n * blk_k), full);
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

  // Prologue: a barrier for each stage and what may happen to it, then all stages on their way
  if (copies) {
    CUTE_UNROLL
    for (int pipe = 0; pipe < Config::stages; ++pipe) {
      Full::init(&shared.full[pipe], 1);                      // the thread that copies
      Empty::init(&shared.empty[pipe], Config::threads);      // those that multiply
    }
    cutlass::arch::fence_barrier_init();
  }
  __syncthreads();                 // the barriers become visible to all threads
  cudaGridDependencySynchronize(); // the kernels before have ended

  if (copies) {
    CUTE_UNROLL
    for (int k_tile = 0; k_tile < Config::stages; ++k_tile) {
      if (k_tile < k_tiles) load_tile(k_tile, k_tile);
    }
  }

  // Mainloop: a stage is refilled when all have multiplied what was there
  int pipe = 0;
  std::uint32_t phase = 0;  // its parity, of both barriers of the stage
  CUTE_NO_UNROLL
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    Full::wait(&shared.full[pipe], phase);  // the tile has arrived

    warpgroup_fence_operand(tCrC);
    warpgroup_arrive();
    gemm(mma, tCrA(_,_,_,pipe), tCrB(_,_,_,pipe), tCrC);                                                // (MMA,MMA_M,MMA_N)
    warpgroup_commit_batch();
    warpgroup_wait<0>();  // the sums are in registers
    warpgroup_fence_operand(tCrC);

    Empty::arrive(&shared.empty[pipe]);
    if (copies && k_tile + Config::stages < k_tiles) {
      Empty::wait(&shared.empty[pipe], phase);  // all have multiplied it
      load_tile(k_tile + Config::stages, pipe);
    }
    if (++pipe == Config::stages) {
      pipe = 0;
      phase ^= 1;
    }
  }

  // Epilogue
  store_fused<blk_m, blk_n, Config::threads, sizeof(shared)>(
      EpilogueOf<typename Config::TE>(epilogue, batch, blockIdx.z), tCrC, tCcC, cC(0,0), shape_MN, shared_memory);
}

}  // namespace cute_py::kernels::cutlass_scheduled
