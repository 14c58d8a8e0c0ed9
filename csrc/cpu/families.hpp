#pragma once

#include <vector>

#include "problem/entry.hpp"
#include "problem/packing.hpp"

namespace cute_py::cpu {

// The variants of every family of CPU kernels.
std::vector<Entry> entries();

// What all kernels of a host have in common.
Platform const& platform();

}  // namespace cute_py::cpu
