#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

// The sums of a tensor core, as microsoft/MMA-Sim models them (arXiv:2511.10909), which was checked on GPUs: some
// products and the sum so far are truncated to a multiple of a power of two below the largest of them, added exactly,
// and rounded once. For the emulator and the workbench, on the host.
namespace cute_py::numeric {

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
constexpr FactorFormat format_of(std::string_view type) {
  if (type == "bf16") return {7, -126};
  if (type == "tf32") return {10, -126};
  if (type == "e4m3") return {3, -6};
  if (type == "e5m2") return {2, -14};
  if (type == "e2m3") return {3, 0};
  if (type == "e3m2") return {2, -2};
  if (type == "e2m1") return {1, 0};
  return {10, -14};  // f16
}

// An element of a factor as a tensor core takes it: a tfloat32 has lost its last bits. Its exponent is that of a
// number of the format, whose subnormal numbers have the least one.
struct Factor {
  static constexpr std::int32_t kOfZero = -100000;
  static constexpr std::int32_t kNotFinite = 100000;

  float value;
  std::int32_t exponent;
};
Factor decoded(float x, FactorFormat format);

// Elements one after the other, as vectors want them.
struct FactorLine {
  double value[kMostProducts * 2];
  std::int32_t exponent[kMostProducts * 2];

  void set(int k, Factor x) {
    value[k] = static_cast<double>(x.value);
    exponent[k] = x.exponent;
  }
};

// c + x[0] y[0] + ... + x[k-1] y[k-1], with k of at most 64.
float tensor_sum(TensorCore const& core, FactorLine const& x, FactorLine const& y, int k, float c, bool c_is_half);

// The same, of numbers that are not decoded yet, of factors of one format, or of two.
float tensor_sum(TensorCore const& core, FactorFormat format_x, FactorFormat format_y, float const* x, float const* y,
                 int k, float c, bool c_is_half);

// The second factor of an instruction, (k,n), decoded once.
class DecodedFactor {
 public:
  DecodedFactor() = default;
  DecodedFactor(FactorFormat format, int k, int n) { clear(format, k, n); }
  void clear(FactorFormat format, int k, int n);
  void set(int k, int n, float x) {
    Factor const found = decoded(x, format_);
    std::size_t const at = static_cast<std::size_t>(k) * static_cast<std::size_t>(n_) + static_cast<std::size_t>(n);
    values_[at] = static_cast<double>(found.value);
    exponents_[at] = found.exponent;
    is_finite_ = is_finite_ && found.exponent != Factor::kNotFinite;
  }
  FactorFormat format() const { return format_; }
  int n() const { return n_; }
  bool is_finite() const { return is_finite_; }
  float number(int k, int n) const { return static_cast<float>(values(k)[n]); }
  double const* values(int k) const { return &values_[static_cast<std::size_t>(k * n_)]; }
  std::int32_t const* exponents(int k) const { return &exponents_[static_cast<std::size_t>(k * n_)]; }

 private:
  FactorFormat format_{};
  int n_ = 0;
  bool is_finite_ = true;
  std::vector<double> values_;
  std::vector<std::int32_t> exponents_;
};

// c[j] + sum over i of x[i] y(i,j) for all columns j, at most 256, with the bits of tensor_sum.
void tensor_row(TensorCore const& core, FactorFormat format_x, float const* x, DecodedFactor const& y, int k, float* c,
                bool c_is_half);

}  // namespace cute_py::numeric
