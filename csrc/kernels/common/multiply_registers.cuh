#pragma once

#include <cute/tensor.hpp>

#include "kernels/common/namespace.hpp"

// The outer product of register blocking: a step of K in a thread's registers.
namespace cute_py::kernels::cutlass_scheduled {

// C (MMA,MMA_M,MMA_N) += A (MMA,MMA_M) * B (MMA,MMA_N), as cute::gemm does it, to the bit. Of complex numbers, cute::gemm has
// the two multiply-adds of a real part next to each other, and the second waits for the first. Here four columns' products
// with the real part of an element of A come first, then those with its imaginary part, columns in serpentine order:
// adjacent instructions share registers, which the reuse cache then holds, and fewer meet in a bank of registers.
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
    constexpr int block   = columns % 4 == 0 ? 4 : columns;
    auto const add = [](Real& sum, Real const& x, Real const& y) { UniversalFMA<Real>::fma(sum, x, y, sum); };
    CUTE_UNROLL
    for (int first = 0; first < columns; first += block) {
      CUTE_UNROLL
      for (int i = 0; i < rows; ++i) {
        int const m = first / block % 2 == 0 ? i : rows - 1 - i;
        T const x = a(0, m);
        auto const column = [&](int j) { return first + (i % 2 == 0 ? j : block - 1 - j); };
        CUTE_UNROLL
        for (int j = 0; j < block; ++j) {
          int const n = column(j);
          add(c(0, m, n).real(), x.real(), b(0, n).real());
          add(c(0, m, n).imag(), x.real(), b(0, n).imag());
        }
        CUTE_UNROLL
        for (int j = 0; j < block; ++j) {
          int const n = column(j);
          add(c(0, m, n).real(), -x.imag(), b(0, n).imag());
          add(c(0, m, n).imag(), x.imag(), b(0, n).real());
        }
      }
    }
  } else {
    gemm(mma, a, b, c);
  }
}

}  // namespace cute_py::kernels::cutlass_scheduled
