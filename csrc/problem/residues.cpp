#include "problem/residues.hpp"

#include <cmath>
#include <cstdint>

namespace cute_py {
namespace {

constexpr std::int64_t gcd(std::int64_t a, std::int64_t b) { return b == 0 ? a : gcd(b, a % b); }

constexpr bool are_coprime(std::int16_t const (&moduli)[kMostModuli]) {
  for (int i = 0; i < kMostModuli; ++i) {
    for (int j = 0; j < i; ++j) {
      if (gcd(moduli[i], moduli[j]) != 1) return false;
    }
  }
  return true;
}
static_assert(are_coprime(kModuli) && are_coprime(kGaussianModuli));

int balanced(std::int64_t x, int modulus) {
  auto const rest = static_cast<int>((x % modulus + modulus) % modulus);
  return rest > modulus / 2 ? rest - modulus : rest;
}

int inverse_of(std::int64_t x, int modulus) {
  for (int candidate = 1; candidate < modulus; ++candidate) {
    if (balanced(x % modulus * candidate - 1, modulus) == 0) return candidate;
  }
  return 0;
}

Wide product_of(Planes const& planes) {
  Wide product = 1;
  for (int i = 0; i < planes.count; ++i) product *= static_cast<unsigned>(modulus_of(planes.kind, i));
  return product;
}

// numerator / modulus modulo 1, in limbs.
void set_fraction(int numerator, int modulus, int limbs, std::int32_t (&fraction)[kMostLimbs]) {
  std::int64_t rest = (numerator % modulus + modulus) % modulus;
  for (int i = limbs; i-- > 0;) {
    rest <<= i + 1 == limbs ? kTopBits : kLimbBits;
    fraction[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(rest / modulus));
    rest %= modulus;
  }
}

}  // namespace

int root_of_minus_one(int modulus) {
  for (int root = 1; root < modulus; ++root) {
    if ((root * root + 1) % modulus == 0) return balanced(root, modulus);
  }
  return 0;
}

LargestNorm largest_squared_norm(Planes const& planes, std::int64_t steps) {
  constexpr double kSlack = 1 - 0x1p-16;  // for sums of squares that were rounded, and for fractions of P
  double const half = static_cast<double>(product_of(planes) / 2) * kSlack;
  double const rounding = std::sqrt(static_cast<double>(steps * (planes.is_complex() ? 2 : 1))) / 2;
  double const norm = std::sqrt(half) - rounding;
  LargestNorm largest{};
  largest.mantissa = std::frexp(norm * norm, &largest.exponent);
  return largest;
}

Reconstruction reconstruction_of(Planes const& planes, int limbs) {
  Reconstruction r{};
  int const bits = kTopBits + kLimbBits * (limbs - 1);
  Wide const product = product_of(planes);
  auto const high = static_cast<double>(product);
  auto const of_high = static_cast<Wide>(high);
  double const low =
      of_high > product ? -static_cast<double>(of_high - product) : static_cast<double>(product - of_high);
  r.high = std::ldexp(high, -bits);
  r.low = std::ldexp(low, -bits);
  for (int i = 0; i < planes.count; ++i) {
    int const p = modulus_of(planes.kind, i);
    auto const weight = static_cast<std::int64_t>(product / static_cast<unsigned>(p) % static_cast<unsigned>(p));
    int const of_weight = inverse_of(weight, p);
    int const of_half = planes.is_complex() ? inverse_of(2, p) : 1;
    set_fraction(of_half * of_weight, p, limbs, r.modulus[i].first);
    if (!planes.is_complex()) continue;
    int const of_root = inverse_of(2 * root_of_minus_one(p) + 2 * p, p);
    set_fraction(of_root * of_weight, p, limbs, r.modulus[i].second);
  }
  return r;
}

}  // namespace cute_py
