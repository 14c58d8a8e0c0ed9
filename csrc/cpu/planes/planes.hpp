#pragma once

#include <cstdint>

#include "problem/planes.hpp"
#include "problem/residues.hpp"

namespace cute_py::cpu {

// A modulus that residues are found by.
struct ResidueModulus {
  double modulus;
  double inverse;
  double root;  // of -1, for complex numbers
};

// The steps of emulated precision on a host: planes.inl. T is float or double; complex numbers are two of them.
template <class T>
struct PlanesKernel {
  // sums[range] = squares of the numbers x of `steps` steps, each of `parts` numbers, which lie side by side, in the
  // order of OrderOfSquares, in so many groups.
  void (*squares)(std::int64_t steps, int parts, std::int64_t groups, T const* x, double* sums);

  // Residues of whole numbers near x * first * second, of `parts` numbers a step: to[step] of the first plane, the next
  // planes `plane` elements behind. Of complex numbers a + ib, conjugated or not, a + rb and a - rb.
  void (*split)(std::int64_t steps, int parts, bool conjugate, T const* x, T first, T second,
                ResidueModulus const* moduli, int count, std::int8_t* to, std::int64_t plane);

  // sums[i * parts] and, of complex numbers, the number behind it, from their residues in planes; times
  // 2^-(exponent + exponents[i]). At most kMostReconstructed of them.
  void (*reconstruct)(std::int64_t count, int parts, std::int8_t const* residues, std::int64_t plane,
                      Reconstruction const& r, int moduli, std::int32_t exponent, std::int32_t const* exponents,
                      T* sums);
};

inline constexpr std::int64_t kMostReconstructed = 128;

// to = sums modulo a number, from -modulus / 2 to modulus / 2.
using ReduceKernel = void (*)(std::int64_t count, std::int32_t const* sums, double modulus, std::int8_t* to);

}  // namespace cute_py::cpu
