#pragma once

#include <cstdint>

#include <cute/config.hpp>

namespace cute_py::kernels {

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

}  // namespace cute_py::kernels
