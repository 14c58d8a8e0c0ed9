#pragma once

#include <cmath>
#include <type_traits>

#include <cute/config.hpp>
#include <cute/numeric/complex.hpp>
#include <cute/numeric/real.hpp>

// Stands in front of the header of the same name when kernels are compiled for the emulator. A GPU contracts a * b + c
// to one rounding; a host compiler may not, so the emulator asks for it and gets the GPU's bits.
namespace cute {
inline namespace emulated {

template <class D, class A = D, class B = A, class C = D>
struct UniversalFMA {
  using DRegisters = D[1];
  using ARegisters = A[1];
  using BRegisters = B[1];
  using CRegisters = C[1];

  static void fma(D& d, A const& a, B const& b, C const& c) {
    if constexpr (std::is_floating_point_v<D> && std::is_same_v<A, D> && std::is_same_v<B, D> && std::is_same_v<C, D>) {
      d = std::fma(a, b, c);
    } else {
      using cute::fma;
      fma(d, a, b, c);
    }
  }
};

}  // namespace emulated
}  // namespace cute
