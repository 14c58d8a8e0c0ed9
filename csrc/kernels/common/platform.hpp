#pragma once

#include "problem/packing.hpp"

namespace cute_py::kernels {

// What all GPU kernels have in common.
Platform const& platform();

}  // namespace cute_py::kernels
