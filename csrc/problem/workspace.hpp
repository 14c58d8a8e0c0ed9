#pragma once

#include <cstdint>

#include "problem/geometry.hpp"

// Arrays in the workspace, by which steps pass results to one another.
namespace cute_py {

// Of a >= 0 and b >= 1, of any size.
inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

// Bytes of the workspace that an array takes: what follows is as aligned as any kernel wants.
inline std::int64_t workspace_bytes_of(std::int64_t elements, DType type) {
  constexpr std::int64_t kAlignment = 256;
  return ceil_div(elements * bytes_of(type), kAlignment) * kAlignment;
}

// An array of a step that lies in the workspace, or is a number one.
inline void set_array(Geometry& g, Role role, DType type) {
  g.type[role] = type;
  g.log2_alignment[role] = kMaxLog2Alignment;
}

// What sums are added in that are exact already.
inline Compute exact_compute(Compute compute) {
  return compute == Compute::tf32 || compute == Compute::fast_f32 ? Compute::f32 : compute;
}

}  // namespace cute_py
