#pragma once

#include <pybind11/pybind11.h>

namespace cute_py::bindings {

// Makes the module's classes refuse with a TypeError what would end the process or read memory that holds no object: to
// be called without a constructor, to be made without __init__, and, for classes that do not say how (by __reduce__),
// to be copied or pickled by any protocol. To be called after all classes are registered.
void guard_classes(pybind11::module_& module);

}  // namespace cute_py::bindings
