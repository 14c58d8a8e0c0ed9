#pragma once

#include <pybind11/pybind11.h>

namespace cute_py::bindings {

// _core.Plan.
void register_plan(pybind11::module_& module);

}  // namespace cute_py::bindings
