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

// The operand's strides as Python gives them, in elements, and the bytes between its lowest and highest element.
Matrix matrix_of(std::uintptr_t data, py::tuple const& strides) {
  return {reinterpret_cast<void*>(data), {strides[0].cast<std::int64_t>(), strides[1].cast<std::int64_t>()}};
}

emulator::Watched watched(Matrix const& matrix, std::int64_t rows, std::int64_t columns) {
  auto const origin = reinterpret_cast<std::intptr_t>(matrix.data);
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (auto const& [extent, stride] : {std::pair{rows, matrix.stride[0]}, std::pair{columns, matrix.stride[1]}}) {
    (stride < 0 ? low : high) += (extent - 1) * stride;
  }
  return {matrix.data, origin + static_cast<std::intptr_t>(low * std::int64_t{sizeof(float)}),
          origin + static_cast<std::intptr_t>((high + 1) * std::int64_t{sizeof(float)})};
}

// Runs one variant and returns its accesses as the bytes of emulator::Access, or None for more than `limit` of them.
py::object trace(std::string const& name, py::tuple const& extents, py::tuple const& a, py::tuple const& b,
                 py::tuple const& c, unsigned spaces, std::size_t limit) {
  Problem problem;
  problem.m = extents[0].cast<std::int64_t>();
  problem.n = extents[1].cast<std::int64_t>();
  problem.k = extents[2].cast<std::int64_t>();
  problem.a = matrix_of(a[0].cast<std::uintptr_t>(), a[1]);
  problem.b = matrix_of(b[0].cast<std::uintptr_t>(), b[1]);
  problem.c = matrix_of(c[0].cast<std::uintptr_t>(), c[1]);
  problem.alpha = 1;
  problem.beta = 0;
  for (Entry const* entry : instances::registry()) {
    if (entry->traits.name != name) continue;
    emulator::Watched const operands[3] = {watched(problem.a, problem.m, problem.k),
                                           watched(problem.b, problem.n, problem.k),
                                           watched(problem.c, problem.m, problem.n)};
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
