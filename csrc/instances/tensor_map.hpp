#pragma once

#include "problem/tensor_box.hpp"

namespace cute_py::instances {

// The tensor map of a box of an array at `data`. Throws if the driver cannot make it.
TensorMap encode(TensorBox const& box, void* data);

// Gives it another address.
void point(TensorMap& map, void* data);

}  // namespace cute_py::instances
