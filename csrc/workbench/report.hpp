#pragma once

#include <cstdint>
#include <string>

namespace cute_py::workbench {

// Launches of a kernel with one shape.
struct LaunchRecord {
  std::string kernel;
  std::string shape;  // "grid 2x2x1, block 256x1x1, 16384 bytes"
  std::uint64_t count = 1;
  double seconds = 0;
};
void note_launch(LaunchRecord record);

}  // namespace cute_py::workbench
