// Rows along k, and how lanes read them: where rows are, packed rows, and what is prefetched
//
// A matrix times a few columns whose rows lie along k is a transposition for each product: lane i takes row i, and a
// square of 16 bytes of each row becomes a vector for each step of k (simd.inl). Everything that keeps that at the
// speed of memory is here, each under its name.
#pragma once

#include "cpu/gemv/gemv.hpp"
#include "cpu/simd.inl"

namespace cute_py::cpu {
namespace {

// ---- Where rows are

// Equally far apart: these need no pointers, of which there are more than registers.
template <class T>
struct EvenRows {
  T const* first;
  std::int64_t stride;

  T const* operator[](int row) const { return first + row * stride; }
};

// Where pointers say, from step p on.
template <class T>
struct PointedRows {
  T const* const* rows;
  std::int64_t p;

  T const* operator[](int row) const { return rows[row] + p; }
};

// Rows that do not exist are like the last that does.
template <class T>
struct ClampedRows {
  T const* first;
  std::int64_t stride;
  std::int64_t last;

  T const* operator[](int row) const { return first + (row < last ? row : last) * stride; }
};

// The same rows from step p on. A compiler would rather keep an address for each row, more than there are registers,
// than add multiples of a stride.
template <class T>
CUTE_PY_INLINE EvenRows<T> rows_from(EvenRows<T> const& rows, std::int64_t p) {
  T const* first = rows.first + p;
  asm("" : "+r"(first));
  return {first, rows.stride};
}
template <class T>
CUTE_PY_INLINE PointedRows<T> rows_from(T const* const* rows, std::int64_t p) {
  return {rows, p};
}

// The rows from one on.
template <class T>
CUTE_PY_INLINE EvenRows<T> rows_behind(EvenRows<T> const& rows, int count) {
  return {rows.first + count * rows.stride, rows.stride};
}
template <class T>
CUTE_PY_INLINE T const* const* rows_behind(T const* const* rows, int count) {
  return rows + count;
}

template <class T>
bool are_even(T const* const* rows, int count) {
  for (int i = 2; i < count; ++i) {
    if (rows[i] - rows[i - 1] != rows[1] - rows[0]) return false;
  }
  return true;
}

// ---- Packed rows
//
// 4 KB aliasing: an L1 cache puts lines a multiple of 4 KB apart into one set, which commonly has eight ways. With
// `rows` rows a multiple of 4 KB * 16 / rows apart, more lines of a set are in use than it has ways, and each line is
// fetched once for every block of 16 bytes that is read of it: conflict misses. Then some steps of each row are packed
// contiguously first, row after row, so that each line is read once.
//
//   rows in memory, a pitch of 4 KB         packed rows, kSteps apart
//   |aaaa...........|aaaa...........|   ->  |aaaa|bbbb|cccc|dddd|
//
// Measured on a Zen 4 (docs/perf/cpu-memory-bound.md, 4 KB aliasing): sums of 976 rows of 1024 float32
// 419 to 151 us. Not for rows out of memory, which take longer so.

template <class T>
constexpr bool has_conflict_misses(std::int64_t stride, int rows) {
  constexpr std::int64_t kAliasing = 4096;
  constexpr int kTooMany = 16;
  return stride != 0 && rows >= kTooMany &&
         stride * static_cast<std::int64_t>(sizeof(T)) % (kTooMany * kAliasing / rows) == 0;
}

// On the stack, of which a thread may have no more than 64 KB.
template <class T, int rows_, std::int64_t kBytes = 8 << 10>
struct PackedRows {
  static constexpr std::int64_t kSteps = kBytes / rows_ / static_cast<std::int64_t>(sizeof(T));
  static constexpr int kRowsAhead = 2;

  alignas(64) T data[rows_ * kSteps];

  // Packs `steps` steps from p on, and prefetches the same steps some rows later.
  template <class Rows>
  void pack(Rows const& rows, std::int64_t p, std::int64_t steps) {
    for (int row = 0; row < rows_; ++row) {
      T const* const from = rows[row] + p;
      T* const to = data + row * kSteps;
      T const* const ahead =
          row + kRowsAhead < rows_ ? rows[row + kRowsAhead] + p : rows[row + kRowsAhead - rows_] + p + kSteps;
      std::int64_t i = 0;
      for (; i + kLanes<T> <= steps; i += kLanes<T>) {
        __builtin_prefetch(ahead + i);
        store(to + i, load(from + i));
      }
      if (i < steps) store_partial(to + i, steps - i, load_partial(from + i, steps - i));
    }
  }

  EvenRows<T> rows() const { return {data, kSteps}; }
};

// Calls use(packed rows, p, steps) for pieces of K.
template <class Packed, class Rows, class Use>
CUTE_PY_INLINE void for_packed(Packed& packed, Rows const& rows, std::int64_t steps, Use const& use) {
  for (std::int64_t p = 0; p < steps; p += Packed::kSteps) {
    auto const count = steps - p < Packed::kSteps ? steps - p : Packed::kSteps;
    packed.pack(rows, p, count);
    use(packed.rows(), p, count);
  }
}

// ---- Software prefetch
//
// Rows that are read at a time are more streams than a hardware prefetcher follows.

// Two lines ahead in each row.
template <class T, class Rows>
CUTE_PY_INLINE void prefetch_rows(Rows const& rows, std::int64_t p) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes<T>; ++i) __builtin_prefetch(rows[i] + p + 2 * kLine<T>);
}

// What comes after the rows that are read, where they come from memory: see RowsAhead in gemv.hpp. Rows that follow
// each other so closely that the next ones fit into L1 beside them (short rows) are prefetched in stream order, line by
// line as they lie; others row by row into L2, and two lines ahead into L1.
//
// Measured on a Zen 5 (docs/perf-notes.md, "rows out of memory"): 2^20 x 64 times a vector 13.5 to 10.0 ms.
template <class T, int vectors, class Rows>
struct RowPrefetch {  // of pointed rows
  CUTE_PY_INLINE RowPrefetch(Rows const&, RowsAhead const&, std::int64_t) {}

  template <class From>
  CUTE_PY_INLINE void operator()(From const& from_p, std::int64_t) const {
    prefetch_rows<T>(from_p, 0);
  }
};

template <class T, int vectors>
struct RowPrefetch<T, vectors, EvenRows<T>> {
  CUTE_PY_INLINE RowPrefetch(EvenRows<T> const& rows_, RowsAhead const& ahead, std::int64_t steps)
      : rows(rows_),
        is_far(ahead.is_far),
        distance(ahead.steps + (ahead.in_rows_behind ? vectors * kLanes<T> * rows.stride : 0)),
        lines(ahead.in_rows_behind && are_short(rows.stride)
                  ? kLanes<T> * rows.stride / ((steps + kLine<T> - 1) / kLine<T> * kLine<T>)+1
                  : 0) {}

  // A line of each of a vector's rows begins at from_p, the `place`th element of all that these rows have.
  CUTE_PY_INLINE void operator()(EvenRows<T> const& from_p, std::int64_t place) const {
    if (lines > 0) {
      T const* const line = rows.first + vectors * kLanes<T> * rows.stride + place * lines;
      for (std::int64_t i = 0; i < lines; ++i) __builtin_prefetch(line + i * kLine<T>);
      return;
    }
    if (is_far) {
#pragma GCC unroll 16
      for (int i = 0; i < kLanes<T>; ++i) __builtin_prefetch(from_p[i] + distance, 0, 2);
    }
    prefetch_rows<T>(from_p, 0);
  }

 private:
  // Are these rows, and as many behind them, a small part of L1?
  static constexpr bool are_short(std::int64_t stride) {
    constexpr std::int64_t kMostBytes = 16 << 10;
    return stride > 0 && stride * vectors * kLanes<T> * static_cast<std::int64_t>(sizeof(T)) <= kMostBytes;
  }

  EvenRows<T> const rows;
  bool const is_far;
  std::int64_t const distance;
  std::int64_t const lines;  // of rows behind, for each line of a row; 0: row by row
};

}  // namespace
}  // namespace cute_py::cpu
