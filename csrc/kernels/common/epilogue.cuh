#pragma once

#include <cmath>

#include <cute/tensor.hpp>

#include "kernels/common/modes.cuh"
#include "numeric/epilogue.hpp"

// What happens to the sums: C = alpha * acc + beta * C, or the whole epilogue of a Problem.
namespace cute_py::kernels {

// Scalars, and where C, D, bias and residual are. T is what the epilogue computes in.
template <class T>
struct Epilogue {
  T alpha;
  T beta;
  bool is_plain;  // D = alpha * acc + beta * D, and nothing more
  bool in_place;  // is_plain, and D has the accumulator's type

  bool reads_c;
  bool has_bias;
  bool has_residual;
  bool saturate;
  Activation activation;
  T scale;
  ModeMap<4> m;  // in C, D, bias and residual
  ModeMap<4> n;
  void* data[4];
  DType type[4];
};

enum EpilogueArray { kEpilogueC, kEpilogueD, kEpilogueBias, kEpilogueResidual };

// One product of a batch: its arrays.
template <class T>
struct EpilogueOf {
  Epilogue<T> const& e;
  void* data[4];

  CUTE_DEVICE EpilogueOf(Epilogue<T> const& epilogue, Batch const& batch, unsigned product) : e(epilogue)
  {
    auto const offsets = batch.epilogue(batch.first + product);
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) {
      data[i] = static_cast<char*>(e.data[i]) + offsets.in[i] * bytes_of(e.type[i]);
    }
  }

  // Of a plain epilogue, which needs D alone: its product is at_d elements on.
  CUTE_DEVICE EpilogueOf(Epilogue<T> const& epilogue, std::int64_t at_d) : e(epilogue), data{}
  {
    data[kEpilogueD] = static_cast<char*>(e.data[kEpilogueD]) + at_d * bytes_of(e.type[kEpilogueD]);
  }

  // Writes the element of D for a sum, given where its row and its column are.
  CUTE_DEVICE void finish(T const& acc, typename ModeMap<4>::Offsets const& at_m,
                          typename ModeMap<4>::Offsets const& at_n) const
  {
    auto const load = [&](int array) {
      return numeric::load_as<T>(data[array], e.type[array], at_m.in[array] + at_n.in[array]);
    };
    T x = e.alpha * acc;
    if (e.reads_c) x = numeric::axpby<T>(e.alpha, acc, e.beta, load(kEpilogueC));
    if (e.has_bias) x = x + load(kEpilogueBias);
    x = numeric::activate(e.activation, x);
    if (!(e.scale == T(1))) x = x * e.scale;
    if (e.has_residual) x = x + load(kEpilogueResidual);
    numeric::store_as(data[kEpilogueD], e.type[kEpilogueD], at_m.in[kEpilogueD] + at_n.in[kEpilogueD], x, e.saturate);
  }
};

// A part of the CTA's tile on its way to D through shared memory, some columns at a time, so that neighbouring threads
// write neighbouring rows. Each thread has one row, and every Threads / TileM-th column.
//
// Requires: no thread still needs the shared memory, or will after a barrier; Threads is a multiple of TileM.
template <class Acc, int TileM, int TileN, int Threads, int SharedBytes>
struct SumsInShared {
  static constexpr int kPad = 16 / sizeof(Acc);  // so that the threads of a tensor core's tile write to different banks
  static constexpr int kRoom = (SharedBytes - TileN * int(sizeof(std::int64_t))) / int((TileM + kPad) * sizeof(Acc));
  static constexpr int kColumns = kRoom < TileN ? kRoom : TileN;
  static constexpr int kStep = Threads / TileM;
  static_assert(Threads % TileM == 0 && kColumns > 0);

  std::int64_t* columns;  // (TileN), where each column of D is
  Acc* sums;              // (TileM,kColumns)

  CUTE_DEVICE explicit SumsInShared(void* shared)
      : columns(static_cast<std::int64_t*>(shared)), sums(reinterpret_cast<Acc*>(columns + TileN)) {}

  CUTE_DEVICE Acc& at(int row, int column) const { return sums[column * (TileM + kPad) + row]; }

  // Calls write(first) for every chunk of columns, whose sums are in shared memory then. acc and coord are partitioned
  // alike; coord holds coordinates in the whole matrix, of which (first_m,first_n) is the tile's first.
  template <class Accumulators, class Coords, class Write>
  CUTE_DEVICE void for_each_chunk(Accumulators const& acc, Coords const& coord, int first_m, int first_n,
                                  Write const& write) const
  {
    CUTE_NO_UNROLL
    for (int chunk = 0; chunk < TileN; chunk += kColumns) {
      __syncthreads();  // all threads have read what was here before

      CUTE_UNROLL
      for (int i = 0; i < cute::size(acc); ++i) {
        int const column = cute::get<1>(coord(i)) - first_n - chunk;
        if (0 <= column && column < kColumns) {
          at(cute::get<0>(coord(i)) - first_m, column) = acc(i);
        }
      }

      __syncthreads();  // the sums of these columns, written by all threads, become visible to all threads

      write(chunk);
    }
  }
};

// Writes every element of the CTA's tile that lies inside shape, by the whole epilogue.
template <int TileM, int TileN, int Threads, int SharedBytes, class T, class AccEngine, class AccLayout,
          class CoordEngine, class CoordLayout, class Origin, class Shape>
CUTE_DEVICE void store_fused(EpilogueOf<T> const& product, cute::Tensor<AccEngine, AccLayout> const& acc,
                             cute::Tensor<CoordEngine, CoordLayout> const& coord, Origin const& origin,
                             Shape const& shape, void* shared)
{
  using Sums = SumsInShared<typename AccEngine::value_type, TileM, TileN, Threads, SharedBytes>;
  Sums const tile(shared);
  auto const& e = product.e;
  int const first_m = cute::get<0>(origin);
  int const first_n = cute::get<1>(origin);
  int const row = threadIdx.x % TileM;
  int const first_column = threadIdx.x / TileM;
  int const rest = cute::get<1>(shape) - first_n;  // columns that exist from here on
  bool const row_exists = first_m + row < cute::get<0>(shape);
  auto const at_m = e.m(row_exists ? first_m + row : 0);

  if (!e.is_plain) {
    tile.for_each_chunk(acc, coord, first_m, first_n, [&](int chunk) {
      CUTE_NO_UNROLL
      for (int column = first_column; column < Sums::kColumns; column += Sums::kStep) {
        if (row_exists && chunk + column < TileN && chunk + column < rest) {
          product.finish(numeric::convert<T>(tile.at(row, column)), at_m, e.n(first_n + chunk + column));
        }
      }
    });
    return;
  }

  __syncthreads();  // no thread needs the shared memory any more

  for (int i = threadIdx.x; i < TileN; i += Threads) {
    tile.columns[i] = i < rest ? e.n(first_n + i).in[kEpilogueD] : 0;
  }
  tile.for_each_chunk(acc, coord, first_m, first_n, [&](int chunk) {
    if (!row_exists) return;
    int const end = cute::min(cute::min(int(Sums::kColumns), TileN - chunk), rest - chunk);
    numeric::with_type<numeric::kWritableFrom<T>>(e.type[kEpilogueD], [&](auto const& sample) {
      using D = std::decay_t<decltype(sample)>;
      D* const d = static_cast<D*>(product.data[kEpilogueD]) + at_m.in[kEpilogueD];
#ifdef __CUDACC__
#pragma unroll 4
#endif
      for (int column = first_column; column < end; column += Sums::kStep) {
        D& element = d[tile.columns[chunk + column]];
        T const sum = numeric::convert<T>(tile.at(row, column));
        T const x = e.reads_c ? numeric::axpby<T>(e.alpha, sum, e.beta, numeric::convert<T>(element)) : e.alpha * sum;
        element = numeric::narrow<D>(x, false);
      }
    });
  });
}

// Writes every element of the tile in place. beta == 0 does not read C.
template <class T, class AccEngine, class AccLayout, class DstEngine, class DstLayout>
CUTE_DEVICE void store(T alpha, cute::Tensor<AccEngine, AccLayout> const& acc, T beta,
                       cute::Tensor<DstEngine, DstLayout>& dst)
{
  CUTE_UNROLL
  for (int i = 0; i < cute::size(acc); ++i) {
    dst(i) = beta == T(0) ? alpha * acc(i) : numeric::axpby<T>(alpha, acc(i), beta, dst(i));
  }
}

// The same in vectors as wide as the layout of dst allows, up to 16 bytes. Requires: dst is aligned to its vectors.
template <class T, class AccEngine, class AccLayout, class DstEngine, class DstLayout>
CUTE_DEVICE void store_vectors(T alpha, cute::Tensor<AccEngine, AccLayout> const& acc, T beta,
                               cute::Tensor<DstEngine, DstLayout>& dst)
{
  auto result = cute::make_fragment_like(acc);
  if (beta != T(0)) {
    cute::copy_aligned(dst, result);
  }
  CUTE_UNROLL
  for (int i = 0; i < cute::size(acc); ++i) {
    result(i) = beta == T(0) ? alpha * acc(i) : numeric::axpby<T>(alpha, acc(i), beta, result(i));
  }
  cute::copy_aligned(result, dst);
}

// Writes the elements whose coordinate lies inside shape in place and touches no other.
template <class T, class AccEngine, class AccLayout, class CoordEngine, class CoordLayout, class Shape, class DstEngine,
          class DstLayout>
CUTE_DEVICE void store_inside(T alpha, cute::Tensor<AccEngine, AccLayout> const& acc,
                              cute::Tensor<CoordEngine, CoordLayout> const& coord, Shape const& shape, T beta,
                              cute::Tensor<DstEngine, DstLayout>& dst)
{
  CUTE_UNROLL
  for (int i = 0; i < cute::size(acc); ++i) {
    if (cute::elem_less(coord(i), shape)) {
      dst(i) = beta == T(0) ? alpha * acc(i) : numeric::axpby<T>(alpha, acc(i), beta, dst(i));
    }
  }
}

}  // namespace cute_py::kernels
