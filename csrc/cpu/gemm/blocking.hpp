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

// Where a cache is unknown, as for 1 MB of L2 and 32 MB of L3, on which these parts of them were measured to be the
// best. They are the most: larger caches are mostly shared, and a thread's memory stays below 16 MB.
constexpr CacheBlocking cache_blocking(CacheSizes const& caches) {
  constexpr std::int64_t kMostOfA = 688 << 10;
  constexpr std::int64_t kMostOfB = 6 << 20;
  auto const part = [](std::int64_t bytes, std::int64_t numerator, std::int64_t denominator, std::int64_t most) {
    return bytes <= 0 ? most : std::clamp(bytes * numerator / denominator, most / 8, most);
  };
  return {part(caches.l2, 43, 64, kMostOfA), part(caches.l3, 3, 16, kMostOfB), usable(caches).l1 * 3 / 4};
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
