#pragma once

#include <cute/tensor.hpp>

#include "layout/layout.hpp"
#include "layout/swizzle.hpp"

// From CuTe's static types to the values of csrc/layout: the one place where types become values. What a person is
// shown is lifted from the type that the compiler used.
namespace cute_py::catalogue {

template <class T>
layout::Integer lift_integer(T const& t) {
  if constexpr (cute::is_scaled_basis<T>::value) {
    layout::Integer result = lift_integer(t.value());
    return result;
  } else {
    return {static_cast<std::int64_t>(t), {}, cute::is_static<T>::value};
  }
}

template <class T, int... Ns>
layout::Integer lift_integer(cute::ScaledBasis<T, Ns...> const& basis) {
  layout::Integer result = lift_integer(basis.value());
  result.basis.depth = sizeof...(Ns);
  result.basis.mode = {static_cast<std::uint8_t>(Ns)...};
  return result;
}

template <class T>
layout::IntTuple lift_int_tuple(T const& t) {
  if constexpr (cute::is_tuple<T>::value) {
    return cute::apply(
        t, [](auto const&... e) { return layout::IntTuple(std::vector<layout::IntTuple>{lift_int_tuple(e)...}); });
  } else {
    return lift_integer(t);
  }
}

template <class Shape, class Stride>
layout::Layout lift(cute::Layout<Shape, Stride> const& l) {
  return layout::Layout(lift_int_tuple(l.shape()), lift_int_tuple(l.stride()));
}

template <int bits, int base, int shift, class Offset, class Inner>
layout::ComposedLayout lift(cute::ComposedLayout<cute::Swizzle<bits, base, shift>, Offset, Inner> const& l) {
  return layout::ComposedLayout(layout::Swizzle(bits, base, shift), lift_integer(l.offset()), lift(l.layout_b()));
}

// A tile: integers, layouts and `_`.
template <class T>
layout::Tiler lift_tiler(T const& t) {
  if constexpr (cute::is_underscore<T>::value) {
    return layout::Tiler{};
  } else if constexpr (cute::is_layout<T>::value) {
    return layout::Tiler::of(lift(t));
  } else if constexpr (cute::is_tuple<T>::value) {
    return cute::apply(
        t, [](auto const&... e) { return layout::Tiler::of(std::vector<layout::Tiler>{lift_tiler(e)...}); });
  } else {
    return layout::Tiler::of(lift_integer(t));
  }
}

}  // namespace cute_py::catalogue
