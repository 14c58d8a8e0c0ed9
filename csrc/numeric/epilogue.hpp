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

// 1 / (1 + 2^x) of float32, by the GPU's fast instructions: right to about 1e-6 of itself.
CUTE_HOST_DEVICE float fast_inverse_of_1_and_power(float x) {
#ifdef __CUDA_ARCH__
  float power, inverse;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1.0f + power));
  return inverse;
#else
  return 1.0f / (1.0f + std::exp2(x));
#endif
}

// Calls visit(function) with a function that is the activation, to about 1e-6; with none for Activation::none. One that
// takes many instructions is a gelu with erf.
template <class Visit>
CUTE_HOST_DEVICE void with_short_activation(Activation activation, Visit const& visit) {
  constexpr float log2e = 1.44269504088896340736f;
  constexpr float linear = -2 * log2e * 0.79788456080286535588f;
  switch (activation) {
    case Activation::none:
    case Activation::gelu:
      break;
    case Activation::relu:
      visit([](float x) { return activate(Activation::relu, x); });
      break;
    case Activation::gelu_tanh:
      visit([](float x) { return x * fast_inverse_of_1_and_power(x * (linear + linear * 0.044715f * (x * x))); });
      break;
    case Activation::silu:
      visit([](float x) { return x * fast_inverse_of_1_and_power(-log2e * x); });
      break;
    case Activation::sigmoid:
      visit([](float x) { return fast_inverse_of_1_and_power(-log2e * x); });
      break;
  }
}

}  // namespace cute_py::numeric
