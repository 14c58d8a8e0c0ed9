#pragma once

#include <cstdint>
#include <string>

#include "problem/entry.hpp"

namespace cute_py {

// A processor as far as the choice of a kernel depends on it. Choosing for an invented one needs no such processor.
struct DeviceInfo {
  std::string name;
  int ordinal = 0;
  int compute_capability = 0;  // 90 for 9.0; 0 for a CPU
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  int shared_bytes_per_cta = 0;  // the most that a CTA can ask for
  int clock_mhz = 0;             // of the multiprocessors, at most
  int memory_gb_per_s = 0;       // of its own memory
  Isa isa = Isa::baseline;       // of a CPU
};

}  // namespace cute_py
