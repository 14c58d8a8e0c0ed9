// planes: numbers to residues of whole numbers, sums to residues, residues to numbers
//
// The steps of emulated precision (Ozaki scheme II), with the bits of split_planes and combine_planes on a GPU: what is
// rounded is rounded by the same operations in the same order. Loops over contiguous numbers, for the compiler to
// vectorise.
//
// Order:  of squares OrderOfSquares; everything else is exact, but for the last two roundings of a result
#include <cmath>

#include "cpu/planes/planes.hpp"
#include "cpu/simd.inl"

namespace cute_py::cpu {
namespace {

// Blue's ranges of squares of float64, as numeric::Squares has them.
template <class T>
CUTE_PY_INLINE void add_square(T x, double* sums, std::int64_t lane) {
  constexpr double kHuge = 0x1p400, kTiny = 0x1p-400, kScale = 0x1p600;
  constexpr int kLanesOfRow = OrderOfSquares::kLanes;
  double const size = __builtin_fabs(static_cast<double>(x));
  if constexpr (sizeof(T) == 4) {
    sums[lane] = __builtin_fma(size, size, sums[lane]);
  } else {
    double const of_huge = size > kHuge ? size / kScale : 0;
    double const of_tiny = size < kTiny ? size * kScale : 0;
    double const others = size > kHuge || size < kTiny ? 0 : size;  // NaN, too
    sums[lane] = __builtin_fma(others, others, sums[lane]);
    sums[kLanesOfRow + lane] = __builtin_fma(of_huge, of_huge, sums[kLanesOfRow + lane]);
    sums[2 * kLanesOfRow + lane] = __builtin_fma(of_tiny, of_tiny, sums[2 * kLanesOfRow + lane]);
  }
}

template <class T, int parts>
void add_squares(std::int64_t steps, std::int64_t groups, T const* x, double* sums) {
  constexpr std::int64_t kTogether = OrderOfSquares::kStepsOfWord;
  constexpr std::int64_t kLanesOfRow = OrderOfSquares::kLanes;
  constexpr int kRanges = sizeof(T) == 8 ? 3 : 1;
  constexpr int kAll = kRanges * static_cast<int>(kLanesOfRow);
  constexpr std::int64_t kChunk = kTogether * kLanesOfRow;
  for (int range = 0; range < kRanges; ++range) sums[range] = 0;
  for (std::int64_t group = 0; group < groups; ++group) {
    double of_group[kAll] = {};
    for (std::int64_t first = group * kChunk; first < steps; first += groups * kChunk) {
      T const* const chunk = x + first * parts;
      for (std::int64_t i = 0; i < kTogether; ++i) {
        std::int64_t const lanes = steps - first - i <= 0 ? 0 : (steps - first - i - 1) / kTogether + 1;
        for (int part = 0; part < parts; ++part) {
          if (lanes >= kLanesOfRow) {
            for (std::int64_t lane = 0; lane < kLanesOfRow; ++lane) {
              add_square(chunk[(lane * kTogether + i) * parts + part], of_group, lane);
            }
          } else {
            for (std::int64_t lane = 0; lane < lanes; ++lane) {
              add_square(chunk[(lane * kTogether + i) * parts + part], of_group, lane);
            }
          }
        }
      }
    }
    for (int range = 0; range < kRanges; ++range) {
      double* const lanes = of_group + range * kLanesOfRow;
      for (std::int64_t half = kLanesOfRow / 2; half > 0; half /= 2) {
        for (std::int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
      }
      sums[range] += lanes[0];
    }
  }
}

template <class T>
void squares_of_row(std::int64_t steps, int parts, std::int64_t groups, T const* x, double* sums) {
  parts == 1 ? add_squares<T, 1>(steps, groups, x, sums) : add_squares<T, 2>(steps, groups, x, sums);
}

// A whole number modulo another, at most half of it: in two steps, because the first quotient of a large number is
// rounded.
CUTE_PY_INLINE double small_remainder(double x, double modulus, double inverse) {
  double const rest = __builtin_fma(-__builtin_rint(x * inverse), modulus, x);
  return __builtin_fma(-__builtin_rint(rest * inverse), modulus, rest);
}

// Its last eight bits: 128 modulo 256 is -128.
CUTE_PY_INLINE std::int8_t byte_from(double x) { return static_cast<std::int8_t>(static_cast<std::int32_t>(x)); }

template <class T, int parts>
void split_steps(std::int64_t steps, bool conjugate, T const* x, T first, T second, ResidueModulus const* moduli,
                 int count, std::int8_t* to, std::int64_t plane) {
  constexpr std::int64_t kAtOnce = 256;
  double whole[parts][kAtOnce];
  for (std::int64_t begin = 0; begin < steps; begin += kAtOnce) {
    std::int64_t const some = steps - begin < kAtOnce ? steps - begin : kAtOnce;
    for (int part = 0; part < parts; ++part) {
      T const* const from = x + begin * parts + part;
      for (std::int64_t i = 0; i < some; ++i) {
        whole[part][i] = __builtin_rint(static_cast<double>(from[i * parts] * first * second));
      }
    }
    for (int number = 0; number < count; ++number) {
      auto const [p, inverse, root_of_p] = moduli[number];
      std::int8_t* const residues = to + number * parts * plane + begin;
      if constexpr (parts == 1) {
        for (std::int64_t i = 0; i < some; ++i) residues[i] = byte_from(small_remainder(whole[0][i], p, inverse));
      } else {
        double const root = conjugate ? -root_of_p : root_of_p;
        for (std::int64_t i = 0; i < some; ++i) {
          double const a = small_remainder(whole[0][i], p, inverse);
          double const b = root * small_remainder(whole[1][i], p, inverse);
          residues[i] = byte_from(small_remainder(a + b, p, inverse));
          residues[plane + i] = byte_from(small_remainder(a - b, p, inverse));
        }
      }
    }
  }
}

template <class T>
void split_row(std::int64_t steps, int parts, bool conjugate, T const* x, T first, T second,
               ResidueModulus const* moduli, int count, std::int8_t* to, std::int64_t plane) {
  if (parts == 1) {
    split_steps<T, 1>(steps, conjugate, x, first, second, moduli, count, to, plane);
  } else {
    split_steps<T, 2>(steps, conjugate, x, first, second, moduli, count, to, plane);
  }
}

void reduce_sums(std::int64_t count, std::int32_t const* sums, double modulus, std::int8_t* to) {
  double const inverse = 1 / modulus;
  for (std::int64_t i = 0; i < count; ++i) {
    double const sum = sums[i];
    to[i] = byte_from(__builtin_fma(-__builtin_rint(sum * inverse), modulus, sum));
  }
}

// Sums of fractions of P times residues: the first 32 bits, modulo 1, and limbs that do not carry.
template <int limbs>
struct FractionSums {
  std::uint32_t top[kMostReconstructed] = {};
  std::int64_t limb[limbs - 1][kMostReconstructed] = {};

  void add(std::int64_t count, std::int32_t const* residue, std::int32_t const (&fraction)[kMostLimbs]) {
    auto const first = static_cast<std::uint32_t>(fraction[limbs - 1]);
    for (std::int64_t i = 0; i < count; ++i) top[i] += first * static_cast<std::uint32_t>(residue[i]);
    for (int k = 0; k + 1 < limbs; ++k) {
      std::int64_t const next = fraction[k];
      for (std::int64_t i = 0; i < count; ++i) limb[k][i] += next * residue[i];
    }
  }

  // What is left of a sum modulo 1, from -1/2 to 1/2, times P: rounded as combine_planes rounds.
  double number(std::int64_t i, Reconstruction const& r) const {
    constexpr std::int64_t kMask = (std::int64_t{1} << kLimbBits) - 1;
    std::int64_t last = limb[limbs - 2][i];
    std::int64_t lowest = limb[0][i];
    if constexpr (limbs == 3) {
      last += lowest >> kLimbBits;
      lowest &= kMask;
    }
    auto const carry = static_cast<std::uint32_t>(last >> kLimbBits);
    auto const high_bits = std::int64_t{static_cast<std::int32_t>(top[i] + carry)};
    std::int64_t const fraction = high_bits * (std::int64_t{1} << kLimbBits) + (last & kMask);
    auto const high = static_cast<double>(fraction);
    if constexpr (limbs == 2) {
      return high * r.high;
    } else {
      constexpr double kScale = std::int64_t{1} << kLimbBits;
      double const rest =
          static_cast<double>(fraction - static_cast<std::int64_t>(high)) * kScale + static_cast<double>(lowest);
      double const first = high * kScale;
      double const x = first * r.high;
      return x + (__builtin_fma(first, r.high, -x) + __builtin_fma(first, r.low, rest * r.high));
    }
  }
};

// 2^e, of a normal number.
CUTE_PY_INLINE double normal_power_of_2(std::int64_t e) {
  return __builtin_bit_cast(double, static_cast<std::uint64_t>(e + 1023) << 52);
}

// x * 2^e as numeric::times_power_of_2 has it.
CUTE_PY_INLINE double scaled_by(double x, std::int64_t e) {
  constexpr std::int64_t kMost = 1000;
  auto const bounded = [](std::int64_t y) { return y < -kMost ? -kMost : y > kMost ? kMost : y; };
  std::int64_t const first = bounded(e);
  std::int64_t const rest = bounded(e - first);
  x *= normal_power_of_2(first);
  return rest == 0 ? x : x * normal_power_of_2(rest);
}

template <class T>
void reconstruct_row(std::int64_t count, int parts, std::int8_t const* residues, std::int64_t plane,
                     Reconstruction const& r, int moduli, std::int32_t exponent, std::int32_t const* exponents,
                     T* sums) {
  constexpr int kLimbs = sizeof(T) == 8 ? 3 : 2;
  FractionSums<kLimbs> of_parts[2];
  std::int32_t residue[kMostReconstructed];
  for (int number = 0; number < moduli; ++number) {
    std::int8_t const* const u = residues + number * parts * plane;
    if (parts == 1) {
      for (std::int64_t i = 0; i < count; ++i) residue[i] = u[i];
      of_parts[0].add(count, residue, r.modulus[number].first);
    } else {
      for (std::int64_t i = 0; i < count; ++i) residue[i] = u[i] + u[plane + i];
      of_parts[0].add(count, residue, r.modulus[number].first);
      for (std::int64_t i = 0; i < count; ++i) residue[i] = u[i] - u[plane + i];
      of_parts[1].add(count, residue, r.modulus[number].second);
    }
  }
  for (int part = 0; part < parts; ++part) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t const scale = -(std::int64_t{exponent} + exponents[i]);
      sums[i * parts + part] = static_cast<T>(scaled_by(of_parts[part].number(i, r), scale));
    }
  }
}

template <class T>
constexpr PlanesKernel<T> kPlanes = {&squares_of_row<T>, &split_row<T>, &reconstruct_row<T>};

}  // namespace
}  // namespace cute_py::cpu
