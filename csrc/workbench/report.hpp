#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workbench/costs.hpp"
#include "workbench/timeline.hpp"

namespace cute_py::workbench {

// Launches of a kernel with one shape.
struct LaunchRecord {
  std::string kernel;
  std::string shape;  // "grid 2x2x1, block 256x1x1, 16384 bytes"
  std::uint64_t count = 1;
  double seconds = 0;
};
void note_launch(LaunchRecord record);

// Of a kernel's accesses, of one cluster.
void note_costs(std::string const& kernel, std::vector<Cost> costs);

// Of one cluster of a kernel.
void note_timeline(std::string const& kernel, std::vector<Span> const& spans);

}  // namespace cute_py::workbench
