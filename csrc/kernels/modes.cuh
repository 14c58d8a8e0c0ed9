#pragma once

#include <type_traits>

#include <cute/tensor.hpp>

#include "catalogue/modes.hpp"
#include "kernels/namespace.hpp"

// Operands of any modes in a kernel.
namespace cute_py::kernels {

using catalogue::Batch;
using catalogue::ModeMap;
using catalogue::NestedStride;

// (mn,k) -> offset of an operand of any modes.
struct NestedOffset {
  NestedStride const& stride;

  template <class Coord>
  CUTE_HOST_DEVICE std::int64_t operator()(Coord const& coord) const
  {
    return stride.mn(cute::get<0>(coord)).in[0] + stride.k(cute::get<1>(coord)).in[0];
  }
};

// The tensor (MN,K) of an operand in global memory: with a CuTe stride the usual one, with a NestedStride one whose
// layout is the function of the coordinate that its modes make.
template <class Pointer, class Shape, class Stride>
CUTE_DEVICE auto operand_tensor(Pointer const& pointer, Shape const& shape, Stride const& stride)
{
  if constexpr (std::is_same_v<Stride, NestedStride>) {
    auto const origin = cute::make_arithmetic_tuple(cute::Int<0>{}, cute::Int<0>{});
    return cute::make_tensor(pointer,
                             cute::make_composed_layout(NestedOffset{stride}, origin, cute::make_identity_layout(shape)));
  } else {
    return cute::make_tensor(cute::make_gmem_ptr(pointer), shape, stride);
  }
}

// Do a shape and strides have the same modes?
template <class Shape, class Stride>
CUTE_HOST_DEVICE constexpr auto fits(Shape const& shape, Stride const& stride)
{
  if constexpr (std::is_same_v<Stride, NestedStride>) {
    return cute::true_type{};
  } else {
    return cute::congruent(shape, stride);
  }
}

// The thread whose part of a copy this thread does. Threads (32,8):(1,32) run along the first mode; where memory runs
// along the second, they are exchanged for (32,8):(8,1).
template <class Stride>
CUTE_DEVICE int copying_thread(Stride const& stride, int thread)
{
  if constexpr (std::is_same_v<Stride, NestedStride>) {
    return stride.k_major ? thread / 8 + thread % 8 * 32 : thread;
  } else {
    return thread;
  }
}

// The rows that a thread copies of an operand of any modes, found once: where each is, and whether it exists.
template <int Rows>
struct GatheredRows {
  std::int64_t offset[Rows];
  bool exists[Rows];

  // coords (M',K') holds the coordinates of what the thread copies.
  template <class Coords>
  CUTE_DEVICE GatheredRows(NestedStride const& stride, Coords const& coords, int extent)
  {
    CUTE_UNROLL
    for (int i = 0; i < Rows; ++i) {
      int const row = cute::get<0>(coords(i, 0));
      exists[i] = row < extent;
      offset[i] = exists[i] ? stride.mn(row).in[0] : 0;
    }
  }

  // Copies the elements of a tile, element by element, with an instruction that fills with zeros what does not exist. dst (M',K').
  template <class ZeroFill, class T, class Coords, class Dst>
  CUTE_DEVICE void copy(T const* data, NestedStride const& stride, Coords const& coords, int extent_k, Dst&& dst) const
  {
    CUTE_UNROLL
    for (int j = 0; j < cute::size<1>(coords); ++j) {
      int const step = cute::get<1>(coords(0, j));
      bool const step_exists = step < extent_k;
      std::int64_t const along_k = step_exists ? stride.k(step).in[0] : 0;
      CUTE_UNROLL
      for (int i = 0; i < Rows; ++i) {
        ZeroFill::copy(data[offset[i] + along_k], dst(i, j), exists[i] && step_exists);
      }
    }
  }
};

template <class Stride, class Coords>
CUTE_DEVICE auto gathered_rows(Stride const& stride, Coords const& coords, int extent)
{
  if constexpr (std::is_same_v<Stride, NestedStride>) {
    return GatheredRows<decltype(cute::size<0>(coords))::value>(stride, coords, extent);
  } else {
    return 0;
  }
}

}  // namespace cute_py::kernels
