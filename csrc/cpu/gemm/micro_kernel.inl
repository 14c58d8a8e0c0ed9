// micro-kernel: an MR x NR tile of the result in registers, over a panel of A and one of B
//
//   k steps:   a  MR rows      *    b  NR columns     ->   MR x NR sums, all in registers (register_tile.hpp)
//              |:|:|:|              one number at a time, in every lane
//
// Panels:  a and acc 64-byte aligned; b anywhere
// Order:   k ascending, one accumulator for each element, fused multiply-adds
#pragma once

#include "cpu/gemm/micro_kernel.hpp"
#include "cpu/simd.inl"

namespace cute_py::cpu {
namespace {

constexpr int kVectors = kTile.mr_vectors;
constexpr int kNr = kTile.nr;
template <class T>
constexpr int kMr = kTile.mr(sizeof(T));
constexpr int kStepsAhead = 8;  // of k, that panels of A are prefetched ahead

template <class T>
constexpr bool kIsWords = std::is_same_v<T, std::uint32_t>;

template <class T>
CUTE_PY_INLINE Vec<T> add_products(Vec<T> const& x, Vec<T> const& y, Vec<T> const& sums) {
  if constexpr (kIsWords<T>) {
    return add_word_products(x, y, sums);
  } else {
    return multiply_add<T>(x, y, sums);
  }
}

// Calls put(j, v, sums) for every vector of the tile.
//
// Zero-point correction: where words have four bytes, the processor wants those of A without signs. So A has 128, its
// zero point, added to it, and 128 times the sum of each column of B is taken off the sums again.
template <class T, class Put>
CUTE_PY_INLINE void multiply_and_put(std::int64_t k, T const* a, T const* b, Put const& put) {
  constexpr bool kHasZeroPoint = kIsWords<T> && kStepsOfWord == 4;
  static_assert(!kHasZeroPoint || kNr == 8);
  Vec<T> c[kNr][kVectors] = {};
  ZeroPointSums zero_point;
  for (std::int64_t p = 0; p < k; ++p) {
    if constexpr (kHasZeroPoint) zero_point.add(b);
    Vec<T> column[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) column[v] = reinterpret_cast<Vec<T> const*>(a)[v];
#pragma GCC unroll 4
    for (int byte = 0; byte < kVectors * kVectorBytes; byte += kBytesOfLine) {
      __builtin_prefetch(reinterpret_cast<char const*>(a + kStepsAhead * kMr<T>) + byte);
    }
#pragma GCC unroll 16
    for (int j = 0; j < kNr; ++j) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) c[j][v] = add_products<T>(column[v], broadcast(b[j]), c[j][v]);
    }
    a += kMr<T>;
    b += kNr;
  }
#pragma GCC unroll 16
  for (int j = 0; j < kNr; ++j) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kHasZeroPoint) {
        put(j, v, c[j][v] - broadcast(zero_point.of_column(j)));
      } else {
        put(j, v, c[j][v]);
      }
    }
  }
}

template <class T>
void multiply(std::int64_t k, T const* a, T const* b, T* acc) {
  auto* const tile = reinterpret_cast<Vec<T>*>(acc);
  multiply_and_put(k, a, b, [&](int j, int v, Vec<T> const& x) CUTE_PY_INLINE_LAMBDA { tile[j * kVectors + v] = x; });
}

template <class T>
void multiply_into(std::int64_t k, T const* a, T const* b, bool first, T alpha, T* d, std::int64_t const* d_columns) {
  if (first) {
    multiply_and_put(k, a, b, [&](int j, int v, Vec<T> const& x) CUTE_PY_INLINE_LAMBDA {
      store(d + d_columns[j] + v * kLanes<T>, alpha * x);
    });
  } else {
    multiply_and_put(k, a, b, [&](int j, int v, Vec<T> const& x) CUTE_PY_INLINE_LAMBDA {
      T* const to = d + d_columns[j] + v * kLanes<T>;
      Vec<T> const sum = x + load(to);
      store(to, alpha * sum);
    });
  }
}

template <class T>
void store_tile(T alpha, T const* acc, std::int64_t acc_column, T beta, T const* c, std::int64_t const* c_columns, T* d,
                std::int64_t const* d_columns, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t j = 0; j < columns; ++j) {
    T const* const from = acc + j * acc_column;
    T* const to = d + d_columns[j];
    if (beta == 0) {
      for (std::int64_t i = 0; i < rows; i += kLanes<T>) {
        Vec<T> const x = alpha * *reinterpret_cast<Vec<T> const*>(from + i);
        store_some(to + i, rows - i >= kLanes<T>, rows - i, x);
      }
    } else {
      auto const* const other = reinterpret_cast<LooseElement<T> const*>(c + c_columns[j]);
      auto* const result = reinterpret_cast<LooseElement<T>*>(to);
#pragma GCC ivdep
      for (std::int64_t i = 0; i < rows; ++i) result[i] = add_scaled(alpha * from[i], beta, other[i]);
    }
  }
}

template <class T>
void add_tile(T const* d, std::int64_t const* d_columns, std::int64_t rows, std::int64_t columns, T* acc) {
  for (std::int64_t j = 0; j < columns; ++j) {
    T const* const from = d + d_columns[j];
    for (std::int64_t i = 0; i < rows; i += kLanes<T>) {
      auto* const to = reinterpret_cast<Vec<T>*>(acc + j * kMr<T> + i);
      *to += load_some(from + i, rows - i >= kLanes<T>, rows - i);
    }
  }
}

template <class T>
constexpr MicroKernel<T> kMicro = {.mr = kMr<T>,
                                   .nr = kNr,
                                   .multiply = &multiply<T>,
                                   .multiply_into = &multiply_into<T>,
                                   .add = &add_tile<T>,
                                   .store = &store_tile<T>};

}  // namespace
}  // namespace cute_py::cpu
