#pragma once

// What the judge's programs print: a line for each case, CuTe's own text and, of a layout, its first values.

#include <cstdio>

#include <cute/tensor.hpp>

namespace judge {

constexpr int kValues = 64;

template <class T>
auto plain(T const& t) {
  return cute::transform_leaf(t, [](auto const& i) { return int(i); });
}

template <class A, class O, class B>
void show(cute::ComposedLayout<A, O, B> const& layout) {
  cute::print(layout);
  std::printf(" |");
  for (int i = 0; i < int(cute::size(layout)) && i < kValues; ++i) std::printf(" %d", int(layout(i)));
  std::printf("\n");
}

template <class Shape, class Stride>
void show(cute::Layout<Shape, Stride> const& layout) {
  cute::print(layout);
  std::printf(" |");
  for (int i = 0; i < int(cute::size(layout)) && i < kValues; ++i) {
    auto value = layout(i);
    std::printf(" ");
    if constexpr (cute::is_tuple<decltype(value)>::value) {
      cute::print(plain(value));
    } else if constexpr (cute::is_scaled_basis<decltype(value)>::value) {
      cute::print(plain(cute::as_arithmetic_tuple(value)));
    } else {
      cute::print(int(value));
    }
  }
  std::printf("\n");
}

template <class T>
void show(T const& t) {
  cute::print(t);
  std::printf("\n");
}

// Elements that are their own indices.
inline auto make_counting() { return cute::counting_iterator<int>(0); }

// The layout and the offset of a part of the tensor of a layout's indices.
template <class Part, class Layout>
void show_part(Part part, Layout const& layout) {
  auto const result = part(cute::make_tensor(make_counting(), layout));
  cute::print(result.layout());
  std::printf(" + %d", int(*result.data()));
}

}  // namespace judge

// Prints the value of an expression that is known to the compiler. It is made from its type alone, so that the compiler
// deduces every type on the way but emits no code for it.
#define SHOW(...) cute::print(cute::remove_cvref_t<decltype(__VA_ARGS__)>{})

// Shows the value of any expression, a static one in the same way.
#define JUDGE(...)                                              \
  do {                                                          \
    using Result = cute::remove_cvref_t<decltype(__VA_ARGS__)>; \
    if constexpr (cute::is_static<Result>::value) {             \
      judge::show(Result{});                                    \
    } else {                                                    \
      judge::show(__VA_ARGS__);                                 \
    }                                                           \
  } while (false)
