#pragma once

#include <pybind11/pybind11.h>

namespace cute_py::bindings {

void register_trace(pybind11::module_& module);

}  // namespace cute_py::bindings
