#include "runtime/host.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace cute_py::runtime {
namespace {

// What one group may use, in processors; 0 if there is no limit.
double quota_in(std::string const& folder) {
  std::string quota;
  double period = 0;
  if (std::ifstream both(folder + "/cpu.max"); both >> quota >> period) {
    return quota == "max" || period <= 0 ? 0 : std::atof(quota.c_str()) / period;
  }
  double microseconds = 0;
  if (!(std::ifstream(folder + "/cpu.cfs_quota_us") >> microseconds) || microseconds <= 0) return 0;
  if (!(std::ifstream(folder + "/cpu.cfs_period_us") >> period) || period <= 0) return 0;
  return microseconds / period;
}

bool has(std::string const& list, std::string const& word) {
  std::istringstream words(list);
  for (std::string each; std::getline(words, each, ',');) {
    if (each == word) return true;
  }
  return false;
}

// OMP_NUM_THREADS, of which the first number counts; 0 if it says none.
int threads_of_environment() {
  char const* const text = std::getenv("OMP_NUM_THREADS");
  if (text == nullptr) return 0;
  char* end = nullptr;
  long const threads = std::strtol(text, &end, 10);
  return end != text && (*end == '\0' || *end == ',') && threads > 0 ? static_cast<int>(std::min(threads, 1024L)) : 0;
}

std::atomic<int> chosen{0};

}  // namespace

Isa host_isa() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
    return __builtin_cpu_supports("avx512vnni") ? Isa::avx512_vnni : Isa::avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::avx2;
#endif
  return Isa::baseline;
}

DeviceInfo host_info() {
  DeviceInfo info;
  info.name = "cpu";
  info.multiprocessors = host_threads();
  info.caches = host_caches();
  info.isa = host_isa();
  return info;
}

double processors_of_quota(std::string const& groups, std::string const& root) {
  std::ifstream file(groups);
  double least = 0;
  for (std::string line; std::getline(file, line);) {
    // hierarchy:controllers:path. The second version of groups has no controllers.
    auto const first = line.find(':');
    auto const second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    auto const controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !has(controllers, "cpu")) continue;
    auto const top = controllers.empty() ? root : root + "/cpu";
    // A group has no more than the groups around it. In a container these may not be there.
    auto path = line.substr(second + 1);
    for (bool more = true; more;) {
      more = !path.empty() && path != "/";
      double const quota = quota_in(top + path);
      if (quota > 0 && (least == 0 || quota < least)) least = quota;
      path.erase(std::min(path.rfind('/'), path.size()));
    }
  }
  return least;
}

int host_processors() {
  int processors = 1;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) processors = std::max(1, CPU_COUNT(&set));
  double const quota = processors_of_quota("/proc/self/cgroup", "/sys/fs/cgroup");
  return quota > 0 && quota < processors ? std::max(1, static_cast<int>(quota + 0.5)) : processors;
}

int host_threads() {
  int const threads = chosen.load(std::memory_order_relaxed);
  if (threads > 0) return threads;
  static int const by_default = [] {
    int const asked = threads_of_environment();
    return asked > 0 ? asked : host_processors();
  }();
  return by_default;
}

void set_host_threads(int threads) { chosen.store(threads, std::memory_order_relaxed); }

}  // namespace cute_py::runtime

// What a library that limits the threads of other libraries looks for, under names that nobody else has.
extern "C" {
__attribute__((visibility("default"))) int cute_py_get_num_threads() { return cute_py::runtime::host_threads(); }
__attribute__((visibility("default"))) void cute_py_set_num_threads(int threads) {
  cute_py::runtime::set_host_threads(std::max(1, threads));
}
}
