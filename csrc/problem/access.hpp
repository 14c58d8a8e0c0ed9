#pragma once

#include <cstdint>

#include "problem/geometry.hpp"

namespace cute_py {

// How an array is read along the first mode of a group, 16 bytes for each thread.
struct Access {
  int bytes;   // of one access: 16, 8, 4 or an element
  bool whole;  // do the 16 bytes lie side by side?
};

// The widest accesses that strides and extents allow. `fast` is a group of the geometry.
inline Access access_along(Geometry const& g, Role role, Modes const& fast) {
  int const element = bytes_of(g.type[role]);
  if (fast.rank() == 0 || fast[0].stride[role] != 1) return {element, false};
  auto const fits = [&](int bytes) {
    std::int64_t const elements = bytes / element;
    bool all = g.is_aligned(role, bytes) && fast[0].extent % elements == 0;
    for_each_group(g, [&](Modes const& modes) {
      for (int i = &modes == &fast ? 1 : 0; i < modes.rank(); ++i) all = all && modes[i].stride[role] % elements == 0;
    });
    return all;
  };
  int bytes = 16;
  while (bytes > element && !(bytes >= 4 && fits(bytes))) bytes /= 2;
  return {bytes, fast.rank() == 1 || fast[0].extent * element % 16 == 0};
}

}  // namespace cute_py
