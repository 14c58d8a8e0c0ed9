#pragma once

#include <pybind11/pybind11.h>

// Memory of arrays, for kernels that are compiled and launched from Python.
namespace cute_py::bindings {

void register_borrowed(pybind11::module_& module);

}  // namespace cute_py::bindings
