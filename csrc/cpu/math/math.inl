// math: exp, 1 - erf and the activations made of them, over vectors
//
//   exp(x) = 2^n * P(r)    x = n ln 2 + r, |r| <= ln 2 / 2, P a polynomial of degree 6 (float) or 13 (double)
//   sigmoid, silu, gelu_tanh from exp; gelu of float from 1 - erf, that of double is the C library's (finish.hpp)
//
// Every polynomial is by Horner's rule in fused multiply-adds: the same bits in a vector, in its tail and alone.
#pragma once

#include "cpu/math/math.hpp"
#include "cpu/simd.inl"

namespace cute_py::cpu {
namespace {

// Of float the last four are fitted, of double all are those of Taylor's series.
template <class T>
struct ExpCoefficients {
  static constexpr int kDegree = 6;
  float value[kDegree + 1] = {1.0f, 1.0f, 0.5f, 0.16666533f, 0.041667238f, 0.0083675142f, 0.0013863753f};
};
template <>
struct ExpCoefficients<double> {
  static constexpr int kDegree = 13;
  double value[kDegree + 1] = {1};

  constexpr ExpCoefficients() {
    for (int i = 1; i <= kDegree; ++i) value[i] = value[i - 1] / i;
  }
};

// e^x. Below the least normal number it stays there: a processor takes ten times as long for denormal ones.
template <class T>
CUTE_PY_INLINE Vec<T> exp_of(Vec<T> x) {
  constexpr bool kFloat = sizeof(T) == 4;
  constexpr T kLow = kFloat ? T(-87) : T(-708);
  constexpr T kHigh = kFloat ? T(89) : T(710);
  constexpr T kRound = kFloat ? T(12582912) : T(6755399441055744);  // 1.5 * 2^mantissa: what is added to it is rounded
  constexpr T kHighPart = kFloat ? T(0.693359375) : T(0.693147180369123816490);
  constexpr T kLowPart = kFloat ? T(-2.12194440e-4) : T(1.90821492927058770002e-10);
  Vec<T> const zero = {};
  x = at_most<T>(zero + kHigh, at_least<T>(zero + kLow, x));
  Vec<T> const n = multiply_add<T>(x, zero + T(1.44269504088896340736), zero + kRound) - kRound;
  Vec<T> const r = multiply_add<T>(n, zero - kLowPart, multiply_add<T>(n, zero - kHighPart, x));
  constexpr ExpCoefficients<T> kOf{};
  Vec<T> y = zero + kOf.value[kOf.kDegree];
#pragma GCC unroll 16
  for (int i = kOf.kDegree - 1; i >= 0; --i) y = multiply_add<T>(y, r, zero + kOf.value[i]);
  return times_power_of_two<T>(y, n);
}

// 1 - erf(z) for z >= 0, as t * exp(-z^2 + p(t)) with t = 1 / (1 + z / 2). p is fitted to it.
Vec<float> erfc_of(Vec<float> z) {
  constexpr float kCoefficient[] = {-1.265482275e+00f, 9.993480783e-01f, 3.803541216e-01f,  6.523265134e-02f,
                                    -9.025566019e-02f, 9.432143033e-02f, -9.097406772e-01f, 1.318652953e+00f,
                                    -7.501815790e-01f, 1.577510140e-01f};
  Vec<float> const zero = {};
  z = z > zero + 9.0f ? zero + 9.0f : z;  // beyond, 1 - erf is less than 1e-36, and its powers would be denormal
  Vec<float> const t = 1.0f / (1.0f + 0.5f * z);
  Vec<float> p = zero + kCoefficient[9];
#pragma GCC unroll 16
  for (int i = 8; i >= 0; --i) p = multiply_add<float>(p, t, zero + kCoefficient[i]);
  return t * exp_of<float>(multiply_add<float>(-z, z, p));
}

// The lowest number for minus infinity, which times 0 is NaN.
template <class T>
CUTE_PY_INLINE Vec<T> above_infinity(Vec<T> const& x) {
  constexpr T kLowest = sizeof(T) == 4 ? T(-__FLT_MAX__) : T(-__DBL_MAX__);
  return at_least<T>(Vec<T>{} + kLowest, x);
}

// 1 / (1 + e^-x), which far below zero is e^x / (1 + e^x), and 0 where e^x would be denormal.
template <class T>
CUTE_PY_INLINE Vec<T> sigmoid_of(Vec<T> const& x) {
  constexpr T kLow = sizeof(T) == 4 ? T(-87) : T(-708);
  Vec<T> const zero = {};
  Vec<T> const power = exp_of<T>(minus_magnitude<T>(x));
  Vec<T> const of_x = x < zero + kLow ? zero : power;
  return (x < zero ? of_x : zero + T(1)) / (T(1) + power);
}

template <class T, Activation activation>
Vec<T> activated(Vec<T> x) {
  Vec<T> const zero = {};
  if constexpr (activation == Activation::none) {
    return x;
  } else if constexpr (activation == Activation::relu) {
    return x < zero ? zero : x;  // NaN stays
  } else if constexpr (activation == Activation::sigmoid) {
    return sigmoid_of<T>(x);
  } else if constexpr (activation == Activation::silu) {
    return above_infinity<T>(x) * sigmoid_of<T>(x);
  } else if constexpr (activation == Activation::gelu_tanh) {
    // (1 + tanh(u)) / 2 is the sigmoid of 2u.
    constexpr T kTwo = T(2) * T(0.79788456080286535588);
    return above_infinity<T>(x) * sigmoid_of<T>(kTwo * multiply_add<T>(T(0.044715) * x * x, x, x));
  } else {
    static_assert(activation == Activation::gelu, "a new activation needs a case here");
    Vec<T> const z = x * T(0.70710678118654752440);
    Vec<T> const tail = erfc_of(z < zero ? -z : z);
    Vec<T> const half = T(0.5) * above_infinity<T>(x);
    return half * (x < zero - T(12.7) ? zero
                   : z < zero         ? tail
                                      : T(2) - tail);  // from there on the tail no longer shrinks
  }
}

// Calls use(std::integral_constant of it) for an activation that there are vectors for, and says whether there are.
template <class T, class Use>
CUTE_PY_INLINE bool with_activation(Activation activation, Use const& use) {
  static_assert(kActivations == 6, "a new activation needs a case here");
  switch (activation) {
    case Activation::none:
      return use(std::integral_constant<Activation, Activation::none>{}), true;
    case Activation::relu:
      return use(std::integral_constant<Activation, Activation::relu>{}), true;
    case Activation::sigmoid:
      return use(std::integral_constant<Activation, Activation::sigmoid>{}), true;
    case Activation::silu:
      return use(std::integral_constant<Activation, Activation::silu>{}), true;
    case Activation::gelu_tanh:
      return use(std::integral_constant<Activation, Activation::gelu_tanh>{}), true;
    case Activation::gelu:
      if constexpr (sizeof(T) == 4) return use(std::integral_constant<Activation, Activation::gelu>{}), true;
  }
  return false;
}

template <class T, Activation activation>
void activate_line(std::int64_t count, T* x) {
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) store(x + i, activated<T, activation>(load(x + i)));
  if (i < count) store_partial(x + i, count - i, activated<T, activation>(load_partial(x + i, count - i)));
}

template <class T>
bool activate(Activation activation, std::int64_t count, T* x) {
  return with_activation<T>(activation, [&](auto of) {
    if constexpr (of != Activation::none) activate_line<T, of>(count, x);
  });
}

template <class T>
constexpr MathKernel<T> kMath = {.activate = &activate<T>};

}  // namespace
}  // namespace cute_py::cpu
