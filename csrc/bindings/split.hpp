#pragma once

#include <pybind11/pybind11.h>

#include "problem/request.hpp"

// Factors that are kept split for products of emulated precision.
namespace cute_py::bindings {

namespace py = pybind11;

// A PreparedOperand: an array, what it was split into, and where that is.
struct HeldSplit {
  py::object array;
  py::object memory;
  int axis;
  SplitFactor split;
};

// The split factor that an argument is; null of an array, and of nothing.
HeldSplit const* held_split(PyObject* argument);

void register_split(py::module_& module);

}  // namespace cute_py::bindings
