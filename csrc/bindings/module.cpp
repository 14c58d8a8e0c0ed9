#include <pybind11/pybind11.h>

#include "bindings/borrowed.hpp"
#include "bindings/buffer.hpp"
#include "bindings/catalogue.hpp"
#include "bindings/errors.hpp"
#include "bindings/guards.hpp"
#include "bindings/kernels.hpp"
#include "bindings/layouts.hpp"
#include "bindings/plan.hpp"
#include "bindings/product.hpp"
#include "bindings/split.hpp"
#include "bindings/trace.hpp"
#include "bindings/xla.hpp"

PYBIND11_MODULE(_core, module) {
  using namespace cute_py::bindings;
  module.doc() = "The compiled part of cute_py. Private: use the functions of cute_py.";
  register_errors();
  register_kernels(module);
  register_borrowed(module);
  register_buffer(module);
  register_product(module);
  register_plan(module);
  register_split(module);
  register_layouts(module);
  register_catalogue(module);
  register_trace(module);
  register_xla(module);
  guard_classes(module);
}
