#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "cpu/gemm/register_tile.hpp"

namespace cute_py::cpu {

// Cache blocking, as in GotoBLAS: MC rows of A, packed, stay in L2 while NC columns of B, packed, stay in L3. KC is
// kBlockOfK, whatever the caches are: the order of adds depends on it.
struct CacheBlocking {
  std::int64_t bytes_a;  // MC * KC numbers
  std::int64_t bytes_b;  // NC * KC numbers
};

// By the caches that the C library knows of (sysconf, which reads cpuid or sysfs), once. Where it knows none, as for
// 1 MB and 32 MB, on which these parts of them were measured to be the best. They are the most: larger caches are
// mostly shared, and a thread's memory stays below 16 MB.
inline CacheBlocking const& cache_blocking() {
  static CacheBlocking const blocking = [] {
    constexpr std::int64_t kMostOfA = 688 << 10;
    constexpr std::int64_t kMostOfB = 6 << 20;
    auto const part = [](int name, std::int64_t numerator, std::int64_t denominator, std::int64_t most) {
      auto const bytes = static_cast<std::int64_t>(sysconf(name));
      return bytes <= 0 ? most : std::clamp(bytes * numerator / denominator, most / 8, most);
    };
    return CacheBlocking{part(_SC_LEVEL2_CACHE_SIZE, 43, 64, kMostOfA), part(_SC_LEVEL3_CACHE_SIZE, 3, 16, kMostOfB)};
  }();
  return blocking;
}

// Sums of so many bytes are kept while K goes on, if they cannot be kept in the result.
inline constexpr std::int64_t kBytesOfSums = 8 << 20;

// Of a small product, a panel with so many steps of k at most is packed once for all columns.
inline constexpr std::int64_t kMostStepsPacked = 4096;

// So many bytes of its rows stay in L1, while all columns go by.
inline constexpr std::int64_t kBytesKept = 24 << 10;

}  // namespace cute_py::cpu
