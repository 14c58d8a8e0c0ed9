#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "numeric/power_of_2.hpp"
#include "problem/residues.hpp"

// How a row of numbers is scaled to whole numbers, for a GPU and for a host: by the same power of two.
namespace cute_py::numeric {

// Sums of squares. Those of float64 would overflow, or vanish: they are added in three ranges, the numbers of two of
// them scaled (Blue's algorithm).
template <class Real>
inline constexpr int kRangesOfSquares = sizeof(Real) == 8 ? 3 : 1;

template <int ranges>
struct Squares {
  static constexpr double huge = 0x1p400, tiny = 0x1p-400, scale = 0x1p600;
  double sum[ranges] = {};

  template <class Real>
  CUTE_HOST_DEVICE void add(Real x) {
    using std::fma;
    auto const size = std::fabs(static_cast<double>(x));
    if constexpr (ranges == 1) {
      sum[0] = fma(size, size, sum[0]);
    } else {
      double const of_huge = size > huge ? size / scale : 0;
      double const of_tiny = size < tiny ? size * scale : 0;
      double const others = size > huge || size < tiny ? 0 : size;  // NaN, too
      sum[0] = fma(others, others, sum[0]);
      sum[1] = fma(of_huge, of_huge, sum[1]);
      sum[2] = fma(of_tiny, of_tiny, sum[2]);
    }
  }

  // sum * 2^exponent is all of them.
  CUTE_HOST_DEVICE double all(int& exponent) const {
    exponent = 0;
    if constexpr (ranges == 3) {
      using std::fma;
      constexpr double down = 1 / scale;  // its square is no number
      if (!(sum[0] == sum[0])) return sum[0];
      if (sum[1] > 0) {
        exponent = 1200;
        return fma(sum[0] * down, down, sum[1]);
      }
      if (sum[0] == 0) {
        exponent = -1200;
        return sum[2];
      }
      return fma(sum[2] * down, down, sum[0]);
    }
    return sum[0];
  }
};

// The largest exponent with which a row keeps to a norm; kNotFinite of one with infinity or NaN in it.
template <int ranges>
CUTE_HOST_DEVICE int exponent_of_norm(LargestNorm const& norm, Squares<ranges> const& squares) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  int exponent;
  double const sum = squares.all(exponent);
  if (!(sum < infinity)) return kNotFinite;
  if (sum == 0) return 0;
  // sum = mantissa * 2^exponent
  auto const bits = reinterpret_cast<std::uint64_t const&>(sum);
  int const biased = static_cast<int>(bits >> 52);
  exponent += biased - 1022;
  std::uint64_t const mantissa_bits = (bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1022} << 52;
  auto const mantissa = reinterpret_cast<double const&>(mantissa_bits);
  return (norm.exponent - exponent - (mantissa > norm.mantissa ? 1 : 0)) >> 1;
}

// What a row is scaled with: x * 2^exponent, in two steps, because the power may be no number.
template <class Real>
struct RowScale {
  int exponent;
  bool is_finite;
  Real first;
  Real second;

  CUTE_HOST_DEVICE explicit RowScale(int e)
      : exponent(e),
        is_finite(e != kNotFinite),
        first(is_finite ? power_of_2<Real>(e >> 1) : Real(0)),
        second(is_finite ? power_of_2<Real>(e - (e >> 1)) : Real(0)) {}

  CUTE_HOST_DEVICE Real operator()(Real x) const { return is_finite ? x * first * second : Real(0); }
};

}  // namespace cute_py::numeric
