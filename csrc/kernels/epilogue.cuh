#pragma once

#include <cmath>

#include <cute/tensor.hpp>

// C = alpha * acc + beta * C, rounded twice: once for alpha * acc and once for the fused multiply-add of beta * C. The
// order is spelt out, so that every compiler, for a GPU or for a host, gives the same bits.
namespace cute_py::kernels {

template <class T>
CUTE_HOST_DEVICE T axpby(T alpha, T acc, T beta, T c)
{
  using std::fma;
  return fma(beta, c, alpha * acc);
}

// Writes every element of the tile. beta == 0 does not read C.
template <class T, class AccEngine, class AccLayout, class DstEngine, class DstLayout>
CUTE_DEVICE void store(T alpha, cute::Tensor<AccEngine, AccLayout> const& acc, T beta,
                       cute::Tensor<DstEngine, DstLayout>& dst)
{
  CUTE_UNROLL
  for (int i = 0; i < cute::size(acc); ++i) {
    dst(i) = beta == T(0) ? alpha * acc(i) : axpby(alpha, acc(i), beta, dst(i));
  }
}

// The same in vectors as wide as the layout of dst allows, up to 16 bytes. Requires: dst is aligned to its vectors.
template <class T, class AccEngine, class AccLayout, class DstEngine, class DstLayout>
CUTE_DEVICE void store_vectors(T alpha, cute::Tensor<AccEngine, AccLayout> const& acc, T beta,
                               cute::Tensor<DstEngine, DstLayout>& dst)
{
  auto result = cute::make_fragment_like(acc);
  if (beta != T(0)) {
    cute::copy_aligned(dst, result);
  }
  CUTE_UNROLL
  for (int i = 0; i < cute::size(acc); ++i) {
    result(i) = beta == T(0) ? alpha * acc(i) : axpby(alpha, acc(i), beta, result(i));
  }
  cute::copy_aligned(result, dst);
}

// Writes the elements whose coordinate lies inside shape and touches no other.
template <class T, class AccEngine, class AccLayout, class CoordEngine, class CoordLayout, class Shape, class DstEngine,
          class DstLayout>
CUTE_DEVICE void store_inside(T alpha, cute::Tensor<AccEngine, AccLayout> const& acc,
                              cute::Tensor<CoordEngine, CoordLayout> const& coord, Shape const& shape, T beta,
                              cute::Tensor<DstEngine, DstLayout>& dst)
{
  CUTE_UNROLL
  for (int i = 0; i < cute::size(acc); ++i) {
    if (cute::elem_less(coord(i), shape)) {
      dst(i) = beta == T(0) ? alpha * acc(i) : axpby(alpha, acc(i), beta, dst(i));
    }
  }
}

}  // namespace cute_py::kernels
