#pragma once

#include <pybind11/pybind11.h>

namespace cute_py::bindings {

// _core.Layout, ComposedLayout, Swizzle, ScaledBasis and the functions of the layout algebra.
void register_layouts(pybind11::module_& module);

}  // namespace cute_py::bindings
