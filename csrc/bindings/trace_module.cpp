// The extension _trace: the emulator's kernels once more, compiled so that every access to memory is seen.
#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "emulator/trace.hpp"
#include "instances/registry.hpp"
#include "problem/problem.hpp"

namespace cute_py::bindings {
namespace {

namespace py = pybind11;

// The operand's strides as Python gives them, in elements.
Array array_of(std::uintptr_t data, py::tuple const& strides, DType type) {
  return matrix(reinterpret_cast<void*>(data), type, strides[0].cast<std::int64_t>(), strides[1].cast<std::int64_t>());
}

// The bytes between an operand's lowest and highest element.
emulator::Watched watched(Array const& array, std::int64_t rows, std::int64_t columns) {
  auto const origin = reinterpret_cast<std::intptr_t>(array.data);
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (auto const& [extent, stride] : {std::pair{rows, array.stride[0][0]}, std::pair{columns, array.stride[1][0]}}) {
    (stride < 0 ? low : high) += (extent - 1) * stride;
  }
  auto const size = bytes_of(array.type);
  return {array.data, origin + static_cast<std::intptr_t>(low * size),
          origin + static_cast<std::intptr_t>((high + 1) * size)};
}

DType type_of(std::string const& name) {
  for (int i = 0; i < kDTypes; ++i) {
    if (name == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  throw py::key_error(name);
}

// Runs one variant and returns its accesses as the bytes of emulator::Access, or None for more than `limit` of them.
py::object trace(std::string const& name, py::tuple const& extents, py::tuple const& a, py::tuple const& b,
                 py::tuple const& c, std::string const& factors, std::string const& result, unsigned spaces,
                 std::size_t limit) {
  auto const [m, n, k] = extents.cast<std::tuple<std::int64_t, std::int64_t, std::int64_t>>();
  Problem problem;
  problem.m = one_mode(m);
  problem.n = one_mode(n);
  problem.k = one_mode(k);
  problem.a = array_of(a[0].cast<std::uintptr_t>(), a[1], type_of(factors));
  problem.b = array_of(b[0].cast<std::uintptr_t>(), b[1], type_of(factors));
  problem.d = array_of(c[0].cast<std::uintptr_t>(), c[1], type_of(result));
  problem.c = problem.d;
  for (Entry const* entry : instances::registry()) {
    if (entry->traits.name != name) continue;
    problem.compute = entry->traits.compute;
    emulator::Watched const operands[3] = {watched(problem.a, m, k), watched(problem.b, n, k),
                                           watched(problem.d, m, n)};
    emulator::Tracer tracer(operands, static_cast<std::size_t>(entry->traits.shared_bytes), spaces, limit);
    entry->run(problem, Execution{});
    if (tracer.overflowed()) return py::none();
    auto const& accesses = tracer.accesses();
    return py::bytes(reinterpret_cast<char const*>(accesses.data()), accesses.size() * sizeof(emulator::Access));
  }
  throw py::key_error(name);
}

}  // namespace
}  // namespace cute_py::bindings

PYBIND11_MODULE(_trace, module) {
  module.doc() = "The tracing build of the emulator. Private: use Kernel.trace of cute_py.";
  module.def("trace", &cute_py::bindings::trace);
}
