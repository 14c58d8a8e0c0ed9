#include "bindings/plan.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bindings/arguments.hpp"
#include "bindings/call.hpp"
#include "bindings/location.hpp"
#include "bindings/product.hpp"
#include "bindings/runner.hpp"
#include "problem/errors.hpp"
#include "runtime/cuda.hpp"

namespace cute_py::bindings {
namespace {

bool same(Modes const& x, Modes const& y) {
  return x.rank == y.rank && std::equal(x.extent, x.extent + x.rank, y.extent);
}

// Are two arrays laid out alike, and is the second at least as aligned as a kernel was chosen for?
bool fits(Array const& planned, Array const& given, Modes const& first, Modes const& second, Modes const& batch) {
  constexpr std::uintptr_t kAlignment = 16;
  if (planned.type != given.type) return false;
  Modes const* const groups[] = {&first, &second, &batch};
  for (int group = 0; group < 3; ++group) {
    if (!std::equal(planned.stride[group], planned.stride[group] + groups[group]->rank, given.stride[group]))
      return false;
  }
  auto const rest = [](Array const& x) { return reinterpret_cast<std::uintptr_t>(x.data) % kAlignment; };
  return rest(given) == 0 || rest(given) == rest(planned);
}

// The same for an array that an epilogue adds, if there is one.
bool fits_added(Array const& planned, Array const& given, Problem const& p) {
  if ((planned.data == nullptr) != (given.data == nullptr)) return false;
  return planned.data == nullptr || fits(planned, given, p.m, p.n, p.l);
}

class Plan {
 public:
  Plan(py::handle a, py::handle b, py::handle c, OwnedCall call) : call_(std::move(call)) {
    Call const asked = call_.with(a, b, c);
    Product product(asked);
    location_ = choose_location(asked.kernel, asked.device, product);
    if (location_.staged) {
      throw OperandError(asked.function + ": a plan does not copy host arrays to a GPU" + product.operands_text() +
                         "\n  next: plan with arrays on the GPU");
    }
    product.add_result(py::handle());
    planned_ = product.problem();
    program_ = plan_product(product, planned_, location_);
    call_.forget_out();
    if (location_.target == Target::cuda) {
      runtime::DeviceGuard guard(location_.ordinal);
      prepare(program_, location_);
    }
  }

  std::int64_t workspace_bytes() const { return program_.workspace_bytes; }

  // The same problem with other arrays. A result is made if none is given.
  py::object run(py::handle allocate, py::handle a, py::handle b, py::handle c, py::handle out, py::handle stream,
                 py::handle workspace) {
    Call call = call_.with(a, b, c);
    call.out = out;
    call.stream = stream_argument(stream);
    Product product(call);
    product.add_result(allocate);
    Problem const& p = product.problem();
    require_same(product, p);
    if (p.is_empty()) return product.result();
    bool const on_gpu = location_.target == Target::cuda;
    if (on_gpu) call.execution.stream = reinterpret_cast<void*>(*product.stream());
    std::optional<Operand> const given = on_gpu ? import_workspace(workspace, product) : std::nullopt;
    without_gil(call.execution, [&](Execution const& execution) {
      std::optional<runtime::DeviceGuard> guard;
      if (on_gpu) guard.emplace(location_.ordinal);
      run_program(program_, pointers_of(p), location_, execution, given ? given->data() : nullptr);
      if (product.must_wait() || (given && given->must_wait())) runtime::synchronize(execution.stream);
    });
    return product.result();
  }

  // What it keeps of Python, for the collector of cycles.
  int visit(visitproc visitor, void* argument) const { return call_.visit(visitor, argument); }
  void clear() { call_.clear(); }

 private:
  void require_same(Product const& product, Problem const& p) const {
    bool const alike = p.conj_a == planned_.conj_a && p.conj_b == planned_.conj_b && same(p.m, planned_.m) &&
                       same(p.n, planned_.n) && same(p.k, planned_.k) && same(p.l, planned_.l) &&
                       fits(planned_.a, p.a, p.m, p.k, p.l) && fits(planned_.b, p.b, p.n, p.k, p.l) &&
                       fits(planned_.d, p.d, p.m, p.n, p.l) && (!p.reads_c() || fits(planned_.c, p.c, p.m, p.n, p.l)) &&
                       ((planned_.c.data == planned_.d.data) == (p.c.data == p.d.data) || !p.reads_c()) &&
                       fits_added(planned_.epilogue.bias, p.epilogue.bias, p) &&
                       fits_added(planned_.epilogue.residual, p.epilogue.residual, p);
    bool const on_device = location_.target == Target::cuda
                               ? product.a().on_cuda() && product.a().device_id() == location_.ordinal
                               : product.a().on_host();
    if (alike && on_device) return;
    throw OperandError(
        call_.function() +
        ": the arrays are not laid out like those of the plan, less aligned, or conjugate views where those are not" +
        product.operands_text() + "\n  next: make a plan for these");
  }

  // The workspace that the caller gave, if one is needed.
  std::optional<Operand> import_workspace(py::handle given, Product const& product) const {
    if (program_.workspace_bytes == 0 || given.is_none()) return std::nullopt;
    Operand x = Operand::import("workspace", given, product.stream());
    bool const dense = x.rank() == 1 && x.type() && !x.read_only() && (x.stride(0) == 1 || x.extent(0) <= 1);
    auto const bytes = dense ? bytes_of(*x.type()) * x.extent(0) : 0;
    bool const aligned = reinterpret_cast<std::uintptr_t>(x.data()) % 256 == 0;
    if (!x.on_cuda() || x.device_id() != location_.ordinal || !dense || !aligned || bytes < program_.workspace_bytes) {
      throw OperandError(call_.function() + ": workspace is a dense writable array of one mode on the plan's GPU, of " +
                         std::to_string(program_.workspace_bytes) + " bytes or more, aligned to 256\n  " +
                         x.describe());
    }
    return x;
  }

  OwnedCall call_;
  Location location_{};
  Problem planned_;
  dispatch::Program program_;
};

}  // namespace

// Lets the collector see the arrays of an epilogue, which may refer back to the plan.
void collect_cycles(PyHeapTypeObject* type) {
  type->ht_type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  type->ht_type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) -> int {
    Py_VISIT(Py_TYPE(self));
    if (!py::detail::is_holder_constructed(self)) return 0;
    return py::cast<Plan const&>(py::handle(self)).visit(visit, arg);
  };
  type->ht_type.tp_clear = [](PyObject* self) -> int {
    if (py::detail::is_holder_constructed(self)) py::cast<Plan&>(py::handle(self)).clear();
    return 0;
  };
}

void register_plan(py::module_& module) {
  py::class_<Plan>(module, "Plan", "A product, planned.", py::custom_type_setup(collect_cycles))
      .def(py::init([](py::tuple const& function, py::handle a, py::handle b, py::handle c, py::handle alpha,
                       py::handle beta, py::handle kernel, py::handle device, py::handle emulator, py::handle options) {
             return std::make_unique<Plan>(a, b, c,
                                           OwnedCall(function, alpha, beta, kernel, device, emulator, options));
           }),
           py::arg("function"), py::arg("A"), py::arg("B"), py::arg("C"), py::arg("alpha"), py::arg("beta"),
           py::arg("kernel"), py::arg("device"), py::arg("emulator"), py::arg("options"))
      .def_property_readonly("workspace_bytes", &Plan::workspace_bytes)
      .def("run", &Plan::run, py::arg("allocate"), py::arg("A"), py::arg("B"), py::arg("C"), py::arg("out"),
           py::arg("stream"), py::arg("workspace"));
}

}  // namespace cute_py::bindings
