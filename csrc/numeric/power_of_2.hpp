#pragma once

#include <cstdint>

#include <cute/config.hpp>

// Numbers as bits.
namespace cute_py::numeric {

CUTE_HOST_DEVICE std::uint32_t bits_of(float x) { return reinterpret_cast<std::uint32_t const&>(x); }

// 2^e, of a normal number.
template <class Real>
CUTE_HOST_DEVICE Real power_of_2(int e) {
  if constexpr (sizeof(Real) == 4) {
    std::uint32_t const bits = static_cast<std::uint32_t>(e + 127) << 23;
    return reinterpret_cast<Real const&>(bits);
  } else {
    std::uint64_t const bits = static_cast<std::uint64_t>(e + 1023) << 52;
    return reinterpret_cast<Real const&>(bits);
  }
}

// x * 2^e, where 2^e may be no number of float64.
CUTE_HOST_DEVICE double times_power_of_2(double x, int e) {
  int const most = 1000;
  int const first = e < -most ? -most : e > most ? most : e;
  int const left = e - first;
  int const rest = left < -most ? -most : left > most ? most : left;
  x *= power_of_2<double>(first);
  return rest == 0 ? x : x * power_of_2<double>(rest);
}

}  // namespace cute_py::numeric
