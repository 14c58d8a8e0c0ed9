#pragma once

#include <pybind11/pybind11.h>

namespace cute_py::bindings {

// _core.entries, _core.devices and what there is to know about this build.
void register_kernels(pybind11::module_& module);

}  // namespace cute_py::bindings
