#pragma once

#include <cstdint>

namespace cute_py::cpu {

// One factor of the products of a line: where its elements i are at step 0 of k. Along i it has stride 1, or 0 if all
// of the line has the same.
template <class T>
struct LineFactor {
  T const* data;
  bool varies;
  std::int64_t step;  // of k, in elements
};

// What is read after some steps of rows, for software prefetch: `steps` further on in the same rows, or, so counted, in
// as many rows behind these. `is_far`: rows are in memory, in no cache.
struct RowsAhead {
  bool is_far;
  bool in_rows_behind;
  std::int64_t steps;
};

// Sums over k of products in which no factor is used often: a matrix times a vector, and what is like it. gemv.inl has
// the contract of each.
template <class T>
struct GemvKernel {
  int lanes;

  // acc(i) += sum_p a(i,p) * b(i,p) for i < count, p < steps, p ascending; from 0 if it is the `first` of a sum.
  void (*lines)(std::int64_t count, std::int64_t steps, LineFactor<T> a, LineFactor<T> b, T* acc, bool first);

  // acc(i) += sum_p a[i][p] * b[i][p] for all lanes i of 1, 2 or 4 vectors and p < steps, p ascending, from 0 if it is
  // the `first` of a sum. If b is null all rows are multiplied by `shared`, which does not vary.
  void (*rows)(std::int64_t steps, T const* const* a, T const* const* b, LineFactor<T> shared, T* acc, bool first,
               int vectors, RowsAhead ahead);
};

// The same of complex numbers, (re,im) interleaved. Counts, strides and steps are of complex numbers.
template <class T>
struct ComplexGemvKernel {
  void (*lines)(std::int64_t count, std::int64_t steps, LineFactor<T> a, bool conj_a, LineFactor<T> b, bool conj_b,
                T* acc, bool first);
};

}  // namespace cute_py::cpu
