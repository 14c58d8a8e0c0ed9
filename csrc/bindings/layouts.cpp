#include "bindings/layouts.hpp"

#include <cstring>

#include "bindings/layout_entries.hpp"

namespace cute_py::bindings {
namespace {

// Gives a compiled function the docstring that is written in Python. pybind11 frees it with the function.
void add_docstring(py::handle function, std::string const& text) {
  PyMethodDef* const method =
      PyCFunction_Check(function.ptr()) ? reinterpret_cast<PyCFunctionObject*>(function.ptr())->m_ml : nullptr;
  if (method == nullptr || method->ml_doc != nullptr) {
    throw py::type_error("add_docstring() takes a compiled function that has none");
  }
  method->ml_doc = strdup(text.c_str());
}

}  // namespace

void register_layouts(py::module_& module) {
  module.def("add_docstring", &add_docstring, py::arg("function"), py::arg("text"));
  py::options options;
  options.disable_function_signatures();  // the docstrings begin with theirs
  register_layout_classes(module);
  register_layout_queries(module);
  register_layout_modes(module);
  register_layout_algebra(module);
}

}  // namespace cute_py::bindings
