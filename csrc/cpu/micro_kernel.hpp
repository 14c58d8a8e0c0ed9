#pragma once

#include <cstdint>

#include "problem/entry.hpp"

namespace cute_py::cpu {

// The part of the result that the innermost loops keep in registers: lanes * vectors rows and nr columns.
struct RegisterTile {
  int vector_bytes;
  int vectors;  // vector registers along m
  int nr;

  constexpr int mr(int element_bytes) const { return vector_bytes / element_bytes * vectors; }
};

constexpr RegisterTile register_tile(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return {16, 2, 4};
    case Isa::avx2:
      return {32, 2, 6};
    case Isa::avx512:
      return {64, 2, 14};
  }
  return {};
}

// What the sums of blocks of K are added in, so that a long K costs no digits: float's as doubles. Nothing is wider
// than double; of many blocks, what the sums lose by rounding is kept beside them.
template <class T>
struct SumOfBlocks {
  using Type = T;
};
template <>
struct SumOfBlocks<float> {
  using Type = double;
};
template <class T>
using SumOf = typename SumOfBlocks<T>::Type;

// The innermost loops, compiled once for each instruction set and for T = float, double and uint32.
template <class T>
struct MicroKernel {
  int mr;
  int nr;

  // acc(i,j) = sum_p a(i,p) * b(j,p), p ascending. a is (mr,k):(1,mr), b is (nr,k):(1,nr), acc is (mr,nr):(1,mr); a
  // and acc are 64-byte aligned.
  void (*multiply)(std::int64_t k, T const* a, T const* b, T* acc);

  // Adds a tile to the sums of its elements, or begins them if it is the `first`; `lost`, unless null, is what the sums
  // lose by rounding. All are 64-byte aligned.
  void (*gather)(T const* acc, SumOf<T>* sums, SumOf<T>* lost, bool first);

  // acc = sums, with what they lost unless that is null.
  void (*settle)(SumOf<T> const* sums, SumOf<T> const* lost, T* acc);

  // d(i,j) = alpha * acc(i,j) + beta * c(i,j) for i < rows, j < columns. The rows of c and d follow one another in
  // memory at any address, their columns are where the offsets say. beta == 0 does not read c. An element's bits do not
  // depend on its place in the tile.
  void (*store)(T alpha, T const* acc, T beta, T const* c, std::int64_t const* c_columns, T* d,
                std::int64_t const* d_columns, std::int64_t rows, std::int64_t columns);
};

template <class T, Isa isa>
MicroKernel<T> micro_kernel();

}  // namespace cute_py::cpu
