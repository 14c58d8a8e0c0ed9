#pragma once

#include <cstdint>

#include "cpu/gemm/register_tile.hpp"

namespace cute_py::cpu {

// The micro-kernel of packed panels: micro_kernel.inl. Of uint32 a step of k is a word of steps of int8.
template <class T>
struct MicroKernel {
  int mr;
  int nr;

  // acc(i,j) = sum_p a(i,p) * b(j,p), p ascending. a is (mr,k):(1,mr), b is (nr,k):(1,nr), acc is (mr,nr):(1,mr); a
  // and acc are 64-byte aligned.
  void (*multiply)(std::int64_t k, T const* a, T const* b, T* acc);

  // d(i,j) = alpha * (acc(i,j) + d(i,j)), or without d(i,j) if it is the `first`, out of the registers that are summed
  // in. The rows of d are contiguous, at any address, its columns are where the offsets say.
  void (*multiply_into)(std::int64_t k, T const* a, T const* b, bool first, T alpha, T* d,
                        std::int64_t const* d_columns);

  // acc(i,j) += d(i,j) for i < rows, j < columns, where d lies as in store().
  void (*add)(T const* d, std::int64_t const* d_columns, std::int64_t rows, std::int64_t columns, T* acc);

  // d(i,j) = alpha * acc(i,j) + beta * c(i,j) for i < rows, j < columns, acc(i,j) at acc[i + j * acc_column]. The rows
  // of c and d are contiguous, at any address, their columns are where the offsets say. beta == 0 does not
  // read c. An element's bits do not depend on its place in the tile.
  void (*store)(T alpha, T const* acc, std::int64_t acc_column, T beta, T const* c, std::int64_t const* c_columns, T* d,
                std::int64_t const* d_columns, std::int64_t rows, std::int64_t columns);
};

// The same of complex numbers: complex_micro_kernel.inl.
template <class T>
struct ComplexMicroKernel {
  int mr;
  int nr;

  // a is (mr,2,k):(1,mr,2 * mr) with the parts of a step one after the other, b is (2,nr,k) with those of a number, acc
  // is (mr,nr,2) with those of all.
  void (*multiply)(std::int64_t k, T const* a, T const* b, T* acc);

  // The same into d, (re,im) interleaved; alpha is 1.
  void (*multiply_into)(std::int64_t k, T const* a, T const* b, bool first, T* d, std::int64_t const* d_columns);
};

// Products of factors that are not packed: unpacked.inl.
template <class T>
struct UnpackedKernel {
  // d(i,j) = alpha * sum_p a(i,p) * b(j,p) for i < rows, j < columns: a(i,p) = a[i + p * a_step], b(j,p) = b[j *
  // b_column + p * b_step], d(i,j) is at d[i + j * d_column], all at any addresses.
  void (*along_m)(std::int64_t k, T const* a, std::int64_t a_step, std::int64_t rows, T const* b, std::int64_t b_column,
                  std::int64_t b_step, std::int64_t columns, T alpha, T* d, std::int64_t d_column);

  // The same for rows along k, a(i,p) = a[i * a_row + p], at most nr_along_k columns and as many vectors of rows as
  // mr_vectors_along_k says.
  void (*along_k)(std::int64_t k, T const* a, std::int64_t a_row, std::int64_t rows, T const* b, std::int64_t b_column,
                  std::int64_t b_step, std::int64_t columns, T alpha, T* d, std::int64_t d_column);
};

// int8 in words, each of so many steps of k: words.inl. Of A, they may be other words than of B.
inline constexpr int kMostStepsOfWord = 4;
struct WordKernel {
  MicroKernel<std::uint32_t> micro;  // unsigned, so that sums wrap round; the bits are those of int32
  int steps;

  // out[i] is the word of steps[0][i], steps[1][i] and so on, for i < count.
  void (*join_steps)(std::int64_t count, std::int8_t const* const* steps, bool is_a, std::uint32_t* out);

  // The words of a row along k, the last filled with zeros.
  void (*join_row)(std::int64_t steps, std::int8_t const* row, bool is_a, std::uint32_t* out);
};

template <Isa isa>
WordKernel word_kernel();

}  // namespace cute_py::cpu
