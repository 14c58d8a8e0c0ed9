#pragma once

#include <type_traits>

#include <cute/tensor.hpp>

#include "kernels/common/mode_map.hpp"
#include "kernels/common/namespace.hpp"

// Operands of any modes in a kernel.
namespace cute_py::kernels {

// (mn,k) -> offset of an operand of any modes.
struct NestedOffset {
  NestedStride const& stride;

  template <class Coord>
  CUTE_HOST_DEVICE std::int64_t operator()(Coord const& coord) const {
    return stride.mn(cute::get<0>(coord)).in[0] + stride.k(cute::get<1>(coord)).in[0];
  }
};

// The tensor (MN,K) of an operand in global memory: with a CuTe stride the usual one, with a NestedStride one whose
// layout is the function of the coordinate that its modes make.
template <class Pointer, class Shape, class Stride>
CUTE_DEVICE auto operand_tensor(Pointer const& pointer, Shape const& shape, Stride const& stride) {
  if constexpr (std::is_same_v<Stride, NestedStride>) {
    auto const origin = cute::make_arithmetic_tuple(cute::Int<0>{}, cute::Int<0>{});
    return cute::make_tensor(
        pointer, cute::make_composed_layout(NestedOffset{stride}, origin, cute::make_identity_layout(shape)));
  } else {
    return cute::make_tensor(cute::make_gmem_ptr(pointer), shape, stride);
  }
}

// What a kernel that gathers partitions: the tensor (MN,K) of an operand, or, of an operand of any modes, the
// coordinates of its elements. GatheredTiles finds where they are.
template <class Pointer, class Shape, class Stride>
CUTE_DEVICE auto operand_or_coordinates(Pointer const& pointer, Shape const& shape, Stride const& stride) {
  if constexpr (std::is_base_of_v<NestedStride, Stride>) {
    return cute::make_identity_tensor(shape);
  } else {
    return operand_tensor(pointer, shape, stride);
  }
}

// Do a shape and strides have the same modes?
template <class Shape, class Stride>
CUTE_HOST_DEVICE constexpr auto fits(Shape const& shape, Stride const& stride) {
  if constexpr (std::is_base_of_v<NestedStride, Stride>) {
    return cute::true_type{};
  } else {
    return cute::congruent(shape, stride);
  }
}

// The thread whose part of a copy this thread does. Where there are many modes, Threads of them copy as
// (Threads/8,8):(8,1), contiguous along K; where memory runs along the first mode, they are exchanged for
// (Threads/8,8):(1,Threads/8).
template <int Threads, class Stride>
CUTE_DEVICE int copying_thread(Stride const& stride, int thread) {
  if constexpr (std::is_same_v<Stride, NestedStride>) {
    constexpr int rows = Threads / 8;
    return stride.k_major ? thread : thread / rows + thread % rows * 8;
  } else {
    return thread;
  }
}

}  // namespace cute_py::kernels
