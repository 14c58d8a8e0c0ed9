#pragma once

#include "kernels/common/epilogue.cuh"
#include "kernels/common/aligned_array.hpp"

// Write policy: vectors of up to 16 bytes, where D lies in such, by a plain epilogue.
namespace cute_py::kernels {

// D = alpha * sum + beta * D for `count` contiguous elements.
template <int count, class D, class T, class Acc>
CUTE_DEVICE void update(Epilogue<T> const& e, AlignedArray<Acc, count> const& sums, D* d) {
  auto& to = *reinterpret_cast<AlignedArray<D, count>*>(d);
  AlignedArray<D, count> result;
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
  AlignedArray<Acc, count> all;
  CUTE_UNROLL
  for (int i = 0; i < count; i += together) {
    auto const some = *reinterpret_cast<AlignedArray<Acc, together> const*>(sums + i);
    CUTE_UNROLL
    for (int j = 0; j < together; ++j) all.x[i + j] = some.x[j];
  }
  update<count>(e, all, d);
}

// Lines of sums in shared memory, each contiguous in D. A thread writes some of them, the same elements of each.
template <class Acc>
struct LinesOfThread {
  Acc const* sums;             // of line 0
  int pitch;                   // from a line to the next
  std::int64_t const* places;  // where lines are in D
  int first;
  int count;
  int log2_step;

  CUTE_DEVICE int line(int i) const { return first + (i << log2_step); }
  CUTE_DEVICE Acc const* sums_of(int i) const { return sums + line(i) * pitch; }
};

template <int count, class D, class T, class Acc>
CUTE_DEVICE void write_vectors(Epilogue<T> const& e, LinesOfThread<Acc> const& lines, D* d) {
  CUTE_NO_UNROLL
  for (int i = 0; i < lines.count; ++i) {
    update<count>(e, lines.sums_of(i), d + lines.places[lines.line(i)]);
  }
}

// Out of registers: each thread writes contiguous rows of its own. Requires: e.in_place, along m, e.run is as many as fill
// 16 bytes; acc has as many contiguous rows one after the other, as SimtMma gives them.
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
    AlignedArray<T, together> sums;
    CUTE_UNROLL
    for (int j = 0; j < together; ++j) sums.x[j] = acc(i + j);
    if (row < left_m && column < left_n) {
      update<together>(e, sums.x, d + rows[row] + columns[column]);
    }
  }
}

// Out of registers, in place, in vectors as wide as the layout of dst allows. beta == 0 does not read C. Requires: dst is
// aligned to its vectors.
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

// Out of registers: four contiguous elements of a line of a tile, line 0 its first. Requires: a plain epilogue that reads no C,
// and e.run > 1; the tile has elements of the first modes of M and N alone.
template <DTypeSet types, class T>
struct VectorsOfTile {
  EpilogueOf<T> const& product;
  std::int64_t first;  // element of D
  std::int64_t next_line;
  int lines;  // that exist
  int length;

  CUTE_DEVICE VectorsOfTile(EpilogueOf<T> const& product, TileOfD const& tile) : product(product) {
    auto const& e = product.e;
    first = e.m.offset(tile.first_m, kEpilogueD) + e.n.offset(tile.first_n, kEpilogueD);
    next_line = (e.along_n ? e.m : e.n).stride[kEpilogueD][0];
    lines = e.along_n ? tile.rows : tile.columns;
    length = e.along_n ? tile.columns : tile.rows;
  }

  template <class Acc>
  CUTE_DEVICE void write(int line, int x, AlignedArray<Acc, 4> const& sums) const {
    if (line >= lines || x >= length) return;
    auto const at = first + line * next_line + x;
    numeric::with_type<types>(product.e.type[kEpilogueD], [&](auto const& sample) {
      using D = std::decay_t<decltype(sample)>;
      AlignedArray<D, 4> result;
      CUTE_UNROLL
      for (int i = 0; i < 4; ++i) result.x[i] = scaled<D>(product.e.alpha, sums.x[i]);
      *reinterpret_cast<AlignedArray<D, 4>*>(static_cast<D*>(product.data[kEpilogueD]) + at) = result;
    });
  }
};

}  // namespace cute_py::kernels
