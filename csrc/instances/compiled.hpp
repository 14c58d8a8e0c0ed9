#pragma once

#include <vector>

#include "problem/entry.hpp"

namespace cute_py::instances {

// The GPU variants that this build has code for, for a GPU and for the emulator.
std::vector<Entry> compiled_entries();

}  // namespace cute_py::instances
