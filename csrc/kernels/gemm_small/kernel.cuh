// C(m,n,l) = alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l), or any other epilogue, for many small products
//
// After:     what limits such products: bytes, and the instructions that compute addresses. A CTA takes batches of
//            products, as many as fill its shared memory, so that 61 of 8x8 and one of 64x64 are nearly the same work, copies
//            them as they lie, and computes one batch while the next is on its way
// Requires:  M, N <= 64, any K >= 0; one mode in each of M, N and K
// Numerics:  k ascending, one accumulator per element of C: fused multiply-adds, or groups of 8 steps by the tensor core;
//            bitwise repeatable
// Smem:      two stages, each some steps of k of both operands of a batch of products, dynamic
// Threads:   Config::threads, all of them copy; each computes a block of results, or each warp some
#pragma once

#include <cute/tensor.hpp>

#include "kernels/common/epilogue.cuh"
#include "kernels/common/modes.cuh"
#include "kernels/common/namespace.hpp"
#include "kernels/common/aligned_array.hpp"

namespace cute_py::kernels::cutlass_scheduled {

// One operand (MN,K) of the products of a CTA.
template <class Config>
struct SmallTile {
  using T = typename Config::TA;
  static constexpr int vector = Config::vector;
  using Vector = AlignedArray<T, vector>;
  using Async = cute::SM80_CP_ASYNC_CACHEGLOBAL<cute::uint128_t>;
  using AsyncOrZero = cute::SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<cute::uint128_t>;

  SmallOperand const& operand;
  T const* global;
  std::int64_t stride_mn;
  std::int64_t stride_k;
  std::int64_t const* product;  // where each is in global memory
  Vector* shared;
  int extent_mn;
  int extent_k;

  CUTE_DEVICE int inner() const { return static_cast<int>(operand.inner.divisor); }
  CUTE_DEVICE int lines() const { return static_cast<int>(operand.lines.divisor); }

  // Starts to copy steps of k from first_k on, of `count` products. Steps beyond K are filled with 0.
  CUTE_DEVICE void copy(int first_k, int count) const
  {
    using cute::uint128_t;
    int const vectors = count * lines() * inner();
    auto const to = [&](int i, int line) -> Vector& { return shared[i + (line >> operand.pad)]; };
    if (operand.packed) {
      auto const* const from = reinterpret_cast<uint128_t const*>(global + product[0]);
#ifdef __CUDACC__
#pragma unroll 4
#endif
      for (int i = threadIdx.x; i < vectors; i += Config::threads) {
        Async::copy(from[i], reinterpret_cast<uint128_t&>(to(i, operand.inner.divide(i))));
      }
      return;
    }
    CUTE_NO_UNROLL
    for (int i = threadIdx.x; i < vectors; i += Config::threads) {
      int const line_of_all = operand.inner.divide(i);
      int const along = (i - line_of_all * inner()) * vector;
      int const number = operand.lines.divide(line_of_all);
      int const line = line_of_all - number * lines();
      int const mn = operand.k_major ? line : along;
      int const k = first_k + (operand.k_major ? along : line);
      T const* const from = global + product[number];
      if (operand.vectors) {
        auto const offset = k < extent_k ? mn * stride_mn + k * stride_k : 0;
        AsyncOrZero::copy(*reinterpret_cast<uint128_t const*>(from + offset),
                          reinterpret_cast<uint128_t&>(to(i, line_of_all)), k < extent_k);
      } else {
        Vector elements;
        CUTE_UNROLL
        for (int e = 0; e < vector; ++e) {
          int const mn_e = mn + (operand.k_major ? 0 : e);
          int const k_e = k + (operand.k_major ? e : 0);
          bool const exists = mn_e < extent_mn && k_e < extent_k;
          elements.x[e] = exists ? from[mn_e * stride_mn + k_e * stride_k] : T(0);
        }
        to(i, line_of_all) = elements;
      }
    }
  }

  // The offsets, in bytes, of V steps of k of four rows, for scalar multiply-adds: four rows of V steps each, or, if lines
  // are steps, V steps of one or more groups of rows. Rows beyond the last are clamped.
  static constexpr int group  = Config::group;
  static constexpr int groups = 4 / group;
  struct Patch {
    int begin[cute::max(4, vector * groups)];
  };

  CUTE_DEVICE Patch patch(int number, int block, int blocks) const
  {
    Patch patch;
    int const line = number * lines();
    if (operand.k_major) {
      CUTE_UNROLL
      for (int i = 0; i < 4; ++i) {
        int const row = (block + i / group * blocks) * group + i % group;
        patch.begin[i] = 16 * operand.begin(line + cute::min(row, extent_mn - 1));
      }
    } else {
      CUTE_UNROLL
      for (int i = 0; i < vector * groups; ++i) {
        int const row = (block + i % groups * blocks) * group;
        patch.begin[i] = 16 * operand.begin(line + i / groups) + cute::min(row, inner() * vector - group) * int(sizeof(T));
      }
    }
    return patch;
  }

  // Element (row,k) of a patch in registers.
  template <bool k_major>
  CUTE_DEVICE static constexpr int element(int row, int k)
  {
    return k_major ? row * vector + k : k * 4 + row;
  }

  // Reads a patch, and goes on to the next steps of k.
  template <bool k_major, class S>
  CUTE_DEVICE void read(Patch& patch, S (&x)[4 * vector]) const
  {
    constexpr int length = k_major ? vector : group;
    CUTE_UNROLL
    for (int i = 0; i < 4 * vector / length; ++i) {
      auto const values = *reinterpret_cast<AlignedArray<T, length> const*>(reinterpret_cast<char const*>(shared) + patch.begin[i]);
      patch.begin[i] += k_major ? 16 : operand.advance;
      CUTE_UNROLL
      for (int e = 0; e < length; ++e) x[i * length + e] = numeric::convert<S>(values.x[e]);
    }
    if (operand.conjugate) {
      CUTE_UNROLL
      for (int i = 0; i < 4 * vector; ++i) x[i] = numeric::conjugate_if(true, x[i]);
    }
  }

  // The row of matrices of 8x8 that this lane gives to ldmatrix for 8 * N rows and 8 steps of k, in bytes.
  template <int N>
  CUTE_DEVICE int matrices(int number, int row) const
  {
    int const lane = threadIdx.x % (8 * N);
    return 16 * (operand.k_major
                     ? operand.begin(number * lines() + cute::min(row + lane, extent_mn - 1))
                     : operand.begin(number * lines() + lane % 8) + cute::min(row / vector + lane / 8, inner() - 1));
  }

  // Reads them, and goes on to the next steps of k.
  template <int N, bool k_major, class Fragment>
  CUTE_DEVICE void read_matrices(int& row_of_matrix, Fragment&& fragment) const
  {
    using namespace cute;
    using Plain = conditional_t<N == 2, SM75_U32x2_LDSM_N, SM75_U32x4_LDSM_N>;
    using Transposed = conditional_t<N == 2, SM75_U16x4_LDSM_T, SM75_U16x8_LDSM_T>;
    using Read = conditional_t<k_major, Plain, Transposed>;
    auto* const row = reinterpret_cast<T*>(reinterpret_cast<char*>(shared) + row_of_matrix);
    cute::copy(Copy_Atom<Read, T>{}, make_tensor(make_smem_ptr(row), Int<vector>{}), fragment);
    row_of_matrix += k_major ? 16 : operand.advance;
  }
};

// Calls work(a, b) with the two values as types.
template <class Work>
CUTE_DEVICE void with_bools(bool a, bool b, Work const& work)
{
  using cute::false_type;
  using cute::true_type;
  if (a) {
    b ? work(true_type{}, true_type{}) : work(true_type{}, false_type{});
  } else {
    b ? work(false_type{}, true_type{}) : work(false_type{}, false_type{});
  }
}

// Writes results of one product. sums (N,places): N contiguous rows of a column each; place(j) -> (m,n) is where the first
// of number j is, and may be outside.
template <class Config, class CStride, class Sums, class Place>
CUTE_DEVICE void store_small(EpilogueOf<typename Config::TE> const& product, CStride const& dC,
                             SmallShape const& shape, Sums const& sums, Place const& place)
{
  using TE = typename Config::TE;
  constexpr int N = decltype(cute::size<0>(sums))::value;
  constexpr int places = decltype(cute::size<1>(sums))::value;
  auto const& e = product.e;
  if (!e.is_plain || !shape.rows_in_fours) {
    auto indexed = cute::make_tensor<TE>(cute::shape(sums));  // in local memory, so that the code for an element is there once
    CUTE_UNROLL
    for (int i = 0; i < cute::size(sums); ++i) indexed(i) = numeric::convert<TE>(sums(i));
    CUTE_NO_UNROLL
    for (int i = 0; i < cute::size(sums); ++i) {
      auto const [m, n] = place(i / N);
      if (m + i % N < shape.m && n < shape.n) product.finish(indexed(i), e.m(m + i % N), e.n(n));
    }
    return;
  }
  numeric::with_type<numeric::kWritableFrom<TE>>(e.type[kEpilogueD], [&](auto const& sample) {
    using D = std::decay_t<decltype(sample)>;
    auto const [m_0, n_0] = place(0);
    D* const origin = static_cast<D*>(product.data[kEpilogueD]) + m_0 + n_0 * cute::get<1>(dC);
    CUTE_UNROLL
    for (int j = 0; j < places; ++j) {
      auto const [m, n] = place(j);
      if (n < shape.n && m < shape.m) {
        auto& target = *reinterpret_cast<AlignedArray<D, N>*>(origin + (m - m_0) + (n - n_0) * cute::get<1>(dC));
        AlignedArray<D, N> values{};
        if (e.reads_c) values = target;
        CUTE_UNROLL
        for (int i = 0; i < N; ++i) {
          TE const sum = numeric::convert<TE>(sums(i, j));
          TE const x = e.reads_c ? numeric::axpby<TE>(e.alpha, sum, e.beta, numeric::convert<TE>(values.x[i]))
                                 : numeric::times<TE>(e.alpha, sum);
          values.x[i] = numeric::narrow<D>(x, false);
        }
        target = values;
      }
    }
  });
}

template <class Config, class ProblemShape, class AStride, class BStride, class CStride>
static __global__ __launch_bounds__(Config::threads, Config::ctas_per_multiprocessor)
void gemm_small(ProblemShape shape,
                typename Config::PointerA A, AStride dA,
                typename Config::PointerB B, BStride dB,
                typename Config::TC      *  , CStride dC,
                Epilogue<typename Config::TE> const epilogue, Batch const batch)
{
  using namespace cute;
  using T  = typename Config::TA;
  using TC = typename Config::TC;
  using Tile = SmallTile<Config>;
  constexpr int vector = Config::vector;

  // The products of this CTA, in batches; of each batch, chunks of K: the steps of a pipeline
  int const first_of_cta = blockIdx.x * shape.together * shape.batches;
  int const products     = min(shape.together * shape.batches, shape.products - first_of_cta);
  int const chunks       = shape.chunks.divisor;
  int const steps        = (products + shape.together - 1) / shape.together * chunks;
  auto const batch_of = [&](int step) { return int(shape.chunks.divide(step)); };
  auto const count_of = [&](int number) { return min(shape.together, products - number * shape.together); };

  // Shared memory
  extern __shared__ __align__(16) unsigned char shared_memory[];
  auto& shared = *reinterpret_cast<typename Config::SharedStorage*>(shared_memory);

  auto const find_products = [&](int number) {                                                          // of a batch
    for (int i = threadIdx.x; i < count_of(number); i += Config::threads) {
      auto const to = batch.operands(first_of_cta + number * shape.together + i);                       // A, B, C
      shared.product_a[number % 2][i] = to.in[0];
      shared.product_b[number % 2][i] = to.in[1];
    }
  };
  auto const tile_a = [&](int step) {
    return Tile{shape.a, A, get<0>(dA), get<1>(dA), shared.product_a[batch_of(step) % 2],
                reinterpret_cast<typename Tile::Vector*>(shared.a[step % 2]), shape.m, shape.k};
  };
  auto const tile_b = [&](int step) {
    return Tile{shape.b, B, get<0>(dB), get<1>(dB), shared.product_b[batch_of(step) % 2],
                reinterpret_cast<typename Tile::Vector*>(shared.b[step % 2]), shape.n, shape.k};
  };
  auto const copy_step = [&](int step) {
    int const number  = batch_of(step);
    int const first_k = (step - number * chunks) * shape.chunk_k;
    tile_a(step).copy(first_k, count_of(number));
    tile_b(step).copy(first_k, count_of(number));
    cp_async_fence();
  };

  // A block of results: its product, and which it is along m and along n
  struct Block {
    int number;
    int m;
    int n;
  };
  auto const block_of = [&](int i) {
    int const number = shape.blocks.divide(i);
    int const block  = i - number * shape.blocks.divisor;
    int const n      = shape.blocks_m.divide(block);
    return Block{number, block - n * int(shape.blocks_m.divisor), n};
  };
  bool const needs_only_d = epilogue.is_plain && shape.rows_in_fours;
  auto const product_of = [&](int step, int number) {                                                   // for the epilogue
    using Product = EpilogueOf<typename Config::TE>;
    int const i = first_of_cta + batch_of(step) * shape.together + number;
    return needs_only_d ? Product(epilogue, batch.operands(i).in[2]) : Product(epilogue, batch, i);
  };

  // Calls work(step) for every step, while the next is on its way
  auto const for_each_step = [&](auto const& work) {
    find_products(0);
    if (chunks == 1 && steps > 1) find_products(1);
    __syncthreads();  // where the first products are, found by all threads, becomes visible to all threads
    copy_step(0);
    CUTE_NO_UNROLL
    for (int step = 0; step < steps; ++step) {
      cp_async_wait<0>();  // this thread's part of the step has arrived
      __syncthreads();     // the step becomes visible to all threads, and all have computed the one before it
      if (step + 1 < steps) copy_step(step + 1);
      if (step + 2 < steps && (step + 2) == batch_of(step + 2) * chunks) find_products(batch_of(step + 2));
      work(step);
    }
  };

  auto const is_last_chunk = [&](int step) { return (step + 1) == (batch_of(step) + 1) * chunks; };

  auto const by_threads = [&] {
    constexpr int group  = Config::group;
    constexpr int groups = 4 / group;
    Block const block = block_of(threadIdx.x);
    int const blocks_m = shape.blocks_m.divisor;
    auto const first_a = tile_a(0).patch(block.number, block.m, blocks_m);
    auto const first_b = tile_b(0).patch(block.number, block.n, shape.blocks_n);
    Tensor sums = make_tensor<TC>(Shape<_4,_4>{});                                                      // (m,n)
    clear(sums);

    for_each_step([&](int step) {
      if (block.number >= count_of(batch_of(step))) return;
      Tile const a = tile_a(step);
      Tile const b = tile_b(step);
      int const end = min(shape.chunk_k, shape.k - (step - batch_of(step) * chunks) * shape.chunk_k);
      with_bools(shape.a.k_major, shape.b.k_major, [&](auto a_k_major, auto b_k_major) {
        auto at_a = first_a;
        auto at_b = first_b;
#ifdef __CUDACC__
#pragma unroll(vector <= 4 ? 2 : 1)
#endif
        for (int k = 0; k < end; k += vector) {
          TC x[4 * vector];
          TC y[4 * vector];
          a.template read<a_k_major>(at_a, x);
          b.template read<b_k_major>(at_b, y);
          CUTE_UNROLL
          for (int e = 0; e < vector; ++e) {
            CUTE_UNROLL
            for (int j = 0; j < 4; ++j) {
              CUTE_UNROLL
              for (int i = 0; i < 4; ++i) {
                UniversalFMA<TC>::fma(sums(i,j), x[Tile::template element<a_k_major>(i, e)],
                                      y[Tile::template element<b_k_major>(j, e)], sums(i,j));
              }
            }
          }
        }
      });
      if (!is_last_chunk(step)) return;

      // Rows in groups, as patch() deals them out: (group,(groups along m,n))
      Tensor by_groups = make_tensor(sums.data(), Layout<Shape<Int<group>, Shape<Int<groups>, _4>>,
                                                         Stride<_1, Stride<Int<group>, _4>>>{});
      store_small<Config>(product_of(step, block.number), dC, shape, by_groups, [&](int i) {
        int const j = i / groups;
        return make_tuple((block.m + i % groups * blocks_m) * group,
                          (block.n + j / group * shape.blocks_n) * group + j % group);
      });
      clear(sums);
    });
  };

  if constexpr (!Config::tensor_cores) {
    by_threads();
  } else if (!shape.by_warps) {
    by_threads();
  } else {
    // The transposed product, whose accumulators are contiguous along m: tiles (n,m) of 16x8
    using Atom   = MMA_Atom<typename Config::Atom>;
    using Traits = MMA_Traits<typename Config::Atom>;
    constexpr int tiles = Config::warp_m / size<1>(typename Traits::Shape_MNK{});
    int const warp = threadIdx.x / 32;
    int const at_lane = typename Traits::CLayout{}(threadIdx.x % 32, 0);                                // (n,m) of 16x8
    Tensor tCrB = make_tensor<T>(Shape<_4>{});                                                          // (MMA)
    Tensor tCrA = make_tensor<T>(Shape<_2,Int<tiles>>{});                                               // (MMA,tile)
    Tensor sums = make_tensor<TC>(Shape<_2,_2,Int<tiles>>{});                                           // (pair,half,tile)
    clear(sums);

    for_each_step([&](int step) {
      Tile const a = tile_a(step);
      Tile const b = tile_b(step);
      int const end = min(shape.chunk_k, shape.k - (step - batch_of(step) * chunks) * shape.chunk_k);
      int const blocks = count_of(batch_of(step)) * shape.blocks.divisor;                               // one for each warp, if K has chunks
      bool const is_last = is_last_chunk(step);
      CUTE_NO_UNROLL
      for (int i = warp; i < blocks; i += Config::threads / 32) {
        Block const block = block_of(i);
        with_bools(shape.a.k_major, shape.b.k_major, [&](auto a_k_major, auto b_k_major) {
          int at_a = a.template matrices<tiles>(block.number, block.m * Config::warp_m);
          int at_b = b.template matrices<2>(block.number, block.n * Config::warp_n);
#ifdef __CUDACC__
#pragma unroll 2
#endif
          for (int k = 0; k < end; k += vector) {
            a.template read_matrices<tiles, a_k_major>(at_a, make_tensor(tCrA.data(), Int<2 * tiles>{}));
            b.template read_matrices<2, b_k_major>(at_b, tCrB);
            CUTE_UNROLL
            for (int t = 0; t < tiles; ++t) gemm(Atom{}, tCrB, tCrA(_,t), group_modes<0,2>(sums(_,_,t)));
          }
        });
        if (!is_last) continue;

        int const m = block.m * Config::warp_m + at_lane / 16;
        int const n = block.n * Config::warp_n + at_lane % 16;
        store_small<Config>(product_of(step, block.number), dC, shape, group_modes<1,3>(sums),
                            [&](int j) { return make_tuple(m + j / 2 * 8, n + j % 2 * 8); });
        clear(sums);
      }
    });
  }
}

}  // namespace cute_py::kernels::cutlass_scheduled
