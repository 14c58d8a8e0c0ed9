#pragma once

#include <complex>

#include "numeric/types.hpp"
#include "problem/geometry.hpp"

// What happens to a sum before it is written, for a GPU and for a host.
namespace cute_py::numeric {

// What an epilogue computes in: the accumulator's type, but double for int32.
template <class Accumulator>
using EpilogueType = std::conditional_t<std::is_same_v<Accumulator, std::int32_t>, double, Accumulator>;

template <class T>
T scalar(std::complex<double> const& value) {
  if constexpr (kIsComplex<T>) {
    using Real = typename T::value_type;
    return T(static_cast<Real>(value.real()), static_cast<Real>(value.imag()));
  } else {
    return static_cast<T>(value.real());
  }
}

template <class T>
CUTE_HOST_DEVICE bool is_zero(T const& x) {
  if constexpr (kIsComplex<T>) {
    return x.real() == 0 && x.imag() == 0;
  } else {
    return x == T(0);
  }
}

// alpha * acc + beta * c, rounded twice: for alpha * acc, and for the fused multiply-add of beta * c. The order is
// spelt out, so that every compiler gives the same bits.
template <class T>
CUTE_HOST_DEVICE T axpby(T const& alpha, T const& acc, T const& beta, T const& c) {
  if constexpr (kIsComplex<T>) {
    using std::fma;
    T const x = alpha * acc;
    return T(fma(-beta.imag(), c.imag(), fma(beta.real(), c.real(), x.real())),
             fma(beta.imag(), c.real(), fma(beta.real(), c.imag(), x.imag())));
  } else {
    using std::fma;
    return fma(beta, c, alpha * acc);
  }
}

template <class T>
CUTE_HOST_DEVICE T activate(Activation activation, T x) {
  if constexpr (!kIsComplex<T>) {
    switch (activation) {
      case Activation::none:
        break;
      case Activation::relu:
        return x > T(0) || x != x ? x : T(0);
      case Activation::gelu:
        return T(0.5) * x * (T(1) + std::erf(x * T(0.70710678118654752440)));
      case Activation::gelu_tanh:
        return T(0.5) * x * (T(1) + std::tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x)));
      case Activation::silu:
        return x / (T(1) + std::exp(-x));
      case Activation::sigmoid:
        return T(1) / (T(1) + std::exp(-x));
    }
  }
  return x;
}

// 1 / (1 + exp(-x)) of float32, by the GPU's fast instructions: right to about 1e-6 of itself.
CUTE_HOST_DEVICE float fast_sigmoid(float x) {
#ifdef __CUDA_ARCH__
  return __fdividef(1.0f, 1.0f + __expf(-x));
#else
  return 1.0f / (1.0f + std::exp(-x));
#endif
}

// The same activations for results of 16 bits: of some numbers at once, which are in registers.
template <int count>
CUTE_HOST_DEVICE void activate_all(Activation activation, float (&numbers)[count]) {
  auto const each = [&](auto const& function) {
    CUTE_UNROLL
    for (int i = 0; i < count; ++i) numbers[i] = function(numbers[i]);
  };
  switch (activation) {
    case Activation::none:
      break;
    case Activation::relu:
      each([](float x) { return activate(Activation::relu, x); });
      break;
    case Activation::gelu:
      each([](float x) { return activate(Activation::gelu, x); });
      break;
    case Activation::gelu_tanh:
      each([](float x) { return x * fast_sigmoid(2 * 0.79788456080286535588f * (x + 0.044715f * x * x * x)); });
      break;
    case Activation::silu:
      each([](float x) { return x * fast_sigmoid(x); });
      break;
    case Activation::sigmoid:
      each([](float x) { return fast_sigmoid(x); });
      break;
  }
}

}  // namespace cute_py::numeric
