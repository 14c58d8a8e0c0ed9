#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

// The sums of a tensor core, as microsoft/MMA-Sim models them (arXiv:2511.10909), which was checked on GPUs: some
// products and the sum so far are truncated to a multiple of a power of two below the largest of them, added exactly,
// and rounded once.
namespace cute_py::workbench {

struct TensorCore {
  enum class Rounding : std::uint8_t { to_float, to_e8m13, to_half };  // the first two toward zero

  int kept;           // bits below the exponent of the largest number
  int block;          // products that are added together
  int zero_exponent;  // that a product of zero counts with
  Rounding rounding;
};

// mma.sync of a generation, 80 for 8.0.
inline TensorCore mma_sync_core(int architecture, bool is_of_volta, int bytes, bool sums_half) {
  bool const is_volta = architecture < 75 || (architecture < 80 && is_of_volta);
  bool const is_hopper = architecture >= 90;
  int const kept = is_volta ? 23 : is_hopper ? 25 : 24;
  int const block_bytes = is_volta ? 8 : is_hopper ? 32 : 16;
  int const zero_exponent = (sums_half ? 4 : -108) - kept;
  using Rounding = TensorCore::Rounding;
  if (bytes == 1 && !is_hopper)
    return {13, block_bytes, zero_exponent, sums_half ? Rounding::to_half : Rounding::to_e8m13};
  return {kept, block_bytes / bytes, zero_exponent, sums_half ? Rounding::to_half : Rounding::to_float};
}

// wgmma, and tcgen05.mma, which keeps all bits of sums of float8.
inline TensorCore warpgroup_core(int bytes, bool sums_half, bool keeps_float8) {
  using Rounding = TensorCore::Rounding;
  bool const is_short = bytes == 1 && !keeps_float8;
  Rounding const rounding = sums_half ? Rounding::to_half : is_short ? Rounding::to_e8m13 : Rounding::to_float;
  return {is_short ? 13 : 25, 32 / bytes, sums_half ? -21 : -133, rounding};
}

inline constexpr int kMostProducts = 32;  // that are added together

// A type of factors: bits of its mantissa, and the exponent of its subnormal numbers.
struct FactorFormat {
  int mantissa;
  int least;
};
inline FactorFormat format_of(std::string_view type) {
  if (type == "bf16") return {7, -126};
  if (type == "tf32") return {10, -126};
  if (type == "e4m3") return {3, -6};
  if (type == "e5m2") return {2, -14};
  if (type == "e2m3") return {3, 0};
  if (type == "e3m2") return {2, -2};
  if (type == "e2m1") return {1, 0};
  return {10, -14};  // f16
}

// A finite number as significand * 2^(exponent - mantissa), whose significand is below 2^mantissa if it is subnormal.
struct Decoded {
  std::int32_t significand;
  int exponent;
};
inline Decoded decode(float x, FactorFormat format) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  int const field = static_cast<int>(bits >> 23 & 0xff);
  std::uint32_t const all = (bits & 0x7fffffu) | (field != 0 ? 0x800000u : 0u);
  int const own = std::max(field, 1) - 127;
  int const exponent = std::max(own, format.least);
  auto const significand = static_cast<std::int32_t>(all >> (23 - format.mantissa + exponent - own));
  return {(bits >> 31) != 0 ? -significand : significand, exponent};
}

namespace accumulate {

inline std::int64_t shifted(std::int64_t x, int by) {  // toward zero
  std::int64_t const magnitude = x < 0 ? -x : x;
  std::int64_t const moved = by >= 0 ? magnitude << by : by > -63 ? magnitude >> -by : 0;
  return x < 0 ? -moved : moved;
}

inline float not_a_number() {
  std::uint32_t const bits = 0x7fffffff;
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// total * 2^unit, rounded.
inline float rounded(std::int64_t total, int unit, TensorCore::Rounding rounding) {
  if (total == 0) return 0;
  if (rounding == TensorCore::Rounding::to_half) {
    constexpr int kMantissa = 10;
    constexpr int kLeast = -14;
    double const value = std::ldexp(static_cast<double>(total), unit);
    int const exponent = std::max(std::ilogb(value), kLeast);
    double const nearest = std::ldexp(std::nearbyint(std::ldexp(value, kMantissa - exponent)), exponent - kMantissa);
    if (nearest == 0) return 0;
    return std::abs(nearest) > 65504 ? std::copysign(HUGE_VALF, static_cast<float>(value))
                                     : static_cast<float>(nearest);
  }
  std::uint64_t magnitude = total < 0 ? -static_cast<std::uint64_t>(total) : static_cast<std::uint64_t>(total);
  int const mantissa = rounding == TensorCore::Rounding::to_e8m13 ? 13 : 23;
  int const top = 63 - __builtin_clzll(magnitude);
  int const least = -126 - mantissa - unit;  // of the last bit of a subnormal number
  int const dropped = std::max({top - mantissa, least, 0});
  magnitude = dropped > 63 ? 0 : magnitude >> dropped << dropped;
  auto const value = static_cast<float>(std::ldexp(static_cast<double>(magnitude), unit));
  return total < 0 && value != 0 ? -value : value;
}

}  // namespace accumulate

// c + x[0] y[0] + ... + x[k-1] y[k-1], of factors of one format, or of two.
inline float tensor_sum(TensorCore const& core, FactorFormat format_x, FactorFormat format_y, float const* x,
                        float const* y, int k, float c, bool c_is_half) {
  constexpr FactorFormat kFloat{23, -126};
  constexpr FactorFormat kHalf{23, -14};
  for (int first = 0; first < k; first += core.block) {
    int const count = std::min(core.block, k - first);
    bool is_finite = std::isfinite(c);
    for (int i = first; i < first + count; ++i) is_finite = is_finite && std::isfinite(x[i]) && std::isfinite(y[i]);
    if (!is_finite) {
      double sum = c;
      for (int i = first; i < first + count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
      c = std::isnan(sum) ? accumulate::not_a_number() : static_cast<float>(sum);
      c_is_half = core.rounding == TensorCore::Rounding::to_half;
      continue;
    }
    std::int64_t products[kMostProducts];
    int exponents[kMostProducts];
    Decoded const sum = decode(c, c_is_half ? kHalf : kFloat);
    int const sum_exponent = sum.significand == 0 ? core.zero_exponent : sum.exponent;
    int largest = sum_exponent;
    for (int i = 0; i < count; ++i) {
      Decoded const p = decode(x[first + i], format_x);
      Decoded const q = decode(y[first + i], format_y);
      products[i] = static_cast<std::int64_t>(p.significand) * q.significand;
      exponents[i] = products[i] == 0 ? core.zero_exponent : p.exponent + q.exponent;
      largest = std::max(largest, exponents[i]);
    }
    std::int64_t total = accumulate::shifted(sum.significand, sum_exponent - largest + core.kept - kFloat.mantissa);
    for (int i = 0; i < count; ++i) {
      int const by = exponents[i] - largest + core.kept - format_x.mantissa - format_y.mantissa;
      total += accumulate::shifted(products[i], by);
    }
    c = accumulate::rounded(total, largest - core.kept, core.rounding);
    c_is_half = core.rounding == TensorCore::Rounding::to_half;
  }
  return c;
}

// The second factor of an instruction, (k,n), decoded once.
class DecodedFactor {
 public:
  DecodedFactor(FactorFormat format, int k, int n) : format_(format), n_(n) {
    auto const size = static_cast<std::size_t>(k) * static_cast<std::size_t>(n);
    numbers_.resize(size);
    significands_.resize(size);
    exponents_.resize(size);
  }
  void set(int k, int n, float x) {
    std::size_t const at = static_cast<std::size_t>(k) * static_cast<std::size_t>(n_) + static_cast<std::size_t>(n);
    Decoded const found = decode(x, format_);
    numbers_[at] = x;
    significands_[at] = found.significand;
    exponents_[at] = found.exponent;
    is_finite_ = is_finite_ && std::isfinite(x);
  }
  FactorFormat format() const { return format_; }
  int n() const { return n_; }
  bool is_finite() const { return is_finite_; }
  float number(int k, int n) const { return numbers_[static_cast<std::size_t>(k * n_ + n)]; }
  std::int32_t const* significands(int k) const { return &significands_[static_cast<std::size_t>(k * n_)]; }
  std::int32_t const* exponents(int k) const { return &exponents_[static_cast<std::size_t>(k * n_)]; }

 private:
  FactorFormat format_;
  int n_;
  bool is_finite_ = true;
  std::vector<float> numbers_;
  std::vector<std::int32_t> significands_;
  std::vector<std::int32_t> exponents_;
};

// c[j] + sum over i of x[i] y(i,j) for all columns j, at most 256, with the bits of tensor_sum.
void tensor_row(TensorCore const& core, FactorFormat format_x, float const* x, DecodedFactor const& y, int k, float* c,
                bool c_is_half);

}  // namespace cute_py::workbench
