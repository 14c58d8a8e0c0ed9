#pragma once

#include <cstdint>
#include <map>

#include "workbench/machine.hpp"

// mbarriers: phases that end when as many have arrived as the barrier was made for, and all bytes that were announced.
namespace cute_py::workbench {

struct Mbarrier {
  void const* at = nullptr;
  std::uint32_t expected = 0;
  std::uint32_t missing = 0;
  std::int64_t bytes = 0;  // announced, and not yet here
  std::uint64_t phase = 0;
  Knowledge pending;
  Knowledge completed[2];  // by phase
  // Who made it, when, whether a fence.mbarrier_init came behind, and which generation of the cluster's barrier tells
  // that: others know of the mbarrier then, and of nothing else. 0: none.
  int maker = 0;
  Clock made_at = 0;
  bool is_fenced = false;
  std::uint64_t told_by = 0;
};

// Those of the cluster that runs, by where they are.
std::map<void const*, Mbarrier>& mbarriers();
void fence_mbarriers(Thread const& thread);  // fence.mbarrier_init
void expect_bytes(Mbarrier& barrier, std::int64_t bytes);
void complete_phase(Mbarrier& barrier);

}  // namespace cute_py::workbench
