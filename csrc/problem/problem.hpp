#pragma once

#include <cstdint>

// The vocabulary of the package: what is to be computed. Plain data, standard library only.
namespace cute_py {

// A matrix somewhere in memory. Strides count elements; they may be zero or negative, and data points at element (0,0).
struct Matrix {
  void* data = nullptr;
  std::int64_t stride[2] = {0, 0};
};

// C(m,n) = alpha * sum_k A(m,k) * B(n,k) + beta * C(m,n), all float32.
struct Problem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Matrix a;  // (M,K)
  Matrix b;  // (N,K)
  Matrix c;  // (M,N)
  float alpha = 1;
  float beta = 0;
};

}  // namespace cute_py
