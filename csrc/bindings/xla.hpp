#pragma once

#include <pybind11/pybind11.h>

namespace cute_py::bindings {

// _core.xla_contract, the contraction as a foreign function of XLA, by which JAX calls it without Python.
void register_xla(pybind11::module_& module);

}  // namespace cute_py::bindings
