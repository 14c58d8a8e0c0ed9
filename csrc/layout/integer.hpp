#pragma once

#include <array>
#include <cstdint>

// One integer of a layout, and arithmetic that never overflows in silence.
namespace cute_py::layout {

// The mode that a coordinate stride steps along: @0 is {0}, @1@0 is {0, 1}, outermost mode first. Empty for an integer.
struct Basis {
  static constexpr int kMaxDepth = 7;

  std::uint8_t depth = 0;
  std::array<std::uint8_t, kMaxDepth> mode{};

  bool operator==(Basis const& other) const { return depth == other.depth && mode == other.mode; }
  bool operator!=(Basis const& other) const { return !(*this == other); }
};

// A static integer, written _8, is known to the C++ compiler, a dynamic one, written 8, is not. The flag travels
// through arithmetic as in CuTe and is no part of the value.
struct Integer {
  std::int64_t value = 0;
  Basis basis;
  bool is_static = false;

  bool has_basis() const { return basis.depth > 0; }
  bool is(std::int64_t v) const { return value == v && !has_basis(); }
  bool operator==(Integer const& other) const { return value == other.value && basis == other.basis; }
  bool operator!=(Integer const& other) const { return !(*this == other); }
};

inline Integer dynamic(std::int64_t value) { return {value, {}, false}; }
inline Integer fixed(std::int64_t value) { return {value, {}, true}; }

// 64-bit arithmetic; throws LayoutError where the result does not fit.
std::int64_t add(std::int64_t a, std::int64_t b);
std::int64_t multiply(std::int64_t a, std::int64_t b);

Integer operator+(Integer const& a, Integer const& b);
Integer operator-(Integer const& a);
Integer operator*(Integer const& a, Integer const& b);
Integer operator/(Integer const& a, Integer const& b);
Integer operator%(Integer const& a, Integer const& b);
Integer min(Integer const& a, Integer const& b);
Integer max(Integer const& a, Integer const& b);
Integer abs(Integer const& a);
Integer sign(Integer const& a);
Integer ceil_div(Integer const& a, Integer const& b);

}  // namespace cute_py::layout
