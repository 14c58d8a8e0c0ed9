#include "bindings/layouts.hpp"

#include "bindings/layout_entries.hpp"

namespace cute_py::bindings {

void register_layouts(py::module_& module) {
  py::options options;
  options.disable_function_signatures();  // the docstrings begin with theirs
  register_layout_classes(module);
  register_layout_queries(module);
  register_layout_modes(module);
  register_layout_algebra(module);
}

}  // namespace cute_py::bindings
