#include "layout/batch.hpp"

#include <algorithm>
#include <string>

#include "base/errors.hpp"
#include "layout/text.hpp"

namespace cute_py::layout {

std::int64_t largest_magnitude(std::int64_t const* values, std::size_t count) {
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t const v = values[i];
    most = std::max(most, v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v));
  }
  if (most >= static_cast<std::uint64_t>(kLargestInBatch))
    throw LayoutError(
        "a coordinate in an array needs more than 55 bits; next: integers, one coordinate at a time, have 64");
  return static_cast<std::int64_t>(most);
}

void take_digit(std::vector<std::int64_t>& rest, std::int64_t extent, std::int64_t stride, std::int64_t* sum) {
  for (std::size_t i = 0; i < rest.size(); ++i) {
    std::int64_t const quotient = rest[i] / extent;
    sum[i] += (rest[i] - quotient * extent) * stride;
    rest[i] = quotient;
  }
}

void values_at(Layout const& l, std::int64_t const* coords, std::size_t count, std::int64_t* values) {
  FlatLayout const f = flat(l);
  std::size_t const modes = f.shape.size();
  // The last mode goes on beyond its extent.
  bool const has_none = std::any_of(f.shape.begin(), f.shape.begin() + (modes > 0 ? modes - 1 : 0),
                                    [](Integer const& extent) { return extent.value == 0; });
  if (count > 0 && has_none)
    throw LayoutError("the shape " + to_string(l.shape()) +
                      " has no coordinates; next: give extents that are 1 or more");
  __int128 left = largest_magnitude(coords, count);
  __int128 reach = 0;
  for (std::size_t m = 0; m < modes; ++m) {
    __int128 const extent = std::max<std::int64_t>(f.shape[m].value, 1);
    __int128 const digit = m + 1 == modes ? left : std::min(left, extent - 1);
    reach += digit * (f.stride[m].value < 0 ? -static_cast<__int128>(f.stride[m].value) : f.stride[m].value);
    left /= extent;
    if (reach >= kLargestInBatch)
      throw LayoutError(
          "a value of " + to_string(l) +
          " at a coordinate in an array needs more than 55 bits; next: integers, one coordinate at a time, have 64");
  }
  std::fill_n(values, count, 0);
  if (count == 0) return;
  std::vector<std::int64_t> rest(coords, coords + count);
  for (std::size_t m = 0; m + 1 < modes; ++m) take_digit(rest, f.shape[m].value, f.stride[m].value, values);
  if (modes > 0) {
    for (std::size_t i = 0; i < count; ++i) values[i] += rest[i] * f.stride[modes - 1].value;
  }
}

IntTuple along(Basis const& path, IntTuple const& stride) {
  if (stride.is_tuple()) {
    std::vector<IntTuple> result;
    for (auto const& e : stride.elements()) result.push_back(along(path, e));
    return IntTuple(std::move(result));
  }
  Integer const& d = stride.leaf();
  if (!d.has_basis() && d.value != 0) {
    throw LayoutError(
        "the strides are coordinates and the integer " + to_string(d) +
        ", whose values cannot be added; next: strides that are all integers, or all basis elements such as E(0)");
  }
  return d.basis == path ? dynamic(d.value) : fixed(0);
}

bool goes_along(Basis const& path, IntTuple const& stride) {
  std::vector<Integer> const strides = leaves(stride);
  return std::any_of(strides.begin(), strides.end(), [&](Integer const& d) { return d.basis == path; });
}

}  // namespace cute_py::layout
