#pragma once

#include <algorithm>
#include <cstdint>

#include "problem/device.hpp"

namespace cute_py::cpu {

// Of each cache what one thread can count on, as larger ones are mostly shared; and of one that is unknown.
constexpr CacheSizes usable(CacheSizes const& caches) {
  auto const at_most = [](std::int64_t most, std::int64_t bytes) { return bytes > 0 ? std::min(most, bytes) : most; };
  return {at_most(32 << 10, caches.l1), at_most(1 << 20, caches.l2), at_most(16 << 20, caches.l3)};
}

// The rates and the caches of the processor that a variant runs on.
struct Profile : CpuProfile {
  double l1_bytes;
  double l2_bytes;
  double l3_bytes;
};

// Those of the machine, with what the instruction set of the variant changes.
inline Profile profile_of(Isa isa, DeviceInfo const& device) {
  CacheSizes const caches = usable(device.caches);
  Profile profile{device.cpu, static_cast<double>(caches.l1), static_cast<double>(caches.l2),
                  static_cast<double>(caches.l3)};
  switch (isa) {
    case Isa::baseline:
      profile.vector_slowdown *= 3;
      profile.memory_slowdown *= 2;
      break;
    case Isa::avx2:
      profile.vector_slowdown *= 1.25;
      break;
    case Isa::avx512_vnni:
      profile.int8_speedup *= 3;
      [[fallthrough]];
    case Isa::avx512:
      profile.transpose_cycles *= 2;
      profile.row_step_us *= 1.2;
      break;
  }
  return profile;
}

}  // namespace cute_py::cpu
