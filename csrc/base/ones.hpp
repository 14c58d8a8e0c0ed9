#pragma once

#include "base/dtype.hpp"

namespace cute_py {

// The number one of every type, kBytesOfOne apart, as it lies in memory.
inline constexpr int kBytesOfOne = 16;

struct Ones {
  alignas(16) unsigned char bytes[kDTypes][kBytesOfOne];
};

constexpr Ones make_ones() {
  Ones ones{};
  for (DTypeRow const& row : kDTypeTable) {
    for (int i = 0; i < 8; ++i) {
      ones.bytes[static_cast<int>(row.type)][i] = static_cast<unsigned char>(row.one >> (8 * i));
    }
  }
  return ones;
}

inline constexpr Ones kOnes = make_ones();

}  // namespace cute_py
