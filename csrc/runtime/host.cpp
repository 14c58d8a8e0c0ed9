#include "runtime/host.hpp"

#include <sched.h>

#include <algorithm>

namespace cute_py::runtime {

DeviceInfo host_info() {
  DeviceInfo info;
  info.name = "cpu";
  info.multiprocessors = host_processors();
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
    info.isa = Isa::avx512;
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    info.isa = Isa::avx2;
  }
#endif
  return info;
}

int host_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace cute_py::runtime
