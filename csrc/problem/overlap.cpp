#include "problem/overlap.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace cute_py {
namespace {

constexpr std::int64_t kBytes = sizeof(float);

// The elements of a matrix as bytes first + 4 * (i * inner + j * outer), i < inner_extent, j < outer_extent, with
// strides
// >= 0 and inner <= outer. A mode with one element has stride 0.
struct Box {
  std::intptr_t first;
  std::int64_t inner;
  std::int64_t outer;
  std::int64_t inner_extent;
  std::int64_t outer_extent;

  std::int64_t inner_width() const { return (inner_extent - 1) * inner + 1; }
  std::intptr_t last() const { return first + kBytes * ((inner_extent - 1) * inner + (outer_extent - 1) * outer); }
};

Box box_of(Matrix const& matrix, std::int64_t rows, std::int64_t columns) {
  Box box{reinterpret_cast<std::intptr_t>(matrix.data), rows > 1 ? matrix.stride[0] : 0,
          columns > 1 ? matrix.stride[1] : 0, rows, columns};
  for (auto [stride, extent] : {std::pair{&box.inner, rows}, std::pair{&box.outer, columns}}) {
    if (*stride < 0) {
      box.first += kBytes * *stride * (extent - 1);
      *stride = -*stride;
    }
  }
  if (box.inner > box.outer) {
    std::swap(box.inner, box.outer);
    std::swap(box.inner_extent, box.outer_extent);
  }
  return box;
}

}  // namespace

bool shares_elements(Matrix const& matrix, std::int64_t rows, std::int64_t columns) {
  if (rows == 0 || columns == 0) return false;
  auto const s0 = rows > 1 ? std::abs(matrix.stride[0]) : 1;
  auto const s1 = columns > 1 ? std::abs(matrix.stride[1]) : 1;
  if (rows > 1 && columns > 1) {
    if (s0 == 0 || s1 == 0) return true;
    // i * s0 == j * s1 first happens at i = s1 / gcd, j = s0 / gcd
    auto const gcd = std::gcd(s0, s1);
    return s1 / gcd < rows && s0 / gcd < columns;
  }
  return s0 == 0 || s1 == 0;
}

bool may_overlap(Matrix const& x, std::int64_t x_rows, std::int64_t x_columns, Matrix const& y, std::int64_t y_rows,
                 std::int64_t y_columns) {
  if (x_rows == 0 || x_columns == 0 || y_rows == 0 || y_columns == 0) return false;
  Box const a = box_of(x, x_rows, x_columns);
  Box const b = box_of(y, y_rows, y_columns);
  if (a.last() + kBytes <= b.first || b.last() + kBytes <= a.first) return false;

  auto const apart = std::abs(a.first - b.first);
  if (apart % kBytes != 0) return true;

  // All elements of both lie on one grid, or on two that never meet.
  auto const grid = std::gcd(std::gcd(a.inner, a.outer), std::gcd(b.inner, b.outer));
  if (grid > 1 && apart / kBytes % grid != 0) return false;

  // Slices of one larger matrix: the same leading dimension, and different elements of each of its lines.
  auto const leading = std::max(a.outer, b.outer);
  bool const same_leading = (a.outer == leading || a.outer_extent == 1) && (b.outer == leading || b.outer_extent == 1);
  if (same_leading && leading > 0) {
    auto const base = std::min(a.first, b.first);
    auto const a_start = (a.first - base) / kBytes % leading;
    auto const b_start = (b.first - base) / kBytes % leading;
    auto const a_end = a_start + a.inner_width();
    auto const b_end = b_start + b.inner_width();
    // A line may wrap round the end of a leading dimension, since base is not where the larger matrix begins.
    auto const apart_on_circle = [leading](auto s0, auto e0, auto s1, auto e1) {
      return e0 <= s1 && e1 <= s0 + leading;
    };
    if (apart_on_circle(a_start, a_end, b_start, b_end) || apart_on_circle(b_start, b_end, a_start, a_end))
      return false;
  }
  return true;
}

}  // namespace cute_py
