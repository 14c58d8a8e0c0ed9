#pragma once

namespace cute_py::bindings {

// Turns the C++ exceptions of problem/errors.hpp into the Python classes of cute_py.errors.
void register_errors();

}  // namespace cute_py::bindings
