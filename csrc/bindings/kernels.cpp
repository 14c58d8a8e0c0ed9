#include "bindings/kernels.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "instances/registry.hpp"
#include "instances/unit.hpp"
#include "problem/profiles.hpp"
#include "runtime/cuda.hpp"
#include "runtime/host.hpp"

namespace cute_py::bindings {
namespace {

namespace py = pybind11;

py::tuple names_of(DTypeSet set) {
  py::list names;
  for (int i = 0; i < kDTypes; ++i) {
    if (contains(set, static_cast<DType>(i))) names.append(name_of(static_cast<DType>(i)));
  }
  return names;
}

// What M, N and K have to be multiples of.
py::tuple multiples(Traits const& t) {
  if (t.operands.is_whole()) return py::make_tuple(t.tile[0], t.tile[1], t.tile[2]);
  int widest = 1;
  for (int i = 0; i < kDTypes; ++i) {
    if (contains(t.types.factors, static_cast<DType>(i))) widest = std::max(widest, bytes_of(static_cast<DType>(i)));
  }
  int const a = std::max(t.operands.vector_bytes_a / widest, 1);
  int const b = std::max(t.operands.vector_bytes_b / widest, 1);
  bool const a_along_k = t.operands.major_a == Major::k;
  bool const b_along_k = t.operands.major_b == Major::k;
  return py::make_tuple(a_along_k ? 1 : a, b_along_k ? 1 : b, std::max(a_along_k ? a : 1, b_along_k ? b : 1));
}

py::dict entry_dict(Entry const& entry) {
  Traits const& t = entry.traits;
  py::dict d;
  d["name"] = t.name;
  d["kernel"] = t.kernel;
  d["layout"] = t.operands.letters;
  d["target"] = name_of(t.target);
  d["is_built"] = entry.prepare != nullptr;
  d["compute"] = name_of(t.types.compute);
  d["factors"] = names_of(t.types.factors);
  d["results"] = names_of(t.types.results);
  d["one_type"] = t.types.one_type;
  d["conjugates"] = t.types.conjugates;
  d["modes"] = t.modes.n_and_k;
  d["modes_m"] = t.modes.m;
  d["most_m"] = t.limits.m != 0 ? py::object(py::int_(t.limits.m)) : py::none();
  d["most_n"] = t.limits.n != 0 ? py::object(py::int_(t.limits.n)) : py::none();
  d["tile"] = py::make_tuple(t.tile[0], t.tile[1], t.tile[2]);
  d["threads"] = entry.resources.threads;
  d["ctas_per_multiprocessor"] = entry.resources.ctas_per_multiprocessor;
  d["stages"] = entry.resources.stages;
  d["shared_bytes"] = t.needs.shared_bytes;
  d["predicated"] = !t.operands.is_whole();
  d["multiples"] = multiples(t);
  d["vector_bytes"] = py::make_tuple(t.operands.vector_bytes_a, t.operands.vector_bytes_b);
  d["copies_boxes"] = t.operands.is_in_boxes();
  d["alignment_bytes"] = t.operands.alignment_bytes;
  d["compute_capability"] = t.needs.compute_capability;
  d["isa"] = name_of(t.needs.isa);
  return d;
}

py::list entries() {
  py::list list;
  for (Entry const& entry : instances::registry()) list.append(entry_dict(entry));
  return list;
}

// Registers of a thread of a GPU kernel on the current GPU; None where there is none.
py::object registers(std::string const& name) {
  if (runtime::device_count() == 0) return py::none();
  Entry const* const entry = instances::registry().find(name, Target::cuda);
  int const count = entry != nullptr && entry->registers != nullptr ? entry->registers() : 0;
  return count > 0 ? py::object(py::int_(count)) : py::none();
}

py::list devices() {
  py::list list;
  for (int i = 0; i < runtime::device_count(); ++i) {
    DeviceInfo const info = runtime::device_info(i);
    py::dict d;
    d["name"] = info.name;
    d["ordinal"] = info.ordinal;
    d["compute_capability"] = py::make_tuple(info.compute_capability / 10, info.compute_capability % 10);
    d["multiprocessors"] = info.multiprocessors;
    d["memory_bytes"] = info.memory_bytes;
    d["shared_bytes_per_cta"] = info.shared_bytes_per_cta;
    d["clock_mhz"] = info.clock_mhz;
    d["memory_gb_per_s"] = info.memory_gb_per_s;
    GpuProfile const profile = profile_of(info.name);
    d["launch_us"] = profile.launch_us;
    d["memory_efficiency"] = profile.memory_efficiency;
    d["l2_bytes_per_cycle"] = profile.l2_bytes_per_cycle;
    d["l2_bytes"] = static_cast<std::int64_t>(profile.l2_bytes);
    list.append(d);
  }
  return list;
}

}  // namespace

void register_kernels(py::module_& module) {
  module.attr("__version__") = CUTE_PY_VERSION;
  module.attr("cutlass_version") = CUTE_PY_CUTLASS_VERSION;
  module.attr("built_with_cuda") = runtime::built_with_cuda();
  module.attr("kernel_set") = CUTE_PY_KERNEL_SET;
  module.def("cuda_runtime_version", &runtime::cuda_runtime_version);
  module.def("cuda_driver_version", &runtime::cuda_driver_version);
  module.def("device_count", &runtime::device_count);
  module.def("devices", &devices);
  module.def("host_isa", [] { return name_of(runtime::host_isa()); });
  py::list activations;
  for (char const* const name : kActivationNames) activations.append(name);
  module.attr("activations") = py::tuple(activations);
  module.def("cpu_rates", [] {
    py::dict rates;
    for (CpuRate const& rate : cpu_rates) rates[rate.name] = CpuProfile{}.*rate.value;
    return rates;
  });
  module.def("host_caches", [] {
    CacheSizes const caches = host_caches();
    return py::make_tuple(caches.l1, caches.l2, caches.l3);
  });
  module.def("host_processors", &runtime::host_processors);
  module.def("processors_of_quota", &runtime::processors_of_quota, py::arg("groups"), py::arg("root"));
  module.def("entries", &entries);
  module.def("entries_version", [] { return instances::registry().version(); });
  module.def("registers", &registers, py::arg("name"));
  module.def("load_unit", &instances::load_unit, py::arg("path"));
  module.def(
      "set_find_unit",
      [](py::function find) {
        instances::set_find_unit([held = find.release()](std::string const& variant) {  // for good
          py::gil_scoped_acquire const gil;
          held(variant);
        });
      },
      py::arg("find"));
  // Called with a GPU's name; returns its launch_us, memory_efficiency, l2_bytes_per_cycle and l2_bytes, or None.
  module.def(
      "set_find_profile",
      [](py::function find) {
        set_find_profile([held = find.release()](std::string const& name) -> std::optional<GpuProfile> {  // for good
          py::gil_scoped_acquire const gil;
          using Members = std::tuple<double, double, double, double>;
          auto const found = held(name).cast<std::optional<Members>>();
          if (!found) return std::nullopt;
          auto const [launch_us, memory_efficiency, l2_bytes_per_cycle, l2_bytes] = *found;
          return GpuProfile{launch_us, memory_efficiency, l2_bytes_per_cycle, l2_bytes};
        });
      },
      py::arg("find"));
}

}  // namespace cute_py::bindings
