#include "bindings/catalogue.hpp"

#include <pybind11/stl.h>

#include <string>
#include <variant>

#include "bindings/layout_arguments.hpp"
#include "catalogue/records.hpp"
#include "instances/registry.hpp"
#include "problem/box_rules.hpp"

namespace cute_py::bindings {
namespace {

using namespace catalogue;

py::object value_type_tuple(ValueType const& t) { return py::make_tuple(t.name, t.bits); }

py::dict mma_dict(MmaRecord const& r) {
  py::dict d;
  d["name"] = r.name;
  d["architecture"] = r.architecture;
  d["shape_mnk"] = to_python(r.shape_mnk);
  d["thr_id"] = r.thr_id;
  d["layout_a_tv"] = r.layout_a;
  d["layout_b_tv"] = r.layout_b;
  d["layout_c_tv"] = r.layout_c;
  d["a"] = value_type_tuple(r.a);
  d["b"] = value_type_tuple(r.b);
  d["c"] = value_type_tuple(r.c);
  d["d"] = value_type_tuple(r.d);
  d["scale"] = r.scales ? value_type_tuple(r.scales->type) : py::none();
  d["scale_length"] = r.scales ? r.scales->length : 0;
  d["layout_sfa_tv"] = r.scales ? py::cast(r.scales->layout_a) : py::none();
  d["layout_sfb_tv"] = r.scales ? py::cast(r.scales->layout_b) : py::none();
  return d;
}

py::dict copy_dict(CopyRecord const& r) {
  py::dict d;
  d["name"] = r.name;
  d["architecture"] = r.architecture;
  d["thr_id"] = r.thr_id;
  d["layout_src"] = r.layout_src;
  d["layout_dst"] = r.layout_dst;
  d["layout_ref"] = r.layout_ref;
  return d;
}

py::object optional_copy(std::optional<TiledCopyRecord> const& r) {
  if (!r) return py::none();
  py::dict d;
  d["atom"] = copy_dict(r->atom);
  d["value_type"] = value_type_tuple(r->value_type);
  d["layout_tv"] = r->layout_tv;
  d["tiler"] = to_python(r->tiler);
  return d;
}

py::object optional_mma(std::optional<TiledMmaRecord> const& r) {
  if (!r) return py::none();
  py::dict d;
  d["atom"] = mma_dict(r->atom);
  d["atom_layout"] = r->atom_layout;
  d["permutations"] = to_python(r->permutations);
  return d;
}

py::object optional_box(std::optional<std::array<int, 2>> const& box) {
  return box ? py::object(py::make_tuple((*box)[0], (*box)[1])) : py::none();
}

py::object config(std::string const& name) {
  for (Entry const& entry : instances::registry()) {
    if (entry.traits.name != name || entry.describe == nullptr) continue;
    ConfigRecord const r = entry.describe();
    auto const cast = [](SmemLayoutRecord const& l) -> py::object {
      return std::visit([](auto const& held) { return py::object(py::cast(held)); }, l);
    };
    py::dict d;  // by the names of Python's KernelConfig
    d["cpp_type"] = r.cpp_type;
    d["cta_tiler"] = to_python(r.cta_tiler);
    d["smem_layout_a"] = r.smem_a ? cast(*r.smem_a) : py::none();
    d["smem_layout_b"] = cast(r.smem_b);
    d["smem_offset_a"] = r.smem_offset_a;
    d["smem_offset_b"] = r.smem_offset_b;
    d["type_a"] = value_type_tuple(r.a);
    d["type_b"] = value_type_tuple(r.b);
    d["type_c"] = value_type_tuple(r.c);
    d["thread_layout_a"] = py::cast(r.threads_a);
    d["thread_layout_b"] = py::cast(r.threads_b);
    d["thread_layout_c"] = py::cast(r.threads_c);
    d["tiled_copy_a"] = optional_copy(r.copy_a);
    d["tiled_copy_b"] = optional_copy(r.copy_b);
    d["tiled_mma"] = optional_mma(r.mma);
    d["owner_layout_c"] = py::cast(r.owners_c);
    d["box_a"] = optional_box(r.box_a);
    d["box_b"] = optional_box(r.box_b);
    d["roles"] =
        r.roles ? py::object(py::make_tuple(r.roles->multiplying, r.roles->copying, r.roles->of_tile)) : py::none();
    return d;
  }
  return py::none();
}

// The atoms, and those whose traits are malformed with the reason.
template <class Records, class ToDict>
py::tuple atoms(Records (*all)(std::vector<Defect>&), ToDict to_dict) {
  std::vector<Defect> defects;
  py::list list;
  for (auto const& record : all(defects)) list.append(to_dict(record));
  py::dict broken;
  for (Defect const& defect : defects) broken[py::str(defect.name)] = defect.reason;
  return py::make_tuple(list, broken);
}

}  // namespace

void register_catalogue(py::module_& module) {
  module.def("mma_atoms", [] { return atoms(&mma_atoms, &mma_dict); });
  module.def("copy_atoms", [] { return atoms(&copy_atoms, &copy_dict); });
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
