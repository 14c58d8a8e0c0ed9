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
};

// Those of the cluster that runs, by where they are.
std::map<void const*, Mbarrier>& mbarriers();
void expect_bytes(Mbarrier& barrier, std::int64_t bytes);
void complete_phase(Mbarrier& barrier);

}  // namespace cute_py::workbench
