#pragma once

#include <pybind11/pybind11.h>

namespace cute_py::bindings {

// _core.mma_atoms, _core.copy_atoms and _core.config: the static types of the headers and of the kernels, lifted.
void register_catalogue(pybind11::module_& module);

}  // namespace cute_py::bindings
