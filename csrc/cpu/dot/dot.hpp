#pragma once

#include <cstdint>

namespace cute_py::cpu {

// Dot products and reductions of contiguous numbers: dot.inl.
template <class T>
struct DotKernel {
  // sums[i] = sum_p a[p] * b[p] over the steps p of block i, each `block` long but for the last one, which may be
  // shorter; times[0] in the place of b[p] if b is null. Step p of a block goes to partial sum p modulo 64, or 32 of
  // doubles. Of these the first half and the second are added, number by number, until one is left.
  void (*blocks)(std::int64_t steps, std::int64_t block, T const* a, T const* b, T const* times, T* sums);
};

// What the sums of groups of blocks of K are added in, so that a long K costs no digits: float's as doubles. Nothing is
// wider than double; the rounding errors of its sums are kept beside them, their compensation.
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

// Compensated sums of lines of sums: compensated_sums.inl.
template <class T>
struct SumsKernel {
  // x += y.
  void (*add)(std::int64_t count, T const* y, T* x);

  // sums += acc, or sums = acc if it is the `first`; `compensation`, unless null, is what the sums lose by rounding.
  void (*accumulate)(std::int64_t count, T const* acc, SumOf<T>* sums, SumOf<T>* compensation, bool first);

  // acc = sums + compensation, or sums if that is null.
  void (*finalise)(std::int64_t count, SumOf<T> const* sums, SumOf<T> const* compensation, T* acc);
};

}  // namespace cute_py::cpu
