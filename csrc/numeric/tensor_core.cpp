#include "numeric/tensor_core.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cute_py::numeric {
namespace {

constexpr int kMostColumns = 256;

// Loops of doubles and of integers, in vectors where the processor has those of AVX2: truncation is an instruction
// then.
#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
#define CUTE_PY_VECTORS __attribute__((target_clones("avx2", "default"), optimize("O3", "no-trapping-math")))
#else
#define CUTE_PY_VECTORS
#endif

double power_of_2(int exponent) {  // of normal numbers
  constexpr int kBias = 1023;
  constexpr int kMantissa = 52;
  std::int64_t const bits = static_cast<std::int64_t>(exponent + kBias) << kMantissa;
  double power;
  std::memcpy(&power, &bits, sizeof(power));
  return power;
}

int exponent_of(float x, int least) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return std::max(static_cast<int>(bits >> 23 & 0xff) - 127, least);
}

// The exponent that a sum counts with.
int exponent_of_sum(TensorCore const& core, float c, bool is_half) {
  constexpr int kLeastOfFloat = -126;
  constexpr int kLeastOfHalf = -14;
  return c == 0 ? core.zero_exponent : exponent_of(c, is_half ? kLeastOfHalf : kLeastOfFloat);
}

float not_a_number() {
  std::uint32_t const bits = 0x7fffffff;
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// total, a whole number, times 2^unit, rounded.
float rounded(double total, int unit, TensorCore::Rounding rounding) {
  if (total == 0) return 0;
  double const value = std::ldexp(total, unit);
  if (rounding == TensorCore::Rounding::to_half) {
    constexpr int kMantissa = 10;
    constexpr int kLeast = -14;
    int const exponent = std::max(std::ilogb(value), kLeast);
    double const nearest = std::ldexp(std::nearbyint(std::ldexp(value, kMantissa - exponent)), exponent - kMantissa);
    if (nearest == 0) return 0;
    return std::abs(nearest) > 65504 ? std::copysign(HUGE_VALF, static_cast<float>(value))
                                     : static_cast<float>(nearest);
  }
  int const mantissa = rounding == TensorCore::Rounding::to_e8m13 ? 13 : 23;
  constexpr int kLeast = -126;
  int const last = std::max(std::ilogb(value), kLeast) - mantissa;  // the exponent of the last bit that is kept
  auto const kept = static_cast<float>(std::ldexp(std::trunc(std::ldexp(value, -last)), last));
  return kept == 0 ? 0 : kept;
}

// The same for a row, in vectors.
CUTE_PY_VECTORS void round_row(double const* totals, std::int32_t const* largest, int n, TensorCore const& core,
                               float* c) {
  constexpr int kBias = 1023;
  constexpr int kMantissa = 52;
  constexpr double kLeastNormal = 0x1p-126;
  std::int64_t const mask = core.rounding == TensorCore::Rounding::to_e8m13 ? -(std::int64_t{1} << (kMantissa - 13))
                                                                            : -(std::int64_t{1} << (kMantissa - 23));
  int is_small = 0;
  for (int j = 0; j < n; ++j) {
    std::int64_t const power = static_cast<std::int64_t>(largest[j] - core.kept + kBias) << kMantissa;
    double unit;
    __builtin_memcpy(&unit, &power, sizeof(unit));
    double const value = totals[j] * unit;
    std::int64_t bits;
    __builtin_memcpy(&bits, &value, sizeof(bits));
    bits &= mask;
    double kept;
    __builtin_memcpy(&kept, &bits, sizeof(kept));
    c[j] = static_cast<float>(kept + 0.0);  // no -0
    is_small |= static_cast<int>(__builtin_fabs(value) < kLeastNormal) & static_cast<int>(value != 0);
  }
  if (is_small == 0) return;
  for (int j = 0; j < n; ++j) c[j] = rounded(totals[j], largest[j] - core.kept, core.rounding);
}

// Raises the exponents of columns to those of their products with one element.
CUTE_PY_VECTORS void raise(std::int32_t exponent, std::int32_t const* exponents, int n, std::int32_t* largest) {
  for (int j = 0; j < n; ++j) {
    std::int32_t const own = exponent + exponents[j];
    largest[j] = largest[j] > own ? largest[j] : own;
  }
}

// Adds the products with one element, truncated to whole multiples of a unit, for each column.
CUTE_PY_VECTORS void add(double x, double const* values, int n, double const* per_unit, double* totals) {
  for (int j = 0; j < n; ++j) totals[j] += __builtin_trunc(x * values[j] * per_unit[j]);
}

CUTE_PY_VECTORS int largest_exponent(std::int32_t const* x, std::int32_t const* y, int count, int largest) {
  std::int32_t most = largest;
  for (int i = 0; i < count; ++i) most = most > x[i] + y[i] ? most : x[i] + y[i];
  return most;
}

CUTE_PY_VECTORS double sum_of_products(double const* x, double const* y, int count, double per_unit) {
  constexpr int kLanes = 4;
  double parts[kLanes] = {};
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) parts[lane] += __builtin_trunc(x[i + lane] * y[i + lane] * per_unit);
  }
  for (; i < count; ++i) parts[0] += __builtin_trunc(x[i] * y[i] * per_unit);
  return parts[0] + parts[1] + (parts[2] + parts[3]);
}

bool is_not_finite(std::int32_t exponent) { return exponent == Factor::kNotFinite; }

// A block of products of which some, or the sum, are NaN or infinite.
template <class X, class Y>
float sum_not_finite(X const& x, Y const& y, int first, int last, float c) {
  double sum = static_cast<double>(c);
  for (int i = first; i < last; ++i) sum += x(i) * y(i);
  return std::isnan(sum) ? not_a_number() : static_cast<float>(sum);
}

}  // namespace

Factor decoded(float x, FactorFormat format) {
  constexpr int kMantissa = 23;
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  if (format.least == -126 && (bits >> kMantissa & 0xff) != 0xff) {  // of float32, but for its last bits
    bits &= ~std::uint32_t{0} << (kMantissa - format.mantissa);
    std::memcpy(&x, &bits, sizeof(x));
  }
  if (x == 0) return {x, Factor::kOfZero};
  return {x, std::isfinite(x) ? exponent_of(x, format.least) : Factor::kNotFinite};
}

float tensor_sum(TensorCore const& core, FactorLine const& x, FactorLine const& y, int k, float c, bool c_is_half) {
  for (int first = 0; first < k; first += core.block) {
    int const last = std::min(first + core.block, k);
    bool is_finite = std::isfinite(c);
    for (int i = first; i < last; ++i)
      is_finite = is_finite && !is_not_finite(x.exponent[i]) && !is_not_finite(y.exponent[i]);
    if (is_finite) {
      int const largest = largest_exponent(x.exponent + first, y.exponent + first, last - first,
                                           std::max(exponent_of_sum(core, c, c_is_half), core.zero_exponent));
      double const per_unit = power_of_2(core.kept - largest);
      double const total = std::trunc(static_cast<double>(c) * per_unit) +
                           sum_of_products(x.value + first, y.value + first, last - first, per_unit);
      c = rounded(total, largest - core.kept, core.rounding);
    } else {
      c = sum_not_finite([&](int i) { return x.value[i]; }, [&](int i) { return y.value[i]; }, first, last, c);
    }
    c_is_half = core.rounding == TensorCore::Rounding::to_half;
  }
  return c;
}

float tensor_sum(TensorCore const& core, FactorFormat format_x, FactorFormat format_y, float const* x, float const* y,
                 int k, float c, bool c_is_half) {
  FactorLine line_x;
  FactorLine line_y;
  for (int i = 0; i < k; ++i) {
    line_x.set(i, decoded(x[i], format_x));
    line_y.set(i, decoded(y[i], format_y));
  }
  return tensor_sum(core, line_x, line_y, k, c, c_is_half);
}

void DecodedFactor::clear(FactorFormat format, int k, int n) {
  format_ = format;
  n_ = n;
  is_finite_ = true;
  auto const size = static_cast<std::size_t>(k) * static_cast<std::size_t>(n);
  values_.resize(size);
  exponents_.resize(size);
}

void tensor_row(TensorCore const& core, FactorFormat format_x, float const* x, DecodedFactor const& y, int k, float* c,
                bool c_is_half) {
  int const n = y.n();
  std::int32_t largest[kMostColumns];
  double per_unit[kMostColumns];
  double totals[kMostColumns];
  Factor factors[kMostProducts];
  for (int first = 0; first < k; first += core.block) {
    int const last = std::min(first + core.block, k);
    bool is_finite = y.is_finite();
    for (int i = first; i < last; ++i) {
      factors[i - first] = decoded(x[i], format_x);
      is_finite = is_finite && !is_not_finite(factors[i - first].exponent);
    }
    for (int j = 0; j < n; ++j) is_finite = is_finite && std::isfinite(c[j]);
    if (!is_finite) {
      float column[kMostProducts];
      for (int j = 0; j < n; ++j) {
        for (int i = first; i < last; ++i) column[i - first] = y.number(i, j);
        c[j] = tensor_sum(core, format_x, y.format(), x + first, column, last - first, c[j], c_is_half);
      }
      c_is_half = core.rounding == TensorCore::Rounding::to_half;
      continue;
    }
    for (int j = 0; j < n; ++j) largest[j] = std::max(exponent_of_sum(core, c[j], c_is_half), core.zero_exponent);
    for (int i = first; i < last; ++i) raise(factors[i - first].exponent, y.exponents(i), n, largest);
    for (int j = 0; j < n; ++j) {
      per_unit[j] = power_of_2(core.kept - largest[j]);
      totals[j] = std::trunc(static_cast<double>(c[j]) * per_unit[j]);
    }
    for (int i = first; i < last; ++i) {
      if (factors[i - first].value != 0)
        add(static_cast<double>(factors[i - first].value), y.values(i), n, per_unit, totals);
    }
    if (core.rounding == TensorCore::Rounding::to_half) {
      for (int j = 0; j < n; ++j) c[j] = rounded(totals[j], largest[j] - core.kept, core.rounding);
    } else {
      round_row(totals, largest, n, core, c);
    }
    c_is_half = core.rounding == TensorCore::Rounding::to_half;
  }
}

}  // namespace cute_py::numeric
