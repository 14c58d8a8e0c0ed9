#include "bindings/catalogue.hpp"

#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "instances/registry.hpp"
#include "problem/box_rules.hpp"

namespace cute_py::bindings {
namespace {

namespace py = pybind11;

// The layouts of a kernel as JSON, of one that came with a unit; None where the package's own tables have them.
py::object config(std::string const& name) {
  for (Entry const& entry : instances::registry()) {
    if (entry.traits.name == name && entry.describe != nullptr) return py::str(entry.describe());
  }
  return py::none();
}

}  // namespace

void register_catalogue(py::module_& module) {
  module.def("config", &config, py::arg("name"));
  module.def(
      "box_rules",
      [](std::string element, int bits, std::vector<std::int64_t> extents, std::vector<std::int64_t> strides,
         std::vector<std::int64_t> box, std::vector<std::int64_t> steps, int swizzle, std::int64_t address) {
        auto const answer = box_rules::ask({std::move(element), bits, std::move(extents), std::move(strides),
                                            std::move(box), std::move(steps), swizzle, address});
        return py::make_tuple(py::tuple(py::cast(answer.broken)), answer.box_bytes);
      },
      py::arg("element"), py::arg("bits"), py::arg("extents"), py::arg("strides"), py::arg("box"), py::arg("steps"),
      py::arg("swizzle"), py::arg("address"));
}

}  // namespace cute_py::bindings
