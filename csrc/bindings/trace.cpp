#include "bindings/trace.hpp"

#include <pybind11/stl.h>

#include <array>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "bindings/gil.hpp"
#include "dispatch/refusals.hpp"
#include "emulator/cta.hpp"
#include "emulator/trace.hpp"
#include "execution/location.hpp"
#include "instances/registry.hpp"

namespace cute_py::bindings {
namespace {

namespace py = pybind11;

DType type_of(std::string const& name) {
  for (DTypeRow const& row : kDTypeTable) {
    if (name == row.name) return row.type;
  }
  throw py::key_error(name);
}

using Extents = std::array<std::vector<std::int64_t>, 4>;

// Gives an array to a product, as Python describes it: an address, and the strides of each of its groups in elements.
void place(Geometry& geometry, Arguments& arguments, Role role, std::string const& type, py::tuple const& operand,
           std::array<Modes*, 3> const& groups) {
  auto* const data = reinterpret_cast<void*>(operand[0].cast<std::uintptr_t>());
  auto const strides = operand[1].cast<std::array<std::vector<std::int64_t>, 3>>();
  arguments.data[role] = data;
  geometry.type[role] = type_of(type);
  geometry.log2_alignment[role] = log2_alignment_of(reinterpret_cast<std::uintptr_t>(data));
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (std::size_t i = 0; i < strides[group].size(); ++i) {
      (*groups[group])[static_cast<int>(i)].stride[role] = strides[group][i];
    }
  }
}

Entry const& find(std::string const& name) {
  Entry const* const entry = instances::registry().find(name, Target::emulator);
  if (entry == nullptr) throw py::key_error(name);
  return *entry;
}

// Runs one variant in the emulator and returns its accesses as the bytes of emulator::Record, or None for more than
// `limit` of them. Groups are those of M, N, K and L.
py::object trace(std::string const& name, py::tuple const& extents, py::tuple const& a, py::tuple const& b,
                 py::tuple const& c, std::string const& factors, std::string const& result, unsigned spaces,
                 std::size_t limit) {
  Entry const& entry = find(name);
  auto const groups = extents.cast<Extents>();
  Geometry geometry;
  Modes* const modes[] = {&geometry.m, &geometry.n, &geometry.k, &geometry.l};
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (auto const extent : groups[group]) modes[group]->push_back({extent, {}, false, false});
  }
  geometry.compute = entry.traits.types.compute;
  Arguments arguments;
  place(geometry, arguments, Role::a, factors, a, {&geometry.m, &geometry.k, &geometry.l});
  place(geometry, arguments, Role::b, factors, b, {&geometry.n, &geometry.k, &geometry.l});
  place(geometry, arguments, Role::d, result, c, {&geometry.m, &geometry.n, &geometry.l});
  if (auto const refused = dispatch::refusals(entry.traits, geometry, {}); refused != dispatch::kNone) {
    throw UnsupportedProblemError("trace: " + name + ": " + dispatch::describe(refused, entry.traits, geometry, {}));
  }

  emulator::Tracer tracer(spaces, limit);
  Execution execution;
  execution.tracer = &tracer;
  try {
    auto const proposal =
        entry.rules->complete({geometry, geometry, entry, *execution::emulated_device()}, Schedule::open());
    if (!proposal)
      throw UnsupportedProblemError("trace: " + name + " has no schedule for this product\n  next: other extents");
    auto const launch = entry.prepare(entry.traits.name, geometry, proposal->schedule);
    without_gil(execution, [&](Execution const& running) { launch->run(arguments, running); });
  } catch (emulator::KernelError const&) {
    if (!tracer.overflowed()) throw;
    return py::none();
  }
  auto const& records = tracer.records();
  return py::bytes(reinterpret_cast<char const*>(records.data()), records.size() * sizeof(emulator::Record));
}

}  // namespace

void register_trace(py::module_& module) {
  module.def("trace", &trace, py::arg("name"), py::arg("extents"), py::arg("a"), py::arg("b"), py::arg("c"),
             py::arg("factors"), py::arg("result"), py::arg("spaces"), py::arg("limit"));
}

}  // namespace cute_py::bindings
