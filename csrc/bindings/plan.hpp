#pragma once

#include <pybind11/pybind11.h>

#include "bindings/call.hpp"

namespace cute_py::bindings {

// _core.Plan.
void register_plan(py::module_& module);

// A plan of what was asked of a _core.Product, as Python shows it.
py::object make_plan(py::handle product, Definition const& definition, Asked const& asked);

}  // namespace cute_py::bindings
