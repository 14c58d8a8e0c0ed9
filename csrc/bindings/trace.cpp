#include "bindings/trace.hpp"

#include <pybind11/stl.h>

#include <array>
#include <string>
#include <vector>

#include "bindings/runner.hpp"
#include "dispatch/select.hpp"
#include "emulator/cta.hpp"
#include "emulator/trace.hpp"
#include "instances/registry.hpp"
#include "problem/errors.hpp"

namespace cute_py::bindings {
namespace {

namespace py = pybind11;

DType type_of(std::string const& name) {
  for (int i = 0; i < kDTypes; ++i) {
    if (name == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  throw py::key_error(name);
}

Modes modes_of(std::vector<std::int64_t> const& extents) {
  Modes modes;
  modes.rank = static_cast<int>(extents.size());
  for (std::size_t i = 0; i < extents.size(); ++i) modes.extent[i] = extents[i];
  return modes;
}

// An operand as Python gives it: an address, and the strides of each of its groups in elements.
Array array_of(py::tuple const& operand, DType type) {
  Array array;
  array.data = reinterpret_cast<void*>(operand[0].cast<std::uintptr_t>());
  array.type = type;
  auto const groups = operand[1].cast<std::array<std::vector<std::int64_t>, 3>>();
  for (int group = 0; group < 3; ++group) {
    for (std::size_t i = 0; i < groups[group].size(); ++i) array.stride[group][i] = groups[group][i];
  }
  return array;
}

Entry const& find(std::string const& name) {
  for (Entry const* entry : instances::registry()) {
    if (entry->traits.name == name && entry->traits.target == Target::emulator) return *entry;
  }
  throw py::key_error(name);
}

// Runs one variant in the emulator and returns its accesses as the bytes of emulator::Record, or None for more than
// `limit` of them. Groups are those of M, N, K and L.
py::object trace(std::string const& name, py::tuple const& extents, py::tuple const& a, py::tuple const& b,
                 py::tuple const& c, std::string const& factors, std::string const& result, unsigned spaces,
                 std::size_t limit) {
  Entry const& entry = find(name);
  auto const groups = extents.cast<std::array<std::vector<std::int64_t>, 4>>();
  Problem problem;
  problem.m = modes_of(groups[0]);
  problem.n = modes_of(groups[1]);
  problem.k = modes_of(groups[2]);
  problem.l = modes_of(groups[3]);
  problem.a = array_of(a, type_of(factors));
  problem.b = array_of(b, type_of(factors));
  problem.d = array_of(c, type_of(result));
  problem.c = problem.d;
  problem.compute = entry.traits.compute;
  if (auto const refused = dispatch::refusals(entry.traits, problem, {}); refused != dispatch::kNone) {
    throw UnsupportedProblemError("trace: " + name + ": " + dispatch::describe(refused, entry.traits, problem, {}));
  }

  emulator::Tracer tracer(spaces, limit);
  Execution execution;
  execution.tracer = &tracer;
  try {
    without_gil(execution, [&](Execution const& running) { entry.run(problem, running); });
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
