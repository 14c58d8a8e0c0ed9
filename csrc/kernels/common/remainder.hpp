#pragma once

#include <cmath>

#include <cute/config.hpp>

// Whole numbers modulo another, as floating-point numbers.
namespace cute_py::kernels {

// Adding and subtracting it rounds a number of less than a quarter of its size to a whole one, which is in its low bits
// in between.
template <class Real>
inline constexpr Real kRounder = sizeof(Real) == 4 ? Real(12582912) : Real(6755399441055744);

// A whole number modulo another; at most half of that, and a little more where x is large.
template <class Real>
CUTE_HOST_DEVICE Real remainder_of(Real x, Real modulus, Real inverse) {
  using std::fma;
  Real const quotient = fma(x, inverse, kRounder<Real>) - kRounder<Real>;
  return fma(-quotient, modulus, x);
}

}  // namespace cute_py::kernels
