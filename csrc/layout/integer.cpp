#include "layout/integer.hpp"

#include <limits>
#include <string>

#include "base/errors.hpp"

namespace cute_py::layout {
namespace {

[[noreturn]] void overflow(char const* operation, std::int64_t a, std::int64_t b) {
  throw LayoutError("overflow: " + std::to_string(a) + " " + operation + " " + std::to_string(b) +
                    " does not fit in 64 bits");
}

bool both_static(Integer const& a, Integer const& b) { return a.is_static && b.is_static; }

void require_divisor(Integer const& a, Integer const& b) {
  if (b.value == 0) throw LayoutError("division of " + std::to_string(a.value) + " by zero");
  if (b.value == -1 && a.value == std::numeric_limits<std::int64_t>::min()) overflow("/", a.value, b.value);
}

}  // namespace

std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_add_overflow(a, b, &result)) overflow("+", a, b);
  return result;
}

std::int64_t multiply(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) overflow("*", a, b);
  return result;
}

// The sum of integers along one basis element, or with a zero.
Integer operator+(Integer const& a, Integer const& b) {
  if (a.basis == b.basis) return {add(a.value, b.value), a.basis, both_static(a, b)};
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  throw LayoutError("an integer and a coordinate cannot be added");
}

Integer operator-(Integer const& a) { return {multiply(-1, a.value), a.basis, a.is_static}; }

// A static zero times anything is a static zero. A basis element times an integer keeps its mode.
Integer operator*(Integer const& a, Integer const& b) {
  if (a.has_basis() && b.has_basis()) throw LayoutError("two coordinate strides cannot be multiplied");
  bool const zero = (a.value == 0 && a.is_static) || (b.value == 0 && b.is_static);
  return {multiply(a.value, b.value), a.has_basis() ? a.basis : b.basis, zero || both_static(a, b)};
}

Integer operator/(Integer const& a, Integer const& b) {
  require_divisor(a, b);
  return {a.value / b.value, a.basis, both_static(a, b) || (a.value == 0 && a.is_static)};
}

Integer operator%(Integer const& a, Integer const& b) {
  require_divisor(a, b);
  bool const zero = (a.value == 0 && a.is_static) || ((b.value == 1 || b.value == -1) && b.is_static);
  return {a.value % b.value, a.basis, zero || both_static(a, b)};
}

Integer min(Integer const& a, Integer const& b) {
  return {a.value < b.value ? a.value : b.value, {}, both_static(a, b)};
}

Integer max(Integer const& a, Integer const& b) {
  return {a.value < b.value ? b.value : a.value, {}, both_static(a, b)};
}

Integer abs(Integer const& a) { return a.value < 0 ? -a : a; }

Integer sign(Integer const& a) { return {(a.value > 0) - (a.value < 0), {}, a.is_static}; }

Integer ceil_div(Integer const& a, Integer const& b) {
  require_divisor(a, b);
  bool const positive = a.value > 0 && b.value > 0;  // then no sum can overflow
  return {positive ? (a.value - 1) / b.value + 1 : (add(a.value, b.value) - 1) / b.value, a.basis, both_static(a, b)};
}

}  // namespace cute_py::layout
