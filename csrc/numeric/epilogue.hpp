#pragma once

#include <complex>
#include <limits>

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

// factor * x, where a real factor of a complex number multiplies its parts: infinity times 1+0i has no NaN in it.
template <class T>
CUTE_HOST_DEVICE T times(T const& factor, T const& x) {
  if constexpr (kIsComplex<T>) {
    if (factor.imag() == 0) return T(factor.real() * x.real(), factor.real() * x.imag());
  }
  return factor * x;
}

// alpha * acc + beta * c, rounded twice: for alpha * acc, and for the fused multiply-add of beta * c. The order is
// spelt out, so that every compiler gives the same bits.
template <class T>
CUTE_HOST_DEVICE T axpby(T const& alpha, T const& acc, T const& beta, T const& c) {
  if constexpr (kIsComplex<T>) {
    using std::fma;
    T const x = times(alpha, acc);
    if (beta.imag() == 0) return T(fma(beta.real(), c.real(), x.real()), fma(beta.real(), c.imag(), x.imag()));
    return T(fma(-beta.imag(), c.imag(), fma(beta.real(), c.real(), x.real())),
             fma(beta.imag(), c.real(), fma(beta.real(), c.imag(), x.imag())));
  } else {
    using std::fma;
    return fma(beta, c, alpha * acc);
  }
}

// x, but the lowest number for minus infinity: what is multiplied by 0 there is 0 and not NaN. The other factor is NaN
// where x is. On a GPU it is one instruction: a comparison and a selection spilled registers of gemm_sm90.
template <class T>
CUTE_HOST_DEVICE T above_infinity(T x) {
  constexpr T kLowest = std::numeric_limits<T>::lowest();
#if defined(__CUDA_ARCH__)
  return std::fmax(x, kLowest);
#else
  return x < kLowest ? kLowest : x;
#endif
}

// 1 / (1 + e^-x), to the last digit of what is far below zero: there it is e^x / (1 + e^x).
template <class T>
CUTE_HOST_DEVICE T sigmoid(T x) {
  using std::exp;
  T const power = exp(x < T(0) ? x : -x);
  return (x < T(0) ? power : T(1)) / (T(1) + power);
}

template <class T>
CUTE_HOST_DEVICE T activate(Activation activation, T x) {
  static_assert(kActivations == 6, "a new activation needs a case here");
  if constexpr (!kIsComplex<T>) {
    switch (activation) {
      case Activation::none:
        break;
      case Activation::relu:
        return x > T(0) || x != x ? x : T(0);
      case Activation::gelu:  // 1 + erf would lose the digits of what is far below zero
        return T(0.5) * above_infinity(x) * std::erfc(x * T(-0.70710678118654752440));
      case Activation::gelu_tanh:  // (1 + tanh(y)) / 2 is the sigmoid of 2 y
        return above_infinity(x) * sigmoid(T(1.59576912160573071176) * (x + T(0.044715) * x * x * x));
      case Activation::silu:
        return above_infinity(x) * sigmoid(x);
      case Activation::sigmoid:
        return sigmoid(x);
    }
  }
  return x;
}

// 2^x and 1 / x of float32 by the GPU's fast instructions, right to about 2^-22.
CUTE_HOST_DEVICE float fast_power_of_2(float x) {
#ifdef __CUDA_ARCH__
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#else
  return std::exp2(x);
#endif
}
CUTE_HOST_DEVICE float fast_inverse(float x) {
#ifdef __CUDA_ARCH__
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
  return inverse;
#else
  return 1.0f / x;
#endif
}

// x / 2 * erfc(-x / sqrt(2)), to 4e-6 of |x| and 3e-5 of itself: erfc(z) = t * 2^(p(t) - z^2 / ln 2) with t = 1 / (1 +
// z / 2) and p fitted over 0 <= z <= 10, so that what is far below zero keeps its digits.
CUTE_HOST_DEVICE float fast_gelu(float x) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  float const size = std::fabs(x);
  float const z = size * 0.8493218f;  // sqrt(log2(e) / 2)
  float const t = fast_inverse(1.0f + 0.353553391f * size);
  float const p =
      -1.82723294f + t * (1.46867715f + t * (0.36710776f + t * (0.684503462f + t * (-1.02310493f + t * 0.330060375f))));
  float const finite = std::fmin(std::fmax(x, -kLargest), kLargest);  // infinity times 0 is no number
  float const rest = 0.5f * finite * t * fast_power_of_2(p - z * z);
  return x < 0.0f ? rest : x - rest;
}

// Calls visit(function) with a function that is the activation, for results of 16 bits; not of Activation::none, nor of
// gelu, which takes twice as many instructions as any other.
template <class Visit>
CUTE_HOST_DEVICE void with_short_activation(Activation activation, Visit const& visit) {
  static_assert(kActivations == 6, "a new activation needs a case here");
  constexpr float log2e = 1.44269504088896340736f;
  constexpr float linear = -2 * log2e * 0.79788456080286535588f;
  switch (activation) {
    case Activation::none:
    case Activation::gelu:
      break;
    case Activation::relu:
      visit([](float x) { return activate(Activation::relu, x); });
      break;
    case Activation::gelu_tanh:  // x / (1 + exp(-2 y)) for tanh(y)
      visit([](float x) {
        return above_infinity(x) * fast_inverse(1.0f + fast_power_of_2(x * (linear + linear * 0.044715f * (x * x))));
      });
      break;
    case Activation::silu:
      visit([](float x) { return above_infinity(x) * fast_inverse(1.0f + fast_power_of_2(-log2e * x)); });
      break;
    case Activation::sigmoid:
      visit([](float x) { return fast_inverse(1.0f + fast_power_of_2(-log2e * x)); });
      break;
  }
}

}  // namespace cute_py::numeric
