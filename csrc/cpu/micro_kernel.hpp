#pragma once

#include <cstdint>

#include "problem/entry.hpp"

namespace cute_py::cpu {

// The part of the result that the innermost loops keep in registers: lanes * vectors rows and nr columns.
struct RegisterTile {
  int vector_bytes;
  int vectors;  // vector registers along m
  int nr;
  int few;   // columns with which rows that lie along k are multiplied on their way into registers
  int wide;  // columns of a tile of up to two vectors

  constexpr int mr(int element_bytes) const { return vector_bytes / element_bytes * vectors; }
  constexpr int lanes(int element_bytes) const { return vector_bytes / element_bytes; }

  // Columns of complex numbers, which take two sums.
  constexpr int nr_complex() const { return nr / 2; }

  // Vectors along m of products whose factors are not packed: the fewer columns, the more, in as many registers as
  // leave some for the factors.
  constexpr int vectors_of(int columns) const {
    int const most = vector_bytes == 64 ? 24 : vector_bytes == 32 ? 12 : 8;
    return 8 * columns <= most ? 8 : 4 * columns <= most ? 4 : 3 * columns <= most ? 3 : 2;
  }

  // The same if rows lie along k: as few as have something else to do while each waits for its last sum, and are not
  // more rows than a cache can have on their way.
  constexpr int vectors_along_k(std::int64_t columns) const {
    return columns <= 2 && vector_bytes < 64 ? kMostVectorsAlongK : 2;
  }
  static constexpr int kMostVectorsAlongK = 4;
};

// Of a small product, a panel with so many steps of k at most is packed once for all columns.
inline constexpr std::int64_t kMostStepsPacked = 4096;

// So many bytes of its rows stay in the first-level cache, while all columns go by.
inline constexpr std::int64_t kBytesKept = 24 << 10;

constexpr RegisterTile register_tile(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return {16, 2, 4, 2, 4};
    case Isa::avx2:
      return {32, 2, 6, 4, 6};
    case Isa::avx512:
    case Isa::avx512_vnni:
      return {64, 3, 8, 6, 14};
  }
  return {};
}

// The innermost loops, compiled once for each instruction set and for T = float, double and uint32. Of uint32 a step of
// k is a word of them, as WordKernel makes it, and complex numbers and factors that are not packed are not there.
template <class T>
struct MicroKernel {
  int mr;
  int nr;
  int nr_complex;

  // acc(i,j) = sum_p a(i,p) * b(j,p), p ascending. a is (mr,k):(1,mr), b is (nr,k):(1,nr), acc is (mr,nr):(1,mr); a
  // and acc are 64-byte aligned.
  void (*multiply)(std::int64_t k, T const* a, T const* b, T* acc);

  // d(i,j) = alpha * (acc(i,j) + d(i,j)), or without d(i,j) if it is the `first`, out of the registers that are summed
  // in. The rows of d follow one another in memory at any address, its columns are where the offsets say.
  void (*multiply_into)(std::int64_t k, T const* a, T const* b, bool first, T alpha, T* d,
                        std::int64_t const* d_columns);

  // multiply() of complex numbers: a is (mr,2,k):(1,mr,2 * mr) with the parts of a step one after the other, b is
  // (2,nr_complex,k) with those of a number, acc is (mr,nr_complex,2) with those of all.
  void (*multiply_complex)(std::int64_t k, T const* a, T const* b, T* acc);

  // The same into d, of complex numbers, (re,im) side by side; alpha is 1.
  void (*multiply_complex_into)(std::int64_t k, T const* a, T const* b, bool first, T* d,
                                std::int64_t const* d_columns);

  // d(i,j) = alpha * sum_p a(i,p) * b(j,p) for i < rows, j < columns of factors that were not packed: a(i,p) = a[i + p
  // * a_step], b(j,p) = b[j * b_column + p * b_step], d(i,j) is at d[i + j * d_column], all at any addresses.
  void (*multiply_in_place)(std::int64_t k, T const* a, std::int64_t a_step, std::int64_t rows, T const* b,
                            std::int64_t b_column, std::int64_t b_step, std::int64_t columns, T alpha, T* d,
                            std::int64_t d_column);

  // The same for rows that lie along k, a(i,p) = a[i * a_row + p], at most `few` columns and as many vectors of rows as
  // vectors_along_k says.
  void (*multiply_rows)(std::int64_t k, T const* a, std::int64_t a_row, std::int64_t rows, T const* b,
                        std::int64_t b_column, std::int64_t b_step, std::int64_t columns, T alpha, T* d,
                        std::int64_t d_column);

  // acc(i,j) += d(i,j) for i < rows, j < columns, where d lies as in store().
  void (*add)(T const* d, std::int64_t const* d_columns, std::int64_t rows, std::int64_t columns, T* acc);

  // d(i,j) = alpha * acc(i,j) + beta * c(i,j) for i < rows, j < columns, acc(i,j) at acc[i + j * acc_column]. The rows
  // of c and d follow one another in memory at any address, their columns are where the offsets say. beta == 0 does not
  // read c. An element's bits do not depend on its place in the tile.
  void (*store)(T alpha, T const* acc, std::int64_t acc_column, T beta, T const* c, std::int64_t const* c_columns, T* d,
                std::int64_t const* d_columns, std::int64_t rows, std::int64_t columns);
};

template <class T, Isa isa>
MicroKernel<T> micro_kernel();

inline constexpr int kMostStepsOfWord = 4;

// Makes words out of int8, each of so many steps of k. Of A, they may be other words than of B.
struct WordKernel {
  int steps;

  // out[i] is the word of steps[0][i], steps[1][i] and so on, for i < count.
  void (*join_steps)(std::int64_t count, std::int8_t const* const* steps, bool is_a, std::uint32_t* out);

  // The words of a row along k, the last filled with zeros.
  void (*join_row)(std::int64_t steps, std::int8_t const* row, bool is_a, std::uint32_t* out);
};

template <Isa isa>
WordKernel word_kernel();

}  // namespace cute_py::cpu
