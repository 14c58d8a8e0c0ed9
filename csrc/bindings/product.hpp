#pragma once

#include <pybind11/pybind11.h>

#include "bindings/call.hpp"

namespace cute_py::bindings {

// _core.Product, a function that multiplies, and what Python does for it.
void register_product(py::module_& module);
}  // namespace cute_py::bindings
