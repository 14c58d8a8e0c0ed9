#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace cute_py {

// In bytes, of the data caches of one core, and of the last one, which cores mostly share; 0: unknown.
struct CacheSizes {
  std::int64_t l1 = 0;
  std::int64_t l2 = 0;
  std::int64_t l3 = 0;
};

// Those of this machine: what the C library reads from cpuid, or else what the kernel tells in sysfs.
inline CacheSizes const& host_caches() {
  static CacheSizes const caches = [] {
    auto const of_level = [](int level, int name) {
      auto const bytes = static_cast<std::int64_t>(sysconf(name));
      if (bytes > 0) return bytes;
      for (int index = 0; index < 8; ++index) {
        auto const folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
        int its_level = 0;
        std::string type;
        std::int64_t kilobytes = 0;  // "32K"
        std::ifstream(folder + "/level") >> its_level;
        std::ifstream(folder + "/type") >> type;
        std::ifstream(folder + "/size") >> kilobytes;
        if (its_level == level && type != "Instruction") return kilobytes << 10;
      }
      return std::int64_t{0};
    };
    return CacheSizes{of_level(1, _SC_LEVEL1_DCACHE_SIZE), of_level(2, _SC_LEVEL2_CACHE_SIZE),
                      of_level(3, _SC_LEVEL3_CACHE_SIZE)};
  }();
  return caches;
}

}  // namespace cute_py
