#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/layout.hpp"

// Layouts at many 1-D coordinates at once. Coordinates and values stay within 55 bits, so that sums of 255 of them fit
// in 64; each function throws LayoutError where they do not.
namespace cute_py::layout {

constexpr std::int64_t kLargestInBatch = std::int64_t{1} << 55;

std::int64_t largest_magnitude(std::int64_t const* values, std::size_t count);

// sum += (rest % extent) * stride, rest /= extent, for each element.
void take_digit(std::vector<std::int64_t>& rest, std::int64_t extent, std::int64_t stride, std::int64_t* sum);

// The values of a layout of integers.
void values_at(Layout const& l, std::int64_t const* coords, std::size_t count, std::int64_t* values);

// The strides along one basis element, and 0 in the place of the others.
IntTuple along(Basis const& path, IntTuple const& stride);
bool goes_along(Basis const& path, IntTuple const& stride);

}  // namespace cute_py::layout
