// C(m,n,l) = alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l), or any other epilogue, for tall and skinny products
//
// After:     TSMM (tall-and-skinny matrix multiplication): M is large, N and K are small, and DRAM's bandwidth bounds it.
//            A tile of rows is cut out of M's modes so that its lines are contiguous in A, where it is read, and in D, where
//            it is written; what contracts and permutes at once is one pass through memory
// Reduce:    none
// Write:     through shared memory, by the whole epilogue
// Requires:  any M, N, K >= 0
// Numerics:  k ascending, one accumulator per element of C, fused multiply-adds; bitwise repeatable
// Smem:      a tile of B, and the sums of some columns, dynamic
// Threads:   Config::threads, all of them copy, all of them compute some rows of all columns
#pragma once

#include <cute/tensor.hpp>

#include "kernels/common/modes.cuh"
#include "kernels/common/multiply_registers.cuh"
#include "kernels/common/namespace.hpp"
#include "kernels/common/registers.cuh"
#include "kernels/common/write_vectors.cuh"
#include "kernels/gemm_tall/config.hpp"

namespace cute_py::kernels::cutlass_scheduled {

template <class Config, class ProblemShape, class AStride, class BStride, class CStride>
static __global__ __launch_bounds__(Config::threads, Config::ctas_per_multiprocessor)
void gemm_tall(CUTE_GRID_CONSTANT ProblemShape const shape,
               typename Config::PointerA A, CUTE_GRID_CONSTANT AStride const dA,
               typename Config::PointerB B, CUTE_GRID_CONSTANT BStride const dB,
               typename Config::TC      *  , CStride   ,
               CUTE_GRID_CONSTANT Epilogue<typename Config::TE> const epilogue, CUTE_GRID_CONSTANT Batch const batch)
{
  using namespace cute;
  using T  = typename Config::TA;
  using TC = typename Config::TC;
  using Offsets = typename ModeMap<4>::Offsets;
  constexpr int threads = Config::threads;
  constexpr int rows    = Config::rows_of_thread;
  constexpr int steps   = Config::steps;
  constexpr int blk_n   = Config::BlkN::value;
  constexpr int blk_k   = Config::BlkK::value;
  constexpr int chunk_n = Config::columns_at_once;

  // Preconditions
  typename Config::SmemLayoutB    sB_layout;                                                            // (BLK_N,BLK_K)
  typename Config::SmemLayoutSums sums_layout;                                                          // (place,CHUNK_N)
  CUTE_STATIC_ASSERT_V(size<0>(sB_layout) == Int<blk_n>{});
  CUTE_STATIC_ASSERT_V(size<1>(sB_layout) == Int<blk_k>{});
  static_assert(blk_k % steps == 0 && blk_n % chunk_n == 0 && threads % chunk_n == 0);

  // Shared memory
  extern __shared__ __align__(16) unsigned char shared_memory[];
  auto& shared = *reinterpret_cast<typename Config::SharedStorage*>(shared_memory);
  Tensor sB   = make_tensor(make_smem_ptr(shared.b), sB_layout);                                        // (BLK_N,BLK_K)
  Tensor sums = make_tensor(make_smem_ptr(shared.sums), sums_layout);                                   // (place,CHUNK_N)

  // This CTA's product of the batch, its columns, and its tile of rows
  auto const to = batch.operands(batch.first + blockIdx.z);                                             // A, B, C
  std::uint32_t rest = shape.column_blocks.divide(blockIdx.x);
  int const first_n = (blockIdx.x - rest * shape.column_blocks.divisor) * blk_n;
  int const columns = cute::min(shape.n - first_n, blk_n);
  T const* const b = B + to.in[1];
  T const* a = A + to.in[0];
  Offsets tile{};                                                                                       // in C, D, bias, residual
  CUTE_NO_UNROLL
  for (int i = 0; i < shape.rank; ++i) {
    auto const& mode = shape.mode[i];
    std::uint32_t const next = mode.tiles.divide(rest);
    int const begin = (rest - next * mode.tiles.divisor) * mode.part.divisor;
    a += begin * mode.stride_a;
    CUTE_UNROLL
    for (int x = 0; x < 4; ++x) tile.in[x] += begin * mode.stride[x];
    if (threadIdx.x == 0 && i < shape.tiled) shared.left[i] = mode.extent - begin;
    rest = next;
  }

  __syncthreads();  // the extents of the tile become visible to all threads

  // A row of the tile, counted as rows lie in A: is it inside M?
  auto row_of_a = [&](std::uint32_t index, std::int64_t& offset, int& place) {
    bool inside = index < std::uint32_t(shape.rows);
    offset = 0;
    place = 0;
    CUTE_NO_UNROLL
    for (int i = 0; i < shape.tiled; ++i) {
      auto const& mode = shape.mode[i];
      std::uint32_t const following = mode.part.divide(index);
      int const digit = index - following * mode.part.divisor;
      inside = inside && digit < shared.left[i];
      offset += digit * mode.stride_a;
      place += digit * mode.place;
      index = following;
    }
    return inside;
  };

  // The rows of this thread: those of adjacent threads are adjacent in A
  T const* row[rows];
  CUTE_UNROLL
  for (int r = 0; r < rows; ++r) {
    std::int64_t offset;
    int place;
    bool const inside = row_of_a(threadIdx.x + r * threads, offset, place);
    row[r] = a + (inside ? offset : 0);  // others read row 0; their sums are not written
  }

  auto load = [&](int k, T (&elements)[steps][rows]) {                                                  // gmem -> registers
    CUTE_UNROLL
    for (int s = 0; s < steps; ++s) {
      bool const is_step = k + s < shape.k;
      std::int64_t const offset = is_step ? dA.k.offset(k + s, 0) : 0;
      CUTE_UNROLL
      for (int r = 0; r < rows; ++r) elements[s][r] = is_step ? row[r][offset] : T(0);
    }
  };

  // The same, counted as rows lie in D
  auto row_of_d = [&](std::uint32_t index, Offsets& offsets, int& place) {
    bool inside = index < std::uint32_t(shape.rows);
    offsets = tile;
    place = 0;
    CUTE_NO_UNROLL
    for (int j = 0; j < shape.tiled; ++j) {
      int const i = shape.by_d[j];
      auto const& mode = shape.mode[i];
      std::uint32_t const following = mode.part.divide(index);
      int const digit = index - following * mode.part.divisor;
      inside = inside && digit < shared.left[i];
      CUTE_UNROLL
      for (int x = 0; x < 4; ++x) offsets.in[x] += digit * mode.stride[x];
      place += digit * mode.place;
      index = following;
    }
    return inside;
  };

  auto fill = [&](int first_k) {                                                                        // gmem -> smem, a tile of B
    CUTE_NO_UNROLL
    for (int i = threadIdx.x; i < blk_n * blk_k; i += threads) {
      int const n = i % blk_n;
      int const k = first_k + i / blk_n;
      bool const is_element = n < columns && k < shape.k;
      T const x = is_element ? b[dB.mn.offset(first_n + n, 0) + dB.k.offset(k, 0)] : T(0);
      sB(n, i / blk_n) = numeric::convert<TC>(numeric::conjugate_if(dB.conjugate, x));
    }
  };

  Tensor acc = make_tensor<TC>(Shape<_1,Int<rows>,Int<blk_n>>{});                                       // (MMA,MMA_M,MMA_N)
  clear(acc);

  // Mainloop: while some steps are multiplied, the next ones of A are on their way. Meanwhile, where rows and columns are in D
  T current[steps][rows];
  T next[steps][rows];
  load(0, next);
  CUTE_NO_UNROLL
  for (int m = threadIdx.x; m < shape.rows; m += threads) {
    Offsets offsets;
    int place;
    shared.row_of_d[m] = row_of_d(m, offsets, place) ? offsets.in[kEpilogueD] : Config::no_row;
    shared.place[m] = place;
  }
  if (threadIdx.x < columns) shared.column_of_d[threadIdx.x] = epilogue.n.offset(first_n + threadIdx.x, kEpilogueD);
  CUTE_NO_UNROLL
  for (int first_k = 0; first_k < shape.k; first_k += blk_k) {
    if (first_k > 0) {
      __syncthreads();  // all threads have read the tile of B
    }
    fill(first_k);
    __syncthreads();  // the tile of B becomes visible to all threads
    int const tile_k = cute::min(shape.k - first_k, blk_k);
    CUTE_NO_UNROLL
    for (int k = 0; k < tile_k; k += steps) {
      CUTE_UNROLL
      for (int s = 0; s < steps; ++s) {
        CUTE_UNROLL
        for (int r = 0; r < rows; ++r) current[s][r] = next[s][r];
      }
      load(first_k + k + steps, next);
      CUTE_UNROLL
      for (int s = 0; s < steps; ++s) {
        Tensor tCrA = make_tensor<TC>(Shape<_1,Int<rows>>{});                                           // (MMA,MMA_M)
        Tensor tCrB = make_tensor<TC>(Shape<_1,Int<blk_n>>{});                                          // (MMA,MMA_N)
        CUTE_UNROLL
        for (int r = 0; r < rows; ++r) {
          tCrA(0,r) = numeric::convert<TC>(numeric::conjugate_if(dA.conjugate, current[s][r]));
        }
        copy(AutoVectorizingCopyWithAssumedAlignment<128>{}, sB(_, k + s), tCrB(0,_));
        multiply_registers(MMA_Atom<UniversalFMA<TC>>{}, tCrA, tCrB, acc);
      }
    }
  }

  // Epilogue: some columns at a time, from the order of rows in A to that in D
  EpilogueOf<typename Config::TE> const product(epilogue, batch, blockIdx.z);
  bool const is_plain = epilogue.is_plain && epilogue.type[kEpilogueD] == numeric::kDTypeOf<T>;
  T* const d = static_cast<T*>(product.data[kEpilogueD]);

  CUTE_UNROLL
  for (int chunk = 0; chunk < blk_n; chunk += chunk_n) {
    if (chunk < columns) {
      if (chunk > 0) {
        __syncthreads();  // all threads have read the sums of the columns before
      }
      CUTE_UNROLL
      for (int r = 0; r < rows; ++r) {
        std::int64_t offset;
        int place;
        if (row_of_a(thread_for_now() + r * threads, offset, place)) {
          CUTE_UNROLL
          for (int c = 0; c < chunk_n; ++c) sums(place, c) = acc(0, r, chunk + c);
        }
      }
      __syncthreads();  // the sums become visible to all threads

      int const in_chunk = cute::min(columns - chunk, chunk_n);
      if (!is_plain) {
        CUTE_NO_UNROLL
        for (int i = threadIdx.x; i < shape.rows * chunk_n; i += threads) {
          int const m = shape.along_n ? i / chunk_n : i % shape.rows;
          int const c = shape.along_n ? i % chunk_n : i / shape.rows;
          Offsets offsets;
          int place;
          if (row_of_d(m, offsets, place) && c < in_chunk) {
            product.finish(sums(place, c), offsets, epilogue.n(first_n + chunk + c));
          }
        }
      } else if (!shape.along_n) {                                                                      // adjacent rows
        CUTE_NO_UNROLL
        for (int m = threadIdx.x; m < shape.rows; m += threads) {
          std::int64_t const offset = shared.row_of_d[m];
          if (offset == Config::no_row) continue;
          int const place = shared.place[m];
          CUTE_UNROLL
          for (int c = 0; c < chunk_n; ++c) {
            if (c < in_chunk) update<1>(epilogue, &sums(place, c), d + offset + shared.column_of_d[chunk + c]);
          }
        }
      } else {                                                                                          // adjacent columns
        constexpr int vector = cute::min(chunk_n, int(16 / sizeof(T)));
        int const count = shape.in_vectors ? vector : 1;
        int const of_row = chunk_n / count;
        int const c = threadIdx.x % of_row * count;
        CUTE_NO_UNROLL
        for (int m = threadIdx.x / of_row; m < shape.rows; m += threads / of_row) {
          std::int64_t const offset = shared.row_of_d[m];
          if (offset == Config::no_row || c >= in_chunk) continue;
          int const place = shared.place[m];
          T* const to = d + offset + shared.column_of_d[chunk + c];
          if (count == 1) {
            update<1>(epilogue, &sums(place, c), to);
          } else {
            AlignedArray<TC, vector> all;
            CUTE_UNROLL
            for (int i = 0; i < vector; ++i) all.x[i] = sums(place, c + i);
            update<vector>(epilogue, all, to);
          }
        }
      }
    }
  }
}

}  // namespace cute_py::kernels::cutlass_scheduled
