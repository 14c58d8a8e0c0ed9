#pragma once

#include <cmath>

#include <cute/tensor.hpp>

#include "kernels/common/neighbours.hpp"
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
  bool along_n;  // neighbouring threads write D along n, not m
  int run;       // elements of D that lie side by side in that direction, wherever it is written
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

  CUTE_DEVICE EpilogueOf(Epilogue<T> const& epilogue, Batch const& batch, unsigned product) : e(epilogue) {
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) data[i] = e.data[i];
    if (batch.epilogue.rank == 0) return;
    auto const offsets = batch.epilogue(batch.first + product);
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) {
      data[i] = static_cast<char*>(data[i]) + offsets.in[i] * bytes_of(e.type[i]);
    }
  }

  // Of a plain epilogue, which needs D alone: its product is at_d elements on.
  CUTE_DEVICE EpilogueOf(Epilogue<T> const& epilogue, std::int64_t at_d) : e(epilogue), data{} {
    data[kEpilogueD] = static_cast<char*>(e.data[kEpilogueD]) + at_d * bytes_of(e.type[kEpilogueD]);
  }

  // Writes the element of D for a sum, given where its row and its column are. `further`: types that arrays may have beside
  // those of all kernels.
  template <DTypeSet further = 0>
  CUTE_DEVICE void finish(T const& acc, typename ModeMap<4>::Offsets const& at_m,
                          typename ModeMap<4>::Offsets const& at_n) const {
    auto const load = [&](int array) {
      return numeric::load_as<T, numeric::kReadableAs<T> | further>(data[array], e.type[array], at_m.in[array] + at_n.in[array]);
    };
    T x = numeric::times<T>(e.alpha, acc);
    if (e.reads_c) x = numeric::axpby<T>(e.alpha, acc, e.beta, load(kEpilogueC));
    if (e.has_bias) x = x + load(kEpilogueBias);
    x = numeric::activate(e.activation, x);
    if (!(e.scale == T(1))) x = numeric::times<T>(e.scale, x);
    if (e.has_residual) x = x + load(kEpilogueResidual);
    numeric::store_as<T, numeric::kWritableFrom<T> | further>(data[kEpilogueD], e.type[kEpilogueD],
                                                              at_m.in[kEpilogueD] + at_n.in[kEpilogueD], x, e.saturate);
  }
};

// A part of the CTA's tile on its way to D through shared memory, some columns at a time, so that neighbouring threads
// write neighbouring rows, or, if `along_n`, neighbouring columns.
//
// Requires: no thread still needs the shared memory, or will after a barrier.
template <class Acc, int TileM, int TileN, int SharedBytes>
struct SumsInShared {
  static constexpr int kPad = 16 / sizeof(Acc);  // so that the threads of a tensor core's tile write to different banks
  static constexpr int kLines = cute::max(TileM, TileN);
  static constexpr int kRoom = (SharedBytes - kLines * int(sizeof(std::int64_t))) / int(sizeof(Acc)) - TileM * kPad;
  static constexpr int kColumns = cute::min(TileN, kRoom / (TileM + kPad) / 8 * 8);
  static_assert(kColumns > 0);

  std::int64_t* lines;  // where the columns of D are, or, along n, its rows
  Acc* sums;            // (TileM,kColumns)
  int row_stride;
  int column_stride;

  CUTE_DEVICE SumsInShared(void* shared, bool along_n)
      : lines(static_cast<std::int64_t*>(shared)),
        sums(reinterpret_cast<Acc*>(lines + kLines)),
        row_stride(along_n ? kColumns + kPad : 1),
        column_stride(along_n ? 1 : TileM + kPad) {}

  CUTE_DEVICE Acc& at(int row, int column) const { return sums[row * row_stride + column * column_stride]; }

  // Calls write(first) for every chunk of columns, whose sums are in shared memory then. acc and coord are partitioned
  // alike; coord holds coordinates in the whole matrix, of which (first_m,first_n) is the tile's first.
  template <class Accumulators, class Coords, class Write>
  CUTE_DEVICE void for_each_chunk(Accumulators const& acc, Coords const& coord, int first_m, int first_n,
                                  Write const& write) const {
    CUTE_NO_UNROLL
    for (int chunk = 0; chunk < TileN; chunk += kColumns) {
      __syncthreads();  // all threads have read what was here before

      CUTE_UNROLL
      for (int i = 0; i < cute::size(acc); ++i) {
        int const column = cute::get<1>(coord(i)) - first_n - chunk;
        if (kColumns == TileN || (0 <= column && column < kColumns)) {
          at(cute::get<0>(coord(i)) - first_m, column) = acc(i);
        }
      }

      __syncthreads();  // the sums of these columns, written by all threads, become visible to all threads

      write(chunk);
    }
  }
};

// D = alpha * sum + beta * D for `count` neighbours.
template <int count, class D, class T, class Acc>
CUTE_DEVICE void update(Epilogue<T> const& e, Neighbours<Acc, count> const& sums, D* d) {
  auto& to = *reinterpret_cast<Neighbours<D, count>*>(d);
  Neighbours<D, count> result;
  if (e.reads_c) result = to;
  CUTE_UNROLL
  for (int i = 0; i < count; ++i) {
    T const sum = numeric::convert<T>(sums.x[i]);
    D& x = result.x[i];
    x = numeric::narrow<D>(
        e.reads_c ? numeric::axpby<T>(e.alpha, sum, e.beta, numeric::convert<T>(x)) : numeric::times<T>(e.alpha, sum), false);
  }
  to = result;
}

// The same of sums in memory, aligned to as many as fill 16 bytes.
template <int count, class D, class T, class Acc>
CUTE_DEVICE void update(Epilogue<T> const& e, Acc const* sums, D* d) {
  constexpr int together = cute::min(count, int(16 / sizeof(Acc)));
  Neighbours<Acc, count> all;
  CUTE_UNROLL
  for (int i = 0; i < count; i += together) {
    auto const some = *reinterpret_cast<Neighbours<Acc, together> const*>(sums + i);
    CUTE_UNROLL
    for (int j = 0; j < together; ++j) all.x[i + j] = some.x[j];
  }
  update<count>(e, all, d);
}

// Writes every element of the CTA's tile that lies inside shape by a plain epilogue. The tile is lines along m, one for
// each column, or along n, one for each row; each thread writes e.run neighbours of a line at a time.
template <int TileM, int TileN, int Threads, int SharedBytes, class T, class Accumulators, class Coords, class Origin,
          class Shape>
CUTE_DEVICE void store_plain(EpilogueOf<T> const& product, Accumulators const& acc, Coords const& coord,
                             Origin const& origin, Shape const& shape, void* shared) {
  using Sums = SumsInShared<typename Accumulators::value_type, TileM, TileN, SharedBytes>;
  auto const& e = product.e;
  Sums const tile(shared, e.along_n);
  int const first_m = cute::get<0>(origin);
  int const first_n = cute::get<1>(origin);
  int const rows = cute::min(cute::get<0>(shape) - first_m, TileM);  // that exist
  int const columns = cute::min(cute::get<1>(shape) - first_n, TileN);
  auto const& of_lines = e.along_n ? e.m : e.n;
  auto const& along = e.along_n ? e.n : e.m;
  int const first_line = e.along_n ? first_m : first_n;

  __syncthreads();  // no thread needs the shared memory any more

  for (int i = threadIdx.x; i < (e.along_n ? rows : columns); i += Threads) {
    tile.lines[i] = of_lines.offset(first_line + i, kEpilogueD);
  }

  // Neighbours along a line for each thread, and the threads that share a line: a power of two.
  static_assert(Sums::kLines <= Threads && (Threads & (Threads - 1)) == 0);
  int const length = e.along_n ? Sums::kColumns : TileM;
  int log2_step = 0;  // of the threads that go side by side to different lines
  while ((Threads >> (log2_step + 1)) * e.run >= length) ++log2_step;
  int const x = (int(threadIdx.x) & ((Threads >> log2_step) - 1)) * e.run;
  int const thread_line = int(threadIdx.x) >> (cute::log_2(static_cast<unsigned>(Threads)) - log2_step);

  tile.for_each_chunk(acc, coord, first_m, first_n, [&](int chunk) {
    int const of_chunk = cute::min(columns - chunk, int(Sums::kColumns));
    if (x >= (e.along_n ? of_chunk : rows)) return;
    int const of_thread = ((e.along_n ? rows : of_chunk) - thread_line + (1 << log2_step) - 1) >> log2_step;  // lines
    std::int64_t const* const lines = tile.lines + (e.along_n ? 0 : chunk);
    std::int64_t const offset = along.offset((e.along_n ? first_n + chunk : first_m) + x, kEpilogueD);
    int const line_stride = e.along_n ? tile.row_stride : tile.column_stride;
    auto const line_of = [&](int i) { return thread_line + (i << log2_step); };
    numeric::with_type<numeric::kWritableFrom<T>>(e.type[kEpilogueD], [&](auto const& sample) {
      using D = std::decay_t<decltype(sample)>;
      constexpr int most = cute::max(1, int(16 / sizeof(D)));
      D* const d = static_cast<D*>(product.data[kEpilogueD]) + offset;
      if (e.run == 1) {
#ifdef __CUDACC__
#pragma unroll 4
#endif
        for (int i = 0; i < of_thread; ++i) {
          update<1>(e, tile.sums + line_of(i) * line_stride + x, d + lines[line_of(i)]);
        }
      } else if constexpr (most > 1) {
        CUTE_NO_UNROLL
        for (int i = 0; i < of_thread; ++i) {
          update<most>(e, tile.sums + line_of(i) * line_stride + x, d + lines[line_of(i)]);
        }
      }
    });
  });
}

// The same without a way through shared memory: each thread writes neighbouring rows of its own. Requires: e.in_place,
// along m, e.run is as many as fill 16 bytes; acc has as many neighbouring rows one after the other, as SimtMma gives
// them.
template <int TileM, int TileN, int Threads, class T, class Accumulators, class Coords, class Origin, class Shape>
CUTE_DEVICE void store_rows(EpilogueOf<T> const& product, Accumulators const& acc, Coords const& coord,
                            Origin const& origin, Shape const& shape, void* shared) {
  constexpr int together = cute::max(1, int(16 / sizeof(T)));
  auto const& e = product.e;
  std::int64_t* const rows = static_cast<std::int64_t*>(shared);  // where they are in D
  std::int64_t* const columns = rows + TileM;
  int const first_m = cute::get<0>(origin);
  int const first_n = cute::get<1>(origin);
  int const left_m = cute::get<0>(shape) - first_m;
  int const left_n = cute::get<1>(shape) - first_n;

  __syncthreads();  // no thread needs the shared memory any more

  for (int i = threadIdx.x; i < TileM + TileN; i += Threads) {
    if (i < TileM) {
      rows[i] = i < left_m ? e.m.offset(first_m + i, kEpilogueD) : 0;
    } else {
      columns[i - TileM] = i - TileM < left_n ? e.n.offset(first_n + i - TileM, kEpilogueD) : 0;
    }
  }

  __syncthreads();  // where they are, found by all threads, becomes visible to all threads

  T* const d = static_cast<T*>(product.data[kEpilogueD]);
  CUTE_UNROLL
  for (int i = 0; i < cute::size(acc); i += together) {
    int const row = cute::get<0>(coord(i)) - first_m;
    int const column = cute::get<1>(coord(i)) - first_n;
    Neighbours<T, together> sums;
    CUTE_UNROLL
    for (int j = 0; j < together; ++j) sums.x[j] = acc(i + j);
    if (row < left_m && column < left_n) {
      update<together>(e, sums.x, d + rows[row] + columns[column]);
    }
  }
}

// Writes every element of the CTA's tile that lies inside shape, by the whole epilogue.
template <int TileM, int TileN, int Threads, int SharedBytes, class T, class AccEngine, class AccLayout,
          class CoordEngine, class CoordLayout, class Origin, class Shape>
CUTE_DEVICE void store_fused(EpilogueOf<T> const& product, cute::Tensor<AccEngine, AccLayout> const& acc,
                             cute::Tensor<CoordEngine, CoordLayout> const& coord, Origin const& origin,
                             Shape const& shape, void* shared) {
  auto const& e = product.e;
  if (e.is_plain) {
    return store_plain<TileM, TileN, Threads, SharedBytes>(product, acc, coord, origin, shape, shared);
  }
  using Sums = SumsInShared<typename AccEngine::value_type, TileM, TileN, SharedBytes>;
  static_assert(Threads % TileM == 0, "each thread has one row");
  Sums const tile(shared, false);
  int const first_m = cute::get<0>(origin);
  int const first_n = cute::get<1>(origin);
  int const row = threadIdx.x % TileM;
  int const first_column = threadIdx.x / TileM;
  int const rest = cute::get<1>(shape) - first_n;  // columns that exist from here on
  bool const row_exists = first_m + row < cute::get<0>(shape);
  auto const at_m = e.m(row_exists ? first_m + row : 0);

  tile.for_each_chunk(acc, coord, first_m, first_n, [&](int chunk) {
    CUTE_NO_UNROLL
    for (int column = first_column; column < Sums::kColumns; column += Threads / TileM) {
      if (row_exists && chunk + column < TileN && chunk + column < rest) {
        product.finish(numeric::convert<T>(tile.at(row, column)), at_m, e.n(first_n + chunk + column));
      }
    }
  });
}

// Writes every element of the tile in place. beta == 0 does not read C.
template <class T, class AccEngine, class AccLayout, class DstEngine, class DstLayout>
CUTE_DEVICE void store(T alpha, cute::Tensor<AccEngine, AccLayout> const& acc, T beta,
                       cute::Tensor<DstEngine, DstLayout>& dst) {
  CUTE_UNROLL
  for (int i = 0; i < cute::size(acc); ++i) {
    dst(i) = beta == T(0) ? numeric::times<T>(alpha, acc(i)) : numeric::axpby<T>(alpha, acc(i), beta, dst(i));
  }
}

// The same in vectors as wide as the layout of dst allows, up to 16 bytes. Requires: dst is aligned to its vectors.
template <class T, class AccEngine, class AccLayout, class DstEngine, class DstLayout>
CUTE_DEVICE void store_vectors(T alpha, cute::Tensor<AccEngine, AccLayout> const& acc, T beta,
                               cute::Tensor<DstEngine, DstLayout>& dst) {
  auto result = cute::make_fragment_like(acc);
  if (beta != T(0)) {
    cute::copy_aligned(dst, result);
  }
  CUTE_UNROLL
  for (int i = 0; i < cute::size(acc); ++i) {
    result(i) = beta == T(0) ? numeric::times<T>(alpha, acc(i)) : numeric::axpby<T>(alpha, acc(i), beta, result(i));
  }
  cute::copy_aligned(result, dst);
}

// Writes the elements whose coordinate lies inside shape in place and touches no other.
template <class T, class AccEngine, class AccLayout, class CoordEngine, class CoordLayout, class Shape, class DstEngine,
          class DstLayout>
CUTE_DEVICE void store_inside(T alpha, cute::Tensor<AccEngine, AccLayout> const& acc,
                              cute::Tensor<CoordEngine, CoordLayout> const& coord, Shape const& shape, T beta,
                              cute::Tensor<DstEngine, DstLayout>& dst) {
  CUTE_UNROLL
  for (int i = 0; i < cute::size(acc); ++i) {
    if (cute::elem_less(coord(i), shape)) {
      dst(i) = beta == T(0) ? numeric::times<T>(alpha, acc(i)) : numeric::axpby<T>(alpha, acc(i), beta, dst(i));
    }
  }
}

}  // namespace cute_py::kernels
