#pragma once

#include <cmath>
#include <type_traits>

#include <cute/config.hpp>
#include <cute/numeric/complex.hpp>

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
    static_assert(std::is_same_v<A, D> && std::is_same_v<B, D> && std::is_same_v<C, D>);
    if constexpr (is_complex_v<D>) {
      // The four multiply-adds of cute::fma, in its order.
      using std::fma;
      auto const re = fma(a.real(), b.real(), c.real());
      auto const im = fma(a.real(), b.imag(), c.imag());
      d = D(fma(-a.imag(), b.imag(), re), fma(a.imag(), b.real(), im));
    } else if constexpr (std::is_floating_point_v<D>) {
      d = std::fma(a, b, c);
    } else {
      d = a * b + c;
    }
  }
};

}  // namespace emulated
}  // namespace cute
