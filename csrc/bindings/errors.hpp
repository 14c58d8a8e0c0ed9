#pragma once

namespace cute_py::bindings {

void register_errors();

// In a handler of a C++ exception: makes it the exception of Python that it stands for.
void set_python_error() noexcept;

}  // namespace cute_py::bindings
