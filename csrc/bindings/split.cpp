#include "bindings/split.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/errors.hpp"
#include "bindings/arguments.hpp"
#include "bindings/arrays.hpp"
#include "bindings/call.hpp"
#include "bindings/gil.hpp"
#include "execution/pipeline.hpp"
#include "runtime/host.hpp"

namespace cute_py::bindings {
namespace {

// Planes are where TMA can read them.
constexpr std::int64_t kAlignment = 256;

PyTypeObject* split_type = nullptr;  // set once, when the module is imported

// The array as A (M,K) or (M,K,L) of a GEMM: K is the mode that is summed over, and a batch came first.
View as_factor(View view, int axis) {
  if (view.rank != 2 && view.rank != 3) {
    throw OperandError("prepare: A has two modes, or three of a batch\n  " + view.describe() +
                       "\n  next: the array of a product of matrices");
  }
  if (axis != -1 && axis != -2) {
    throw OperandError("prepare: axis is -1, of A and B of gemm and of A of matmul, or -2, of B of matmul; got " +
                       std::to_string(axis) + "\n  next: the mode that products are summed over");
  }
  if (axis == -2) {
    std::swap(view.shape[view.rank - 1], view.shape[view.rank - 2]);
    std::swap(view.stride[view.rank - 1], view.stride[view.rank - 2]);
  }
  if (view.rank == 3) {
    std::rotate(view.shape, view.shape + 1, view.shape + 3);
    std::rotate(view.stride, view.stride + 1, view.stride + 3);
  }
  return view;
}

std::unique_ptr<HeldSplit> make_split(py::object array, std::string compute, int axis, std::string const& device,
                                      py::object const& stream) {
  if (held_split(array.ptr()) != nullptr) {
    throw OperandError(
        "prepare: A is prepared already\n  next: prepare(x.array, ...) of the array that it was made of");
  }
  auto const given = stream.is_none() ? std::nullopt : stream_argument(stream);
  Operand const a("A", array, given);
  View const view = as_factor(a.view(), axis);
  static Function const function{"prepare", "", "", std::nullopt, false, 0};
  Request request;
  request.function = &function;
  request.a = request.b = &view;
  request.compute = compute;
  request.device = device;
  execution::PreparedSplit const made = execution::prepare_split(request);
  auto const bytes = made.bytes + (view.on_cuda() ? 0 : kAlignment);  // NumPy's memory is aligned to less
  py::object memory = hooks().empty_result(array, py::make_tuple(bytes), py::none(), py::str("int8"));
  auto const on = given ? given : view.on_cuda() ? std::optional(a.stream()) : std::nullopt;
  Operand const to("memory", memory, on, Operand::Use::written);
  auto const address = reinterpret_cast<std::uintptr_t>(to.view().data);
  auto* const data =
      static_cast<char*>(to.view().data) + (view.on_cuda() ? 0 : (kAlignment - address % kAlignment) % kAlignment);

  Execution execution;
  execution.host_threads = runtime::host_threads();
  if (view.on_cuda()) execution.stream = reinterpret_cast<void*>(on.value_or(0));
  Arguments arguments;
  arguments.data[Role::a] = view.data;
  arguments.split[0] = data;
  without_gil(execution, [&](Execution const& running) {
    execution::run(made.prepared, arguments, running, a.must_wait() || to.must_wait());
  });
  static std::uint64_t ids = 0;  // guarded by the GIL
  return std::make_unique<HeldSplit>(HeldSplit{
      std::move(array),
      std::move(memory),
      axis,
      {std::move(compute), made.prepared.outline.program.steps[0].geometry, made.planes_at, made.bytes, ++ids, data}});
}

}  // namespace

HeldSplit const* held_split(PyObject* argument) {
  if (argument == nullptr || Py_TYPE(argument) != split_type) return nullptr;
  return py::handle(argument).cast<HeldSplit const*>();
}

void register_split(py::module_& module) {
  auto const attribute = [](char const* name) {
    return [name](HeldSplit const& held) { return py::object(held.array.attr(name)); };
  };
  py::class_<HeldSplit> type(module, "PreparedOperand",
                             "An array and its planes, for products of emulated precision. Made by `prepare`.\n\n"
                             "It stands for its array in `gemm`, `matmul`, `contract` and their plans.");
  type.def_property_readonly(
          "array", [](HeldSplit const& held) { return held.array; }, "The array itself.")
      .def_property_readonly(
          "compute", [](HeldSplit const& held) { return held.split.compute; }, "What products with it are computed in.")
      .def_property_readonly(
          "axis", [](HeldSplit const& held) { return held.axis; }, "The mode that is summed over, -1 or -2.")
      .def_property_readonly(
          "nbytes", [](HeldSplit const& held) { return held.split.bytes; },
          "Bytes of the planes, and of the exponents of the rows.")
      .def_property_readonly("shape", attribute("shape"), "Of the array.")
      .def_property_readonly("dtype", attribute("dtype"), "Of the array.")
      .def_property_readonly("ndim", attribute("ndim"), "Of the array.")
      .def(
          "__array__",
          [](HeldSplit const& held, py::object const& dtype, py::object const&) {
            return py::module_::import("numpy").attr("asarray")(held.array, dtype);
          },
          py::arg("dtype") = py::none(), py::arg("copy") = py::none(), "The array, for NumPy.")
      .def("__repr__", [](HeldSplit const& held) {
        return "<PreparedOperand " + py::str(held.array.attr("shape")).cast<std::string>() + " for compute='" +
               held.split.compute + "', " + std::to_string(held.split.bytes) + " bytes>";
      });
  split_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  module.def("prepare", &make_split, py::arg("array"), py::arg("compute"), py::arg("axis"), py::arg("device"),
             py::arg("stream"));
}

}  // namespace cute_py::bindings
