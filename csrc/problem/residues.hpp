#pragma once

#include <cstdint>

#include "problem/planes.hpp"

// The numbers by which residues are made, and undone.
namespace cute_py {

// A whole number of up to 127 bits.
__extension__ using Wide = unsigned __int128;

// How many moduli give the precision of a type, that of its own sums of products: fast, for numbers of ordinary spread,
// and one more. A kernel is compiled for these.
template <class Real>
inline constexpr int kModuliOfFast = sizeof(Real) == 4 ? 7 : 14;
template <class Real>
inline constexpr int kModuliOfReproducible = kModuliOfFast<Real> + 1;

// A number r with r^2 = -1 modulo one of kGaussianModuli.
int root_of_minus_one(int modulus);

// The square of the largest norm that rows of whole numbers may have, so that no sum of K products of two rows reaches
// half of the product of the moduli (by Cauchy and Schwarz): before they are rounded to whole numbers.
double largest_squared_norm(Planes const& planes, std::int64_t steps);

// How a number x is found from its residues c: with the weights w = P / p, x / P is the sum of c * ((1 / w) modulo p) /
// p, but for a whole number. So fractions of P are multiplied by residues, and what is left of the sum modulo 1 is
// multiplied by P. Of complex numbers the real part is found from the sums of both residues, the imaginary part from
// their differences. A fraction has 32 bits, and behind them limbs of 30 bits, here the lowest first.
inline constexpr int kTopBits = 32;
inline constexpr int kLimbBits = 30;
inline constexpr int kMostLimbs = 3;

struct Reconstruction {
  struct Modulus {
    std::int32_t first[kMostLimbs];
    std::int32_t second[kMostLimbs];  // of the imaginary part
  };
  double high;  // P in units of a fraction's last bit, and what is left of it
  double low;
  Modulus modulus[kMostModuli];
};

Reconstruction reconstruction_of(Planes const& planes, int limbs);

}  // namespace cute_py
