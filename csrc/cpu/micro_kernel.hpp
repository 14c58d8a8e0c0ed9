#pragma once

#include <cstdint>

#include "problem/entry.hpp"

namespace cute_py::cpu {

// The part of C that the innermost loops keep in registers: lanes * vectors rows and nr columns.
struct RegisterTile {
  int lanes;    // floats in a vector register
  int vectors;  // vector registers along m
  int nr;

  constexpr int mr() const { return lanes * vectors; }
};

constexpr RegisterTile register_tile(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return {4, 2, 4};
    case Isa::avx2:
      return {8, 2, 6};
    case Isa::avx512:
      return {16, 2, 14};
  }
  return {};
}

// The innermost loops, compiled once per instruction set.
struct MicroKernel {
  int mr;
  int nr;

  // acc(i,j) = sum_p a(i,p) * b(j,p), p ascending. a is (mr,k):(1,mr), b is (nr,k):(1,nr), acc is (mr,nr):(1,mr); a and
  // acc are 64-byte aligned.
  void (*multiply)(std::int64_t k, float const* a, float const* b, float* acc);

  // c(i,j) = alpha * acc(i,j) + beta * c(i,j) for i < rows, j < columns. beta == 0 does not read c. An element's bits
  // do not depend on its place in the tile.
  void (*store)(float alpha, float const* acc, float beta, float* c, std::int64_t stride_m, std::int64_t stride_n,
                std::int64_t rows, std::int64_t columns);
};

MicroKernel micro_kernel_baseline();
MicroKernel micro_kernel_avx2();
MicroKernel micro_kernel_avx512();

}  // namespace cute_py::cpu
