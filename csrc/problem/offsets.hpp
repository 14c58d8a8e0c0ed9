#pragma once

#include <cstdint>

#include "problem/problem.hpp"

namespace cute_py {

// The offset of element `index` of a group, whose first mode varies fastest, in elements of an array.
inline std::int64_t offset_of(Modes const& modes, std::int64_t const* stride, std::int64_t index) {
  std::int64_t offset = 0;
  for (int i = 0; i < modes.rank; ++i) {
    offset += index % modes.extent[i] * stride[i];
    index /= modes.extent[i];
  }
  return offset;
}

// The offsets of `count` elements from `first` on.
inline void fill_offsets(Modes const& modes, std::int64_t const* stride, std::int64_t first, std::int64_t count,
                         std::int64_t* offsets) {
  if (modes.rank == 0) {
    for (std::int64_t i = 0; i < count; ++i) offsets[i] = 0;
    return;
  }
  std::int64_t digit[kMaxModes];
  std::int64_t offset = 0;
  for (int i = 0; i < modes.rank; ++i) {
    digit[i] = first % modes.extent[i];
    first /= modes.extent[i];
    offset += digit[i] * stride[i];
  }
  for (std::int64_t i = 0; i < count;) {
    // As far as the first mode goes, then one carry.
    for (; i < count && digit[0] < modes.extent[0]; ++i, ++digit[0]) {
      offsets[i] = offset;
      offset += stride[0];
    }
    for (int mode = 0; mode + 1 < modes.rank && digit[mode] == modes.extent[mode]; ++mode) {
      offset += stride[mode + 1] - modes.extent[mode] * stride[mode];
      digit[mode] = 0;
      ++digit[mode + 1];
    }
  }
}

}  // namespace cute_py
