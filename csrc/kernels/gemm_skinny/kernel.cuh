// C(m,n,l) = alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l), or any other epilogue, for at most 16 columns
//
// After:     GEMV, which is bound by the bandwidth of DRAM: A is read once, from global memory straight to the registers
//            that the math reads, one step ahead. Threads share K as well as M (sliced-K): their partial sums are reduced in
//            shared memory at the end
// Reduce:    split-K through global memory, then the threads along K
// Write:     scattered, by the whole epilogue
// Requires:  any M, K >= 0, N <= Config::max_columns
// Numerics:  each thread sums its own steps of k ascending, by fused multiply-adds or by the tensor core in the Config's TC;
//            then the sums of the threads, in their order; bitwise repeatable
// Smem:      two tiles of B, later sums, dynamic
// Threads:   Config::threads, all of them copy, all of them compute
#pragma once

#include <cute/tensor.hpp>

#include "kernels/common/epilogue.cuh"
#include "kernels/common/modes.cuh"
#include "kernels/common/namespace.hpp"
#include "kernels/common/reduce_global.cuh"
#include "kernels/common/registers.cuh"

namespace cute_py::kernels::cutlass_scheduled {

template <class Config, class ProblemShape, class AStride, class BStride, class CStride>
static __global__ __launch_bounds__(Config::threads, Config::ctas_per_multiprocessor)
void gemm_skinny(ProblemShape shape_MNK,
                 typename Config::PointerA A, CUTE_GRID_CONSTANT AStride const dA,
                 typename Config::PointerB B, CUTE_GRID_CONSTANT BStride const dB,
                 typename Config::TC      *  , CStride   ,
                 Epilogue<typename Config::TE> const epilogue, Batch const batch, SplitK const split_k)
{
  using namespace cute;
  using T  = typename Config::TA;
  using TC = typename Config::TC;

  typename Config::TiledMma       mma;
  typename Config::FragmentA      fragment_a;                                                           // (MMA,MMA_M,MMA_K)
  typename Config::SmemStepsB     sB_layout;                                                            // (BLK_C,STEP_K,steps,blocks,PIPE)
  typename Config::SmemLayoutB    tB_layout;                                                            // (BLK_N,BLK_K,PIPE), the same
  typename Config::SmemLayoutSums sums_layout;                                                          // (BLK_M,BLK_C,threads_k)
  typename Config::BlkM           blk_m;
  typename Config::Columns        blk_c;                                                                // a block of columns
  typename Config::StepK          step_k;
  constexpr int vector = Config::vector;
  constexpr int rows   = Config::rows;
  constexpr int steps  = Config::steps;
  constexpr int steps_in_tile = size<2>(sB_layout);
  constexpr int blocks        = size<3>(sB_layout);

  // Preconditions
  CUTE_STATIC_ASSERT_V(rank(shape_MNK) == Int<3>{});                                                    // (M,N,K)
  CUTE_STATIC_ASSERT_V(size<0>(sB_layout) == blk_c);
  CUTE_STATIC_ASSERT_V(size<1>(sB_layout) == step_k);
  CUTE_STATIC_ASSERT_V(size(mma) == Int<Config::threads>{});                                            // threads that compute C
  CUTE_STATIC_ASSERT_V(size(fragment_a) == Int<vector * rows * steps>{});

  int const extent_m = get<0>(shape_MNK);
  int const extent_n = get<1>(shape_MNK);
  int const extent_k = get<2>(shape_MNK);

  // This CTA's product of the batch, and its split of K
  auto const split = split_k(blockIdx.z, ceil_div(extent_k, size<1>(tB_layout)));
  auto const to = batch.operands(batch.first + split.l);                                                // A, B, C
  T const* const a = A + to.in[0];
  T const* const b = B + to.in[1];

  // Shared memory
  extern __shared__ __align__(16) unsigned char shared_memory[];
  auto& shared = *reinterpret_cast<typename Config::SharedStorage*>(shared_memory);
  Tensor sB   = make_tensor(make_smem_ptr(shared.b), sB_layout);                                        // (BLK_C,STEP_K,steps,blocks,PIPE)
  Tensor sums = make_tensor(make_smem_ptr(shared.sums), sums_layout);                                   // (BLK_M,BLK_C,threads_k)

  // Partition the math and its accumulators. Of A and C there are only coordinates
  Tensor cA = local_tile(make_identity_tensor(select<0,2>(shape_MNK)), make_shape(blk_m, step_k),
                         make_coord(blockIdx.x, _));                                                    // (BLK_M,STEP_K,step)
  Tensor cC = local_tile(make_identity_tensor(select<0,1>(shape_MNK)), make_shape(blk_m, blk_c),
                         make_coord(blockIdx.x, 0));                                                    // (BLK_M,BLK_C)

  ThrMMA thr_mma = mma.get_slice(threadIdx.x);
  Tensor tCcA = thr_mma.partition_A(cA);                                                                // (MMA,MMA_M,MMA_K,step)
  Tensor tCcC = thr_mma.partition_C(cC);                                                                // (MMA,MMA_M,MMA_C)
  Tensor tCsB = thr_mma.partition_B(sB);                                                                // (MMA,MMA_C,MMA_K,steps,blocks,PIPE)
  Tensor tCrC = make_tensor<TC>(append(shape(tCcC), Int<blocks>{}));                                    // (MMA,MMA_M,MMA_C,blocks)
  CUTE_STATIC_ASSERT_V(size<1>(tCcA) == size<1>(fragment_a));                                           // MMA_M
  CUTE_STATIC_ASSERT_V(size<2>(tCcA) == size<2>(fragment_a));                                           // MMA_K

  // The thread's part of A comes in vectors, (V,rows,steps): element e of vector (i,j) of a step of the main loop
  auto coord_a = [&](int e, int i, int j, int step) {                                                   // -> (m,k)
    return tCcA(_,_,_,step)(right_inverse(fragment_a)(e + vector * (i + rows * j)));
  };

  T const* row[rows];                                                                                   // where vectors begin
  CUTE_UNROLL
  for (int i = 0; i < rows; ++i) {
    int const m = get<0>(coord_a(0, i, 0, 0));
    row[i] = a + dA.mn(m < extent_m ? m : 0).in[0];  // rows beyond the last read row 0; their results are not written
  }
  bool const one_mode = dA.k.rank <= 1;
  std::int64_t const stride_k = dA.k.rank == 1 ? dA.k.stride[0][0] : 0;

  auto load = [&](int step, auto& elements) {                                                           // gmem -> registers
    Tensor vectors = recast<uint128_t>(elements);                                                       // (rows*steps)
    if (dA.vectors && one_mode && (step + 1) * step_k <= extent_k) {
      CUTE_UNROLL
      for (int j = 0; j < steps; ++j) {
        std::int64_t const k = get<1>(coord_a(0, 0, j, step)) * stride_k;
        CUTE_UNROLL
        for (int i = 0; i < rows; ++i) vectors(i + rows * j) = *reinterpret_cast<uint128_t const*>(row[i] + k);
      }
    } else if (dA.vectors) {
      CUTE_UNROLL
      for (int j = 0; j < steps; ++j) {
        int const k = get<1>(coord_a(0, 0, j, step));
        std::int64_t const offset = k < extent_k ? dA.k(k).in[0] : 0;
        CUTE_UNROLL
        for (int i = 0; i < rows; ++i) {
          vectors(i + rows * j) = k < extent_k ? *reinterpret_cast<uint128_t const*>(row[i] + offset) : uint128_t{};
        }
      }
    } else {
      CUTE_UNROLL
      for (int e = 0; e < vector; ++e) {
        CUTE_UNROLL
        for (int j = 0; j < steps; ++j) {
          int const k = get<1>(coord_a(e, 0, j, step));
          std::int64_t const offset = k < extent_k ? dA.k(k).in[0] : 0;
          CUTE_UNROLL
          for (int i = 0; i < rows; ++i) {
            T const* at = row[i];
            if constexpr (!Config::along_k) {
              int const m = get<0>(coord_a(e, i, 0, step));
              at = a + dA.mn(m < extent_m ? m : 0).in[0];
            }
            elements(e + vector * (i + rows * j)) = k < extent_k ? at[offset] : T(0);
          }
        }
      }
    }
  };

  auto fill = [&](int tile) {                                                                           // gmem -> smem, a tile of B
    int const thread = thread_for_now();
    Tensor tile_b = make_tensor(make_smem_ptr(shared.b), tB_layout)(_,_,tile % 2);                      // (BLK_N,BLK_K)
    constexpr int tile_k = size<1>(tB_layout);
    if (dB.vectors) {
      constexpr int in_row = tile_k / vector;
      int const k = tile * tile_k + thread % in_row * vector;
      std::int64_t const offset = k < extent_k ? dB.k(k).in[0] : 0;
      CUTE_NO_UNROLL
      for (int n = thread / in_row; n < extent_n; n += Config::threads / in_row) {
        using AsyncOrZero = SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>;
        AsyncOrZero::copy(*reinterpret_cast<uint128_t const*>(b + dB.mn(n).in[0] + offset),
                          *reinterpret_cast<uint128_t*>(&tile_b(n, thread % in_row * vector)), k < extent_k);
      }
    } else {
      constexpr int in_flight = 8;                                                                      // loads before the first is stored
      int const columns = dB.k_major ? extent_n : int(size<0>(tB_layout));                              // contiguous along B's major
      auto const place = [&](int i) {
        return dB.k_major ? make_coord(i / tile_k, i % tile_k)
                          : make_coord(i % int(size<0>(tB_layout)), i / int(size<0>(tB_layout)));
      };
      CUTE_NO_UNROLL
      for (int first = thread; first < columns * tile_k; first += in_flight * Config::threads) {
        T loaded[in_flight];
        CUTE_UNROLL
        for (int i = 0; i < in_flight; ++i) {
          auto const [n, k] = place(first + i * Config::threads);
          int const at = tile * tile_k + k;
          bool const exists = n < extent_n && at < extent_k;
          loaded[i] = exists ? b[dB.mn(n).in[0] + dB.k(at).in[0]] : T(0);
        }
        CUTE_UNROLL
        for (int i = 0; i < in_flight; ++i) {
          auto const [n, k] = place(first + i * Config::threads);
          if (n < columns && k < tile_k) tile_b(n, k) = loaded[i];
        }
      }
    }
    cp_async_fence();
  };

  int const step_begin = split.begin * steps_in_tile;
  int const step_end = cute::min(split.end * steps_in_tile, int(size<3>(tCcA)));

  auto turn = [&](int step) {                                                                           // to the next tile of B
    if (step % steps_in_tile != 0) return;
    cp_async_wait<0>();  // this thread's part of the tile of B has arrived
    __syncthreads();     // the tile becomes visible to all threads, and all have read the one before it
    if (step + steps_in_tile < step_end) fill(step / steps_in_tile + 1);
  };

  auto multiply = [&](int step, auto const& elements) {
    int const in_tile = step % steps_in_tile;
    int const tile = step / steps_in_tile;
    if (!Config::turns_first) turn(step);
    Tensor tCrA = make_tensor<T>(shape(fragment_a));                                                    // (MMA,MMA_M,MMA_K)
    copy(make_tensor(elements.data(), fragment_a), tCrA);
    if (dA.conjugate) {
      transform(tCrA, [](T const& x) { return numeric::conjugate_if(true, x); });
    }
    auto const multiply_block = [&](int block) {
      Tensor tCrB = make_fragment_like(tCsB(_,_,_,0,0,0));                                              // (MMA,MMA_C,MMA_K)
      copy(tCsB(_,_,_,in_tile,block,tile % 2), tCrB);
      if (dB.conjugate) {
        transform(tCrB, [](T const& x) { return numeric::conjugate_if(true, x); });
      }
      gemm(mma, tCrA, tCrB, tCrC(_,_,_,block));                                                         // (MMA,MMA_M,MMA_C)
    };
    if (Config::reads_ahead && extent_n > (blocks - 1) * blk_c) {
      CUTE_UNROLL
      for (int block = 0; block < blocks; ++block) multiply_block(block);
    } else {
      CUTE_UNROLL
      for (int block = 0; block < blocks; ++block) {
        if (block * blk_c < extent_n) multiply_block(block);
      }
    }
  };

  clear(tCrC);

  // Mainloop: while a step is multiplied, the next one of A is on its way
  Tensor next    = make_tensor<T>(size(fragment_a));
  Tensor current = make_tensor<T>(size(fragment_a));
  bool is_loaded = false;
  fill(split.begin);
  prepare_counters(split_k, batch.first + split.l, split.number);  // meanwhile
  CUTE_NO_UNROLL
  for (int step = step_begin - 1; step < step_end; ++step) {
    copy(next, current);
    if (Config::turns_first && is_loaded) turn(step);
    load(step + 1, next);
    if (is_loaded) multiply(step, current);
    is_loaded = true;
  }

  // Split-K: the last CTA to arrive goes on with the sums of all
  auto const done = split_k(known_for_now(blockIdx.z), 0);
  int const used = size(tCcC) * ceil_div(extent_n, blk_c);
  if (!reduce_global<Config::threads>(split_k, batch.first + done.l, done.number, used, tCrC, shared_memory)) {
    return;
  }

  // Epilogue: the partial sums of the threads along k are reduced, a block of columns at a time
  EpilogueOf<typename Config::TE> const product(epilogue, batch, done.l);
  int const thread_k = get<3>(mma.get_thr_layout_vmnk().get_flat_coord(known_for_now(threadIdx.x)));
  int const first_m = blockIdx.x * blk_m;
  CUTE_UNROLL
  for (int block = 0; block < blocks; ++block) {
    if (block * blk_c < extent_n) {
      __syncthreads();  // all threads have read what was here before

      CUTE_UNROLL
      for (int i = 0; i < size(tCcC); ++i) {
        sums(get<0>(tCcC(i)) - first_m, get<1>(tCcC(i)), thread_k) = tCrC(_,_,_,block)(i);
      }

      __syncthreads();  // the sums, written by all threads, become visible to all threads

      CUTE_NO_UNROLL
      for (int i = threadIdx.x; i < blk_m * blk_c; i += Config::threads) {
        int const m = i % blk_m;
        int const c = i / blk_m;
        if (first_m + m < extent_m && block * blk_c + c < extent_n) {
          TC sum = sums(m, c, 0);
          CUTE_UNROLL
          for (int slice = 1; slice < size<2>(sums_layout); ++slice) sum = sum + sums(m, c, slice);
          product.finish(sum, epilogue.m(first_m + m), epilogue.n(block * blk_c + c));
        }
      }
    }
  }
}

}  // namespace cute_py::kernels::cutlass_scheduled
