#pragma once

#include <cstdint>

#include "problem/entry.hpp"

namespace cute_py::cpu {

// What the sums of groups of blocks of K are added in, so that a long K costs no digits: float's as doubles. Nothing is
// wider than double; what its sums lose by rounding is kept beside them.
template <class T>
struct SumOfGroups {
  using Type = T;
};
template <>
struct SumOfGroups<float> {
  using Type = double;
};
template <class T>
using SumOf = typename SumOfGroups<T>::Type;

// The most columns that are written row by row out of vectors along the rows.
inline constexpr std::int64_t kMostInterleaved = 8;

// The most lanes of a vector.
inline constexpr int kMostLanes = 16;

// One factor of the products of a line: where its elements i are at step 0 of k. Along i it has stride 1, or 0 if all
// of the line has the same.
template <class T>
struct LineFactor {
  T const* data;
  bool varies;
  std::int64_t step;  // of k, in elements
};

// What is read after some steps of rows: `by` steps further on in the same rows, or, so counted, in as many rows behind
// these. `is_far`: rows are in memory, in no cache.
struct NextOfRows {
  bool is_far;
  bool of_rows_behind;
  std::int64_t by;
};

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

// Loops over a line of elements, compiled once for each instruction set and for T = float, double and uint32. Arrays
// lie at any address, unless it is said that they are aligned.
template <class T>
struct LineKernel {
  int lanes;  // elements of a vector

  // acc(i) += sum_p a(i,p) * b(i,p) for i < count, p < steps, p ascending; from 0 if it is the `first` of a sum.
  void (*multiply)(std::int64_t count, std::int64_t steps, LineFactor<T> a, LineFactor<T> b, T* acc, bool first);

  // The same for complex numbers, (re,im) side by side. Counts, strides and steps are of complex numbers.
  void (*multiply_complex)(std::int64_t count, std::int64_t steps, LineFactor<T> a, bool conj_a, LineFactor<T> b,
                           bool conj_b, T* acc, bool first);

  // acc(i) += sum_p a[i][p] * b[i][p] for all lanes i of 1, 2 or 4 vectors and p < steps, p ascending, from 0 if it is
  // the `first` of a sum. If b is null all rows are multiplied by `shared`, which does not vary. `next`: what of these
  // rows, or of those behind them, to ask for meanwhile.
  void (*multiply_rows)(std::int64_t steps, T const* const* a, T const* const* b, LineFactor<T> shared, T* acc,
                        bool first, int vectors, NextOfRows next);

  // sums[i] = sum_p a[p] * b[p] over the steps p of block i, each `block` long but for the last one, which may be
  // shorter; times[0] in the place of b[p] if b is null. Step p of a block goes to partial sum p modulo 64, or 32 of
  // doubles. Of these the first half and the second are added, number by number, until one is left.
  void (*sum_blocks)(std::int64_t steps, std::int64_t block, T const* a, T const* b, T const* times, T* sums);

  // d[i + j * d_j] = alpha * sum_p a(i,j,p) * b(i,j,p) for i < count_i, j < count_j, p < steps, p ascending.
  void (*elements)(std::int64_t count_i, std::int64_t count_j, std::int64_t steps, T const* a,
                   ElementFactor const& of_a, T const* b, ElementFactor const& of_b, T alpha, T* d, std::int64_t d_j);

  // out[p * count + i + q * panel] = from[steps[p] + q * count + i] for i < count, p < step_count, q < panels. `count`
  // is that of the rows or the columns of a register tile, or of its complex columns that are moved as doubles.
  void (*copy)(std::int64_t count, std::int64_t panels, std::int64_t step_count, T const* from,
               std::int64_t const* steps, T* out, std::int64_t panel);

  // out[p * out_step + lane] = rows[lane][p] for all lanes and p < steps, p ascending.
  void (*transpose)(T const* const* rows, std::int64_t steps, T* out, std::int64_t out_step);

  // Of `count` complex numbers, (re,im) side by side, the parts in lines of their own, the imaginary one negated or
  // not.
  void (*split)(std::int64_t count, T const* from, bool negate, T* re, T* im);

  // d = alpha * (re + i im), (re,im) side by side, alpha[0] + i alpha[1]; null: 1.
  void (*join)(std::int64_t count, T const* alpha, T const* re, T const* im, T* d);

  // re + i im += d, (re,im) side by side.
  void (*add_parts)(std::int64_t count, T const* d, T* re, T* im);

  // Copies a line to memory that nobody reads soon, past the caches where the processor can. Before others may see it,
  // stream_end() has to be called.
  void (*stream)(std::int64_t count, T const* from, T* to);
  void (*stream_end)();

  // x += y.
  void (*add)(std::int64_t count, T const* y, T* x);

  // Adds sums of a group of blocks of K to the sums of all, or begins them if it is the `first`; `lost`, unless null,
  // is what the sums lose by rounding.
  void (*gather)(std::int64_t count, T const* acc, SumOf<T>* sums, SumOf<T>* lost, bool first);

  // acc = sums, with what they lost unless that is null.
  void (*settle)(std::int64_t count, SumOf<T> const* sums, SumOf<T> const* lost, T* acc);

  // x = activation(x), and true; false if there is no such loop for T. Of float32 the relative error of exp is below
  // 2e-7 and that of 1 - erf below 5e-7.
  bool (*activate)(Activation activation, std::int64_t count, T* x);

  // d(i,j) = activation(alpha * acc(i,j) + bias(i,j)) for i < rows, j < columns, in one pass, and true; false if there
  // is no such loop for T. acc(i,j) is at acc[i + j * acc_column]; the rows of d follow one another, its columns are
  // where the offsets say.
  bool (*finish)(Activation activation, std::int64_t rows, std::int64_t columns, T alpha, T const* acc,
                 std::int64_t acc_column, BiasOfTile<T> const& bias, T* d, std::int64_t const* d_columns);

  // d[i * columns + j] = alpha * acc(i,j) for i < rows, j < columns, acc(i,j) at acc[i + j * acc_column], and true;
  // false if there are more columns than kMostInterleaved, or than a vector has lanes.
  bool (*interleave)(std::int64_t rows, std::int64_t columns, T alpha, T const* acc, std::int64_t acc_column, T* d);

  // d = alpha * acc + beta * c; beta == 0 does not read c.
  void (*scale)(std::int64_t count, T alpha, T const* acc, T beta, T const* c, T* d);

  // Numbers of T as float16 or bfloat16, rounded to nearest, ties to even, and the other way, and true; false if the
  // type is another. Null if T is not float.
  bool (*narrow)(DType type, std::int64_t count, T const* from, void* to);
  bool (*widen)(DType type, std::int64_t count, void const* from, T* to);
};

template <class T, Isa isa>
LineKernel<T> line_kernel();

}  // namespace cute_py::cpu
