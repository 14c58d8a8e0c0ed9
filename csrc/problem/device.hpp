#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/caches.hpp"
#include "base/isa.hpp"
#include "problem/cpu_profile.hpp"

namespace cute_py {

// What was measured of a GPU, for the cost models of its kernels. Those of known GPUs are in problem/profiles.cpp;
// `cute-py profile` measures another.
struct GpuProfile {
  double launch_us = 2.4;            // a launch: one of a graph that copies an element, times 1.36
  double memory_efficiency = 0.85;   // what a copy reaches of `memory_gb_per_s`
  double l2_bytes_per_cycle = 31.2;  // of a multiprocessor, out of L2
  double l2_bytes = 50e6;
};

// The properties of a processor that the choice of a kernel depends on. The processor itself need not exist.
struct DeviceInfo {
  std::string name;
  int ordinal = 0;
  int compute_capability = 0;  // 90 for 9.0; 0 for a CPU
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  int shared_bytes_per_cta = 0;  // of a CTA, at most
  int clock_mhz = 0;             // of the multiprocessors, at most
  int memory_gb_per_s = 0;       // of its own memory
  GpuProfile profile;
  bool copies_arrays = false;  // of one that is invented: host arrays are not taken to lie there
  Isa isa = Isa::baseline;     // this and what follows, of a CPU
  CacheSizes caches;
  CpuProfile cpu;

  // How many clusters of 2, 4 and 8 CTAs run at a time, one CTA on a multiprocessor; 0: the driver was not asked. A
  // cluster stays within a GPC, whose multiprocessors need not be a multiple of its size, nor all be enabled.
  int clusters[3] = {0, 0, 0};

  bool is_cpu() const { return compute_capability == 0; }

  int clusters_of(std::int64_t ctas) const {
    int log2 = 0;
    while (1 << log2 < ctas) ++log2;
    if (log2 == 0 || log2 > 3) return multiprocessors >> log2;
    // As many as on an H200, where 30 and 15 fit.
    constexpr int kLost[] = {0, 3, 1};
    return clusters[log2 - 1] != 0 ? clusters[log2 - 1] : std::max((multiprocessors >> log2) - kLost[log2 - 1], 1);
  }
};

}  // namespace cute_py
