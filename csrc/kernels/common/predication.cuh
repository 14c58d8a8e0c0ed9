#pragma once

#include <cute/tensor.hpp>

#include "numeric/types.hpp"

// What a predicated kernel does at the edge of a matrix. A coordinate tensor is the identity layout, tiled and
// partitioned exactly like its data, so coord(i) is where data(i) lies in the whole matrix.
namespace cute_py::kernels {

// dst(i) = src(i) where coord(i) lies inside shape, 0 elsewhere: the padding of a tile adds nothing to a product.
template <class SrcEngine, class SrcLayout, class CoordEngine, class CoordLayout, class Shape, class DstEngine,
          class DstLayout>
CUTE_DEVICE void copy_or_zero(cute::Tensor<SrcEngine, SrcLayout> const& src,
                              cute::Tensor<CoordEngine, CoordLayout> const& coord, Shape const& shape,
                              cute::Tensor<DstEngine, DstLayout>& dst)
{
  using T = typename DstEngine::value_type;
  CUTE_UNROLL
  for (int i = 0; i < cute::size(dst); ++i) {
    dst(i) = cute::elem_less(coord(i), shape) ? src(i) : T(0);
  }
}

// Rounds the factors of a tensor core that would cut them off: float32 to tfloat32, to nearest, ties away. Others are
// what they are.
template <class Engine, class Layout>
CUTE_DEVICE void round_factors(cute::Tensor<Engine, Layout>&& factors)
{
  if constexpr (std::is_same_v<typename Engine::value_type, cutlass::tfloat32_t>) {
    CUTE_UNROLL
    for (int i = 0; i < cute::size(factors); ++i) {
      // Its bits are still those of a float32; converted to one, they would be cut off.
      factors(i) = cutlass::tfloat32_t(reinterpret_cast<float const&>(factors(i)));
    }
  }
}

// Takes the conjugates of complex factors, if asked to.
template <class Engine, class Layout>
CUTE_DEVICE void conjugate_factors(cute::Tensor<Engine, Layout>&& factors, bool conjugate)
{
  if constexpr (numeric::kIsComplex<typename Engine::value_type>) {
    CUTE_UNROLL
    for (int i = 0; i < cute::size(factors); ++i) {
      factors(i) = numeric::conjugate_if(conjugate, factors(i));
    }
  }
}

// One bool for each element of coord: does it lie inside shape?
template <class CoordEngine, class CoordLayout, class Shape>
CUTE_DEVICE auto inside(cute::Tensor<CoordEngine, CoordLayout> const& coord, Shape const& shape)
{
  auto pred = cute::make_tensor<bool>(cute::shape(coord));
  CUTE_UNROLL
  for (int i = 0; i < cute::size(pred); ++i) {
    pred(i) = cute::elem_less(coord(i), shape);
  }
  return pred;
}

}  // namespace cute_py::kernels
