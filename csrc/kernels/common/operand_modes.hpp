#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "problem/access.hpp"
#include "problem/entry.hpp"

// How the operands of a geometry lie in memory, as far as a kernel asks.
namespace cute_py::kernels {

// The groups of an operand (MN,K,L) with its strides.
struct OperandModes {
  Geometry const& geometry;
  Role role;

  Modes const& mn() const { return role == Role::b ? geometry.n : geometry.m; }
  Modes const& k() const { return role == Role::d ? geometry.n : geometry.k; }  // of D its columns
  DType type() const { return geometry.type[role]; }
  bool conjugate() const { return role == Role::a ? geometry.conj_a : role == Role::b && geometry.conj_b; }
};

// Do the elements of an operand lie in vectors of 16 bytes along the first mode of its first or second group?
inline bool lies_in_vectors(OperandModes const& x, Major major) {
  return lies_in_vectors(x.geometry, x.role, major == Major::mn ? x.mn() : x.k());
}

inline Access access_along(OperandModes const& x, Major major) {
  return access_along(x.geometry, x.role, major == Major::mn ? x.mn() : x.k());
}

inline std::int64_t shortest_stride(Modes const& modes, Role role) {
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (Mode const& mode : modes) {
    auto const length = mode.stride[role] < 0 ? -mode.stride[role] : mode.stride[role];
    if (length != 0) best = std::min(best, length);
  }
  return best;
}

}  // namespace cute_py::kernels
