#include "bindings/plan.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
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

// GPU memory of a plan for one stream.
class StreamWorkspace {
 public:
  explicit StreamWorkspace(std::int64_t bytes) : data_(runtime::allocate(static_cast<std::size_t>(bytes))) {}
  StreamWorkspace(StreamWorkspace const&) = delete;
  StreamWorkspace& operator=(StreamWorkspace const&) = delete;
  ~StreamWorkspace() { runtime::release(data_); }

  KeptWorkspace kept() { return {data_, &in_use_}; }

 private:
  void* data_;
  std::mutex in_use_;
};

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

class Plan {
 public:
  Plan(py::handle a, py::handle b, py::handle c, OwnedCall call) : call_(std::move(call)) {
    Call const asked = call_.with(a, b, c);
    Product product(asked);
    location_ = choose_location(asked.kernel, asked.device, product.a(), product.operands_text());
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
    Execution execution = call.execution;
    if (location_.target != Target::cuda) {
      run_program(program_, pointers_of(p), location_, execution);
      return product.result();
    }
    runtime::DeviceGuard guard(location_.ordinal);
    execution.stream = reinterpret_cast<void*>(*product.stream());
    run_program(program_, pointers_of(p), location_, execution, workspace_for(execution.stream, workspace, product));
    if (product.must_wait()) {
      py::gil_scoped_release unlocked;
      runtime::synchronize(execution.stream);
    }
    return product.result();
  }

 private:
  void require_same(Product const& product, Problem const& p) const {
    bool const alike = same(p.m, planned_.m) && same(p.n, planned_.n) && same(p.k, planned_.k) &&
                       same(p.l, planned_.l) && fits(planned_.a, p.a, p.m, p.k, p.l) &&
                       fits(planned_.b, p.b, p.n, p.k, p.l) && fits(planned_.d, p.d, p.m, p.n, p.l) &&
                       (!p.reads_c() || fits(planned_.c, p.c, p.m, p.n, p.l)) &&
                       ((planned_.c.data == planned_.d.data) == (p.c.data == p.d.data) || !p.reads_c());
    bool const on_device = location_.target == Target::cuda
                               ? product.a().on_cuda() && product.a().device_id() == location_.ordinal
                               : product.a().on_host();
    if (alike && on_device) return;
    throw OperandError(call_.function() + ": the arrays are not laid out like those of the plan, or less aligned" +
                       product.operands_text() + "\n  next: make a plan for these");
  }

  KeptWorkspace workspace_for(void* stream, py::handle given, Product const& product) {
    if (program_.workspace_bytes == 0) return {nullptr, nullptr};
    if (!given.is_none()) {
      Operand const x = Operand::import("workspace", given, product.stream());
      std::int64_t bytes = x.type() ? bytes_of(*x.type()) : 0;
      for (int i = 0; i < x.rank(); ++i) bytes *= x.extent(i);
      bool const dense = x.rank() == 1 && (x.stride(0) == 1 || x.extent(0) <= 1);
      bool const aligned = reinterpret_cast<std::uintptr_t>(x.data()) % 256 == 0;
      if (!x.on_cuda() || x.device_id() != location_.ordinal || !dense || !aligned ||
          bytes < program_.workspace_bytes) {
        throw OperandError(call_.function() + ": workspace is a dense array of one mode on the plan's GPU, of " +
                           std::to_string(program_.workspace_bytes) + " bytes or more, aligned to 256\n  " +
                           x.describe());
      }
      return {x.data(), nullptr};
    }
    auto& kept = workspaces_[stream];  // guarded by the GIL
    if (!kept) kept = std::make_unique<StreamWorkspace>(program_.workspace_bytes);
    return kept->kept();
  }

  OwnedCall call_;
  Location location_{};
  Problem planned_;
  dispatch::Program program_;
  std::map<void*, std::unique_ptr<StreamWorkspace>> workspaces_;
};

}  // namespace

void register_plan(py::module_& module) {
  py::class_<Plan>(module, "Plan", "A product, planned.")
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
