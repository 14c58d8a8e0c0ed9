#pragma once

#include <pybind11/pybind11.h>

namespace cute_py::bindings {

// _core.gemm and _core.explain.
void register_gemm(pybind11::module_& module);

}  // namespace cute_py::bindings
