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
  // A padded line of one step has no mode.
  bool const padded = fast.rank() <= 1 && ((role == Role::a && g.padded_a) || (role == Role::b && g.padded_b));
  if (fast.rank() == 0 ? !padded : fast[0].stride[role] != 1) return {element, false};
  auto const fits = [&](int bytes) {
    std::int64_t const elements = bytes / element;
    bool all = g.is_aligned(role, bytes) && (padded || fast[0].extent % elements == 0);
    for_each_group(g, [&](Modes const& modes) {
      for (int i = &modes == &fast ? 1 : 0; i < modes.rank(); ++i) all = all && modes[i].stride[role] % elements == 0;
    });
    return all;
  };
  int bytes = 16;
  while (bytes > element && !(bytes >= 4 && fits(bytes))) bytes /= 2;
  return {bytes, fast.rank() <= 1 || fast[0].extent * element % 16 == 0};
}

// Do the elements of an array lie in vectors of 16 bytes along the first mode of a group?
inline bool lies_in_vectors(Geometry const& g, Role role, Modes const& fast) {
  Access const access = access_along(g, role, fast);
  return access.whole && access.bytes == 16 && g.is_aligned(role, 16);
}

// Can a copy along M move `bytes` bytes at a time, because they are contiguous in A and in D? Complex numbers may be
// moved by halves.
inline bool moves_together(Geometry const& g, int bytes) {
  int const element = bytes_of(g.type[Role::d]);
  if (!g.is_aligned(Role::a, bytes) || !g.is_aligned(Role::d, bytes)) return false;
  if (bytes <= element) return bytes >= scalar_bytes_of(g.type[Role::d]);
  std::int64_t const elements = bytes / element;
  bool has_unit = false;
  for (Mode const& mode : g.m) {
    bool const is_unit = mode.stride[Role::a] == 1 && mode.stride[Role::d] == 1;
    has_unit = has_unit || is_unit;
    if (is_unit ? mode.extent % elements != 0
                : mode.stride[Role::a] % elements != 0 || mode.stride[Role::d] % elements != 0) {
      return false;
    }
  }
  return has_unit;
}

}  // namespace cute_py
