#pragma once

#include <cstdint>

#include "base/activation.hpp"

namespace cute_py::cpu {

// The most columns that are interleaved in registers and written row by row.
inline constexpr std::int64_t kMostInterleaved = 8;

// How far apart the elements of a factor are along the two modes of a rectangle, and along k.
struct ElementFactor {
  std::int64_t i;
  std::int64_t j;
  std::int64_t k;
};

// What is added to a tile: its columns are where the offsets say, with an element for each row, which follow one
// another, or one for all. Null: nothing.
template <class T>
struct BiasOfTile {
  T const* data;
  bool varies;
  std::int64_t const* columns;
};

// Products without a reduction, or with a short one, and lines of epilogues: elementwise.inl, epilogue.inl.
template <class T>
struct ElementwiseKernel {
  // d[i + j * d_j] = alpha * sum_p a(i,j,p) * b(i,j,p) for i < count_i, j < count_j, p < steps, p ascending.
  void (*rectangle)(std::int64_t count_i, std::int64_t count_j, std::int64_t steps, T const* a,
                    ElementFactor const& of_a, T const* b, ElementFactor const& of_b, T alpha, T* d, std::int64_t d_j);

  // d = alpha * acc + beta * c; beta == 0 does not read c.
  void (*scale)(std::int64_t count, T alpha, T const* acc, T beta, T const* c, T* d);

  // d(i,j) = activation(alpha * acc(i,j) + bias(i,j)) for i < rows, j < columns, in one pass, and true; false if there
  // is no such activation for T. acc(i,j) is at acc[i + j * acc_column]; the rows of d are contiguous, its columns
  // are where the offsets say.
  bool (*finish)(Activation activation, std::int64_t rows, std::int64_t columns, T alpha, T const* acc,
                 std::int64_t acc_column, BiasOfTile<T> const& bias, T* d, std::int64_t const* d_columns);

  // d[i * columns + j] = alpha * acc(i,j) for i < rows, j < columns, acc(i,j) at acc[i + j * acc_column], and true;
  // false if there are more columns than kMostInterleaved, or than a vector has lanes.
  bool (*interleave)(std::int64_t rows, std::int64_t columns, T alpha, T const* acc, std::int64_t acc_column, T* d);
};

}  // namespace cute_py::cpu
