// Products of factors that are not packed: B is read where it lies, and so is A
//
//   along_m   rows of A are contiguous: a vector of them for each step of k, up to 8 vectors x 2 columns or 2 x 14
//   along_k   rows of A lie along k: squares are transposed in registers (rows.inl), for up to nr_along_k columns
//
// Edge tiles are the last rows, by a partial vector, and columns up to the next even number, of which only the wanted
// ones are written.
//
// Strides:  of A 1 along m or along k, any otherwise; of B any; of D 1 along m
// Order:    k ascending, one accumulator for each element, fused multiply-adds
// When:     packing would take longer than it saves: small products, few rows or few columns (cpu_small)
#include <utility>

#include "cpu/gemm/micro_kernel.hpp"
#include "cpu/rows.inl"

namespace cute_py::cpu {
namespace {

// `vectors` of rows, the last with `last` of them, and so many columns, of which `wanted` are.
template <class T, int vectors, int columns, bool whole>
void multiply_tile(std::int64_t k, T const* a, std::int64_t a_step, std::int64_t last, T const* b,
                   std::int64_t b_column, std::int64_t b_step, std::int64_t wanted, T alpha, T* d,
                   std::int64_t d_column) {
  Vec<T> c[columns][vectors] = {};
  LooseElement<T> const* from[columns];
#pragma GCC unroll 16
  for (int j = 0; j < columns; ++j) {
    from[j] = reinterpret_cast<LooseElement<T> const*>(b + (j < wanted ? j : wanted - 1) * b_column);
  }
  for (std::int64_t p = 0; p < k; ++p) {
    Vec<T> column[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      column[v] = load_some(a + p * a_step + v * kLanes<T>, whole || v + 1 < vectors, last);
    }
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j) {
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v)
        c[j][v] = multiply_add<T>(column[v], broadcast<T>(from[j][p * b_step]), c[j][v]);
    }
  }
#pragma GCC unroll 16
  for (int j = 0; j < columns; ++j) {
    if (j >= wanted) break;
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      store_some(d + j * d_column + v * kLanes<T>, whole || v + 1 < vectors, last, alpha * c[j][v]);
    }
  }
}

// As many vectors at a time as there are rows for, until all are done.
template <class T, int columns, int vectors = kTile.mr_vectors_of(columns)>
void multiply_columns(std::int64_t k, T const* a, std::int64_t a_step, std::int64_t rows, T const* b,
                      std::int64_t b_column, std::int64_t b_step, std::int64_t wanted, T alpha, T* d,
                      std::int64_t d_column) {
  constexpr std::int64_t kRows = vectors * kLanes<T>;
  while (rows >= kRows) {
    multiply_tile<T, vectors, columns, true>(k, a, a_step, kLanes<T>, b, b_column, b_step, wanted, alpha, d, d_column);
    a += kRows;
    d += kRows;
    rows -= kRows;
  }
  if (rows == 0) return;
  if (rows > kRows - kLanes<T>) {
    auto const last = rows - (kRows - kLanes<T>);
    multiply_tile<T, vectors, columns, false>(k, a, a_step, last, b, b_column, b_step, wanted, alpha, d, d_column);
  } else if constexpr (vectors > 1) {
    constexpr int kFewer = vectors == 3 ? 2 : vectors / 2;
    multiply_columns<T, columns, kFewer>(k, a, a_step, rows, b, b_column, b_step, wanted, alpha, d, d_column);
  }
}

// The functions for 1, 2, 4, ... columns, up to those of a thin tile.
template <class T>
struct OfColumns {
  decltype(&multiply_columns<T, 1>) at[kTile.nr_thin / 2 + 1];

  template <int... i>
  constexpr explicit OfColumns(std::integer_sequence<int, i...>)
      : at{&multiply_columns<T, 1>, &multiply_columns<T, 2 * (i + 1)>...} {}
};
template <class T>
constexpr OfColumns<T> kOfColumns(std::make_integer_sequence<int, kTile.nr_thin / 2>{});

template <class T>
void multiply_along_m(std::int64_t k, T const* a, std::int64_t a_step, std::int64_t rows, T const* b,
                      std::int64_t b_column, std::int64_t b_step, std::int64_t columns, T alpha, T* d,
                      std::int64_t d_column) {
  auto const multiply = kOfColumns<T>.at[columns == 1 ? 0 : (columns + 1) / 2];
  multiply(k, a, a_step, rows, b, b_column, b_step, columns, alpha, d, d_column);
}

// Several vectors of rows: while the sums of one wait for each other the next block of another is brought into
// registers.
template <class T, int columns, int count, class Rows>
void multiply_tile_along_k(std::int64_t k, Rows const (&rows)[count], T const* b, std::int64_t b_column,
                           std::int64_t b_step, std::int64_t wanted, std::int64_t rows_wanted, T alpha, T* d,
                           std::int64_t d_column) {
  Vec<T> c[count][columns] = {};
  LooseElement<T> const* from[columns];
#pragma GCC unroll 8
  for (int j = 0; j < columns; ++j) {
    from[j] = reinterpret_cast<LooseElement<T> const*>(b + (j < wanted ? j : wanted - 1) * b_column);
  }
  // The steps from p0 on, of rows that begin there.
  auto const add = [&](auto const& rows_there, std::int64_t p0, std::int64_t steps) CUTE_PY_INLINE_LAMBDA {
    std::int64_t p = 0;
    for (; p + kBlock<T> <= steps; p += kBlock<T>) {
#pragma GCC unroll 4
      for (int v = 0; v < count; ++v) {
        auto const from_p = rows_from(rows_there[v], p);
        if (p % kLine<T> == 0) prefetch_rows<T>(from_p, 0);
        Vec<T> x[kBlock<T>];
        transpose_block<T>(from_p, 0, x);
#pragma GCC unroll 4
        for (int i = 0; i < kBlock<T>; ++i) {
#pragma GCC unroll 8
          for (int j = 0; j < columns; ++j)
            c[v][j] = multiply_add<T>(x[i], broadcast<T>(from[j][(p0 + p + i) * b_step]), c[v][j]);
        }
      }
    }
    if (p == steps) return;
#pragma GCC unroll 4
    for (int v = 0; v < count; ++v) {
      Vec<T> x[kBlock<T>];
      transpose_tail<T>(rows_from(rows_there[v], p), 0, steps - p, x);
      for (int i = 0; i < steps - p; ++i) {
#pragma GCC unroll 8
        for (int j = 0; j < columns; ++j)
          c[v][j] = multiply_add<T>(x[i], broadcast<T>(from[j][(p0 + p + i) * b_step]), c[v][j]);
      }
    }
  };
  if (has_conflict_misses<T>(rows[0][1] - rows[0][0], count * kLanes<T>)) {
    PackedRows<T, count * kLanes<T>> packed;
    EvenRows<T> packed_rows[count];
    for (int v = 0; v < count; ++v) packed_rows[v] = rows_behind(packed.rows(), v * kLanes<T>);
    // The rows of all vectors, which follow those of the first.
    for_packed(packed, rows[0], k, [&](EvenRows<T> const&, std::int64_t p, std::int64_t steps) CUTE_PY_INLINE_LAMBDA {
      add(packed_rows, p, steps);
    });
  } else {
    add(rows, 0, k);
  }
#pragma GCC unroll 4
  for (int v = 0; v < count; ++v) {
    if (v * kLanes<T> >= rows_wanted) break;
#pragma GCC unroll 8
    for (int j = 0; j < columns; ++j) {
      if (j >= wanted) break;
      auto const left = rows_wanted - v * kLanes<T>;
      store_some(d + j * d_column + v * kLanes<T>, left >= kLanes<T>, left, alpha * c[v][j]);
    }
  }
}

template <class T, int columns, int count>
void multiply_vectors_along_k(std::int64_t k, T const* a, std::int64_t a_row, std::int64_t rows, T const* b,
                              std::int64_t b_column, std::int64_t b_step, std::int64_t wanted, T alpha, T* d,
                              std::int64_t d_column) {
  constexpr int kRows = count * kLanes<T>;
  if (rows == kRows) {
    EvenRows<T> all[count];
    for (int v = 0; v < count; ++v) all[v] = {a + v * kLanes<T> * a_row, a_row};
    multiply_tile_along_k<T, columns>(k, all, b, b_column, b_step, wanted, rows, alpha, d, d_column);
    return;
  }
  // Rows that do not exist are like the last that does.
  T const* starts[kRows];
  for (int i = 0; i < kRows; ++i) starts[i] = a + (i < rows ? i : rows - 1) * a_row;
  T const* const* all[count];
  for (int v = 0; v < count; ++v) all[v] = starts + v * kLanes<T>;
  multiply_tile_along_k<T, columns>(k, all, b, b_column, b_step, wanted, rows, alpha, d, d_column);
}

template <class T, int columns = 1>
void multiply_along_k(std::int64_t k, T const* a, std::int64_t a_row, std::int64_t rows, T const* b,
                      std::int64_t b_column, std::int64_t b_step, std::int64_t wanted, T alpha, T* d,
                      std::int64_t d_column) {
  if constexpr (columns < kTile.nr_along_k) {
    if (wanted > columns) {
      constexpr int kNext = columns == 1 ? 2 : columns + 2;
      multiply_along_k<T, kNext>(k, a, a_row, rows, b, b_column, b_step, wanted, alpha, d, d_column);
      return;
    }
  }
  auto const multiply = [&](auto run) { run(k, a, a_row, rows, b, b_column, b_step, wanted, alpha, d, d_column); };
  constexpr int kMost = kTile.mr_vectors_along_k(columns);
  if (rows <= kLanes<T>) {
    multiply(&multiply_vectors_along_k<T, columns, 1>);
  } else if (kMost == 2 || rows <= 2 * kLanes<T>) {
    multiply(&multiply_vectors_along_k<T, columns, 2>);
  } else {
    multiply(&multiply_vectors_along_k<T, columns, kMost>);
  }
}

template <class T>
constexpr UnpackedKernel<T> kUnpacked = {.along_m = &multiply_along_m<T>, .along_k = &multiply_along_k<T>};

}  // namespace
}  // namespace cute_py::cpu
