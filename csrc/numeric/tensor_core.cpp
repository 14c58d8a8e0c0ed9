#include "workbench/accumulate.hpp"

namespace cute_py::workbench {
namespace {

constexpr int kMostColumns = 256;

#if defined(__x86_64__) && defined(__linux__)
#define CUTE_PY_VECTORS __attribute__((target_clones("avx2", "default"), optimize("O3", "no-trapping-math")))
#else
#define CUTE_PY_VECTORS
#endif

// Raises the exponents of columns to those of their products with one element of x.
CUTE_PY_VECTORS void raise(std::int32_t significand, int exponent, std::int32_t const* significands,
                           std::int32_t const* exponents, int n, int zero, std::int32_t* largest) {
  for (int j = 0; j < n; ++j) {
    std::int32_t const own = significand * significands[j] == 0 ? zero : exponent + exponents[j];
    largest[j] = largest[j] > own ? largest[j] : own;
  }
}

// Adds significand * 2^by, truncated to a whole number, for each column.
CUTE_PY_VECTORS void add(std::int32_t significand, int exponent, std::int32_t const* significands,
                         std::int32_t const* exponents, int n, int scale, std::int32_t const* largest, double* totals) {
  constexpr int kLeast = -200;  // nothing is left then
  constexpr int kBias = 1023;
  constexpr int kMantissa = 52;
  for (int j = 0; j < n; ++j) {
    std::int32_t const wanted = exponent + exponents[j] - largest[j] + scale;
    std::int64_t const by = wanted < kLeast ? kLeast : wanted;
    std::int64_t const bits = (by + kBias) << kMantissa;
    double power;
    __builtin_memcpy(&power, &bits, sizeof(power));
    totals[j] += __builtin_trunc(static_cast<double>(significand * significands[j]) * power);
  }
}

}  // namespace

void tensor_row(TensorCore const& core, FactorFormat format_x, float const* x, DecodedFactor const& y, int k, float* c,
                bool c_is_half) {
  int const n = y.n();
  constexpr FactorFormat kFloat{23, -126};
  constexpr FactorFormat kHalf{23, -14};
  std::int32_t significands[kMostColumns];
  std::int32_t exponents[kMostColumns];
  std::int32_t largest[kMostColumns];
  double totals[kMostColumns];
  for (int first = 0; first < k; first += core.block) {
    int const last = std::min(first + core.block, k);
    bool is_finite = y.is_finite();
    for (int i = first; i < last; ++i) is_finite = is_finite && std::isfinite(x[i]);
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
    for (int j = 0; j < n; ++j) {
      Decoded const sum = decode(c[j], c_is_half ? kHalf : kFloat);
      significands[j] = sum.significand;
      exponents[j] = sum.exponent;
      largest[j] = core.zero_exponent;
      totals[j] = 0;
    }
    raise(1, 0, significands, exponents, n, core.zero_exponent, largest);
    for (int i = first; i < last; ++i) {
      Decoded const p = decode(x[i], format_x);
      raise(p.significand, p.exponent, y.significands(i), y.exponents(i), n, core.zero_exponent, largest);
    }
    add(1, 0, significands, exponents, n, core.kept - kFloat.mantissa, largest, totals);
    int const scale = core.kept - format_x.mantissa - y.format().mantissa;
    for (int i = first; i < last; ++i) {
      Decoded const p = decode(x[i], format_x);
      if (p.significand != 0)
        add(p.significand, p.exponent, y.significands(i), y.exponents(i), n, scale, largest, totals);
    }
    for (int j = 0; j < n; ++j)
      c[j] = accumulate::rounded(static_cast<std::int64_t>(totals[j]), largest[j] - core.kept, core.rounding);
    c_is_half = core.rounding == TensorCore::Rounding::to_half;
  }
}

}  // namespace cute_py::workbench
