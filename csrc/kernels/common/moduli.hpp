#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/common/mode_map.hpp"
#include "problem/geometry.hpp"
#include "problem/planes.hpp"

// Emulated precision by residues (Ozaki scheme II): a product of a batch has a modulus, by which its sums are reduced.
namespace cute_py::kernels {

// A modulus, and how a sum is reduced by it.
struct ModulusOfTile {
  int modulus;
  int inverse;  // 2^32 / modulus

  CUTE_DEVICE explicit ModulusOfTile(int p)
      : modulus(p), inverse(static_cast<int>(0xffffffffu / static_cast<unsigned>(p))) {}
};

// Eight moduli, each less one, in the bytes of a number, which a kernel need not keep in memory.
constexpr std::uint64_t eight_moduli(std::int16_t const (&moduli)[kMostModuli], int first) {
  std::uint64_t bytes = 0;
  for (int i = 0; i < 8 && first + i < kMostModuli; ++i) {
    bytes |= static_cast<std::uint64_t>(moduli[first + i] - 1) << (8 * i);
  }
  return bytes;
}

CUTE_DEVICE ModulusOfTile modulus_of_plane(PlaneKind kind, std::uint32_t plane) {
  constexpr std::uint64_t real[3] = {eight_moduli(kModuli, 0), eight_moduli(kModuli, 8), eight_moduli(kModuli, 16)};
  constexpr std::uint64_t gaussian[3] = {eight_moduli(kGaussianModuli, 0), eight_moduli(kGaussianModuli, 8),
                                         eight_moduli(kGaussianModuli, 16)};
  bool const is_real = kind == PlaneKind::residues;
  std::uint32_t const number = is_real ? plane : plane / 2;
  std::uint64_t bytes = is_real ? real[0] : gaussian[0];
  if (number >= 8) bytes = is_real ? real[1] : gaussian[1];
  if (number >= 16) bytes = is_real ? real[2] : gaussian[2];
  return ModulusOfTile(static_cast<int>(bytes >> (8 * (number % 8)) & 0xff) + 1);
}

// What is left of a sum, from -p/2 to p/2. The quotient is right or one too small, of a negative sum one too large.
template <class D>
CUTE_DEVICE D scaled(ModulusOfTile const& m, std::int32_t sum) {
  static_assert(sizeof(D) == 1);
#if defined(__CUDA_ARCH__)
  int const quotient = __mulhi(sum, m.inverse);
#else
  auto const quotient = static_cast<int>(std::int64_t{sum} * m.inverse >> 32);
#endif
  int const rest = sum - quotient * m.modulus;
  return static_cast<D>(rest - (2 * rest > m.modulus ? m.modulus : 0));
}

// Of the products of a batch: each modulus has as many of them, or twice as many, one after the other.
struct ModuliOfBatch {
  PlaneKind kind = PlaneKind::none;
  Divisor products;

  ModuliOfBatch() = default;
  explicit ModuliOfBatch(Geometry const& g)
      : kind(g.planes.kind),
        products(static_cast<std::uint32_t>(std::max<std::int64_t>(g.l.size() / g.planes.planes(), 1))) {}

  CUTE_DEVICE ModulusOfTile operator()(std::uint32_t product) const {
    return modulus_of_plane(kind, products.divide(product));
  }
};

}  // namespace cute_py::kernels
