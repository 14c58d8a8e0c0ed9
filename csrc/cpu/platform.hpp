#pragma once

#include "problem/packing.hpp"

namespace cute_py::cpu {

// What all kernels of a host have in common.
Platform const& platform();

}  // namespace cute_py::cpu
