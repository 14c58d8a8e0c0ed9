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
// half of the product of the moduli (by Cauchy and Schwarz): before they are rounded to whole numbers. A mantissa from
// 1/2 to 1, and a power of two.
struct LargestNorm {
  double mantissa;
  int exponent;
};
LargestNorm largest_squared_norm(Planes const& planes, std::int64_t steps);

// The order in which squares of a row are added, so that its exponent is the same on a GPU and on a host, whatever its
// strides. Words of four steps are dealt to groups of 32 lanes, word / 32 modulo the number of groups, word modulo 32.
// A lane adds its words in their order; then the lanes of a group are added as a tree; then the groups in their order.
struct OrderOfSquares {
  static constexpr int kStepsOfWord = 4;
  static constexpr int kLanes = 32;
  static constexpr int kMostGroups = 16;

  static constexpr int log2_groups(std::int64_t steps) {
    constexpr std::int64_t kWordsOfLane = 4;
    int log2 = 0;
    while (kMostGroups > 1 << log2 && steps > kStepsOfWord * kLanes * kWordsOfLane << log2) ++log2;
    return log2;
  }
};

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
