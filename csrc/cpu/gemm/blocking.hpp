#pragma once

#include <algorithm>
#include <cstdint>

#include "base/caches.hpp"
#include "cpu/profile.hpp"

namespace cute_py::cpu {

// Cache blocking, as in GotoBLAS: MC rows of A, packed, stay in L2 while NC columns of B, packed, stay in L3. KC is
// kBlockOfK, whatever the caches are: the order of adds depends on it.
struct CacheBlocking {
  std::int64_t bytes_a;        // MC * KC numbers
  std::int64_t bytes_b;        // NC * KC numbers
  std::int64_t bytes_small_a;  // of a small product's rows of A that stay in L1 while all columns go by
};

// A larger cache, or one that is unknown, counts as 1 MB of L2 and 32 MB of L3, on which these parts of them were
// measured to be the best: larger ones are mostly shared, and a thread's memory stays below 16 MB.
constexpr CacheBlocking cache_blocking(CacheSizes const& caches) {
  auto const counted = [](std::int64_t bytes, std::int64_t measured) {
    return bytes <= 0 ? measured : std::clamp(bytes, measured / 8, measured);
  };
  return {counted(caches.l2, 1 << 20) * 43 / 64, counted(caches.l3, 32 << 20) * 3 / 16, usable(caches).l1 * 3 / 4};
}

// Of the machine that this runs on.
inline CacheBlocking const& host_cache_blocking() {
  static CacheBlocking const blocking = cache_blocking(host_caches());
  return blocking;
}

// Sums of so many bytes are kept while K goes on, if they cannot be kept in the result.
inline constexpr std::int64_t kBytesOfSums = 8 << 20;

// Of a small product, a panel with so many steps of k at most is packed once for all columns.
inline constexpr std::int64_t kMostStepsPacked = 4096;

}  // namespace cute_py::cpu
