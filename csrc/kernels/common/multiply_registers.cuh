#pragma once

#include <cute/tensor.hpp>

#include "kernels/common/namespace.hpp"

// The outer product of register blocking: a step of K in a thread's registers.
namespace cute_py::kernels::cutlass_scheduled {

// C (MMA,MMA_M,MMA_N) += A (MMA,MMA_M) * B (MMA,MMA_N), as cute::gemm does it, to the bit. Of complex numbers, cute::gemm has
// the two multiply-adds of a real part next to each other, and the second waits for the first. Here the real parts of A come
// first, then its imaginary parts: two outer products, in which adjacent instructions share registers.
template <class Mma, class EngineA, class LayoutA, class EngineB, class LayoutB, class EngineC, class LayoutC>
CUTE_DEVICE void multiply_registers(Mma const& mma, cute::Tensor<EngineA, LayoutA> const& a,
                                    cute::Tensor<EngineB, LayoutB> const& b, cute::Tensor<EngineC, LayoutC>& c)
{
  using namespace cute;
  using T = typename EngineC::value_type;
  if constexpr (is_complex_v<T>) {
    using Real = typename T::value_type;
    CUTE_STATIC_ASSERT_V(size<0>(c) == Int<1>{});                                                       // a scalar atom
    constexpr int rows    = decltype(size<1>(a))::value;
    constexpr int columns = decltype(size<1>(b))::value;
    auto const add = [](Real& sum, Real const& x, Real const& y) { UniversalFMA<Real>::fma(sum, x, y, sum); };
    CUTE_UNROLL
    for (int n = 0; n < columns; ++n) {
      T const y = b(0, n);
      CUTE_UNROLL
      for (int i = 0; i < rows; ++i) {
        int const m = n % 2 == 0 ? i : rows - 1 - i;                                                    // serpentine
        add(c(0, m, n).real(), a(0, m).real(), y.real());
        add(c(0, m, n).imag(), a(0, m).real(), y.imag());
      }
    }
    CUTE_UNROLL
    for (int n = 0; n < columns; ++n) {
      T const y = b(0, n);
      CUTE_UNROLL
      for (int i = 0; i < rows; ++i) {
        int const m = n % 2 == 0 ? i : rows - 1 - i;
        add(c(0, m, n).real(), -a(0, m).imag(), y.imag());
        add(c(0, m, n).imag(), a(0, m).imag(), y.real());
      }
    }
  } else {
    gemm(mma, a, b, c);
  }
}

}  // namespace cute_py::kernels::cutlass_scheduled
