#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>

#include "problem/dtype.hpp"

// The vocabulary of the package: what is to be computed. Plain data, standard library only.
namespace cute_py {

// The most modes of a group, and of an array.
inline constexpr int kMaxModes = 24;

// The modes of one group: L, M, N or K. The first varies fastest.
struct Modes {
  int rank = 0;
  std::int64_t extent[kMaxModes];

  std::int64_t size() const {
    std::int64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= extent[i];
    return product;
  }
};

// An array as an operand: `data` is its element at coordinate 0. Strides count elements, may be zero or negative, and
// stand by group: of A for (M,K,L), of B for (N,K,L), of all others for (M,N,L).
struct Array {
  void* data = nullptr;
  DType type = DType::f32;
  std::int64_t stride[3][kMaxModes];
};

enum class Activation : std::uint8_t { none, relu, gelu, gelu_tanh, silu, sigmoid };

// What happens to x = alpha * A B^T + beta * C before it is written: activation(x + bias) * scale + residual.
struct Epilogue {
  Array bias;      // absent without data
  Array residual;  // absent without data
  Activation activation = Activation::none;
  double scale = 1;
  bool saturate = false;  // a result that the type of D cannot hold becomes its largest or smallest number

  bool is_plain() const {
    return bias.data == nullptr && residual.data == nullptr && activation == Activation::none && scale == 1 &&
           !saturate;
  }
};

// D(m,n,l) = epilogue(alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l))
struct Problem {
  Modes m;
  Modes n;
  Modes k;
  Modes l;
  Array a;  // (M,K,L)
  Array b;  // (N,K,L)
  Array c;  // (M,N,L), not read if beta == 0; may be D itself
  Array d;  // (M,N,L)
  bool conj_a = false;
  bool conj_b = false;
  std::complex<double> alpha = 1;
  std::complex<double> beta = 0;
  Compute compute = Compute::f32;
  Epilogue epilogue;
  bool batch_invariant = false;  // a row's bits must not depend on M, N and L

  // The modes of K that only A has, and those that only B has: a bit for each. A mode that both have may have stride 0,
  // too, but then each of its products counts.
  std::uint32_t own_a = 0;
  std::uint32_t own_b = 0;

  bool reads_c() const { return beta != 0.0; }
  bool is_empty() const { return m.size() == 0 || n.size() == 0 || l.size() == 0; }
};

// One mode, for a problem that has at most one in each group.
inline Modes one_mode(std::int64_t extent) {
  Modes modes;
  modes.rank = 1;
  modes.extent[0] = extent;
  return modes;
}

inline Array matrix(void* data, DType type, std::int64_t stride_0, std::int64_t stride_1) {
  Array array;
  array.data = data;
  array.type = type;
  array.stride[0][0] = stride_0;
  array.stride[1][0] = stride_1;
  return array;
}

// The element that many elements after the first one of an array.
inline void* element(void* data, DType type, std::int64_t offset) {
  return static_cast<char*>(data) + offset * bytes_of(type);
}

}  // namespace cute_py
