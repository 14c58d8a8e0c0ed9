#include "bindings/gemm.hpp"

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/arguments.hpp"
#include "bindings/arrays.hpp"
#include "bindings/call.hpp"
#include "bindings/location.hpp"
#include "bindings/product.hpp"
#include "bindings/runner.hpp"
#include "bindings/staging.hpp"
#include "dispatch/program.hpp"
#include "dispatch/select.hpp"
#include "instances/registry.hpp"
#include "problem/errors.hpp"
#include "runtime/cuda.hpp"
#include "runtime/host.hpp"

namespace cute_py::bindings {
namespace {

// Host arrays on a GPU: each travels there, and the result comes back.
class Staged {
 public:
  explicit Staged(Problem const& host) : problem_(host) {
    bool result_is_read = false;
    auto const add_unless_result = [&](Array& array) {
      if (array.data == host.d.data) {
        aliases_.push_back(&array);
        result_is_read = true;
      } else {
        add(array, host.m, host.n, true);
      }
    };
    bool const reads = host.alpha != 0.0 && host.k.size() != 0;
    add(problem_.a, host.m, host.k, reads);
    add(problem_.b, host.n, host.k, reads);
    if (host.reads_c()) add_unless_result(problem_.c);
    for (Array* array : {&problem_.epilogue.bias, &problem_.epilogue.residual}) {
      if (array->data != nullptr) add_unless_result(*array);
    }
    add(problem_.d, host.m, host.n, result_is_read);
    follow_result();
  }

  // The problem on the GPU; its pointers lead nowhere before copy_in.
  Problem const& problem() const { return problem_; }

  void copy_in(int threads) {
    for (Copy& copy : copies_) {
      copy.staged.copy_in(copy.is_read, threads);
      copy.array->data = copy.staged.on_device().data;
    }
    follow_result();
  }

  void copy_back(int threads) const { copies_.back().staged.copy_back(threads); }

 private:
  struct Copy {
    Copy(Array& place, Modes const& first, Modes const& second, Modes const& batch, bool read)
        : array(&place), is_read(read), staged(place, first, second, batch) {}

    Array* array;
    bool is_read;
    StagedArray staged;
  };

  void add(Array& array, Modes const& first, Modes const& second, bool is_read) {
    copies_.emplace_back(array, first, second, problem_.l, is_read);
    array = copies_.back().staged.on_device();
  }

  // What is the result itself on the host is so on the GPU.
  void follow_result() {
    for (Array* array : aliases_) *array = problem_.d;
    if (!problem_.reads_c()) problem_.c = problem_.d;
  }

  Problem problem_;
  std::list<Copy> copies_;  // the result is the last one
  std::vector<Array*> aliases_;
};

py::object run(Call& call, py::handle allocate) {
  Product product(call);
  Location const place = choose_location(call.kernel, call.device, product);
  product.add_result(allocate);
  Problem const& problem = product.problem();
  if (problem.is_empty()) return product.result();

  if (place.staged) {
    Staged staged(problem);
    auto const program = plan_product(product, staged.problem(), place);
    without_gil(call.execution, [&](Execution const& execution) {
      runtime::DeviceGuard guard(place.ordinal);
      staged.copy_in(execution.host_threads);
      run_program(program, pointers_of(staged.problem()), place, execution);
      runtime::synchronize(nullptr);
      staged.copy_back(execution.host_threads);
    });
    return product.result();
  }
  auto const program = plan_product(product, problem, place);
  if (place.target == Target::cuda) call.execution.stream = reinterpret_cast<void*>(*product.stream());
  without_gil(call.execution, [&](Execution const& execution) {
    std::optional<runtime::DeviceGuard> guard;
    if (place.target == Target::cuda) guard.emplace(place.ordinal);
    run_program(program, pointers_of(problem), place, execution);
    if (product.must_wait()) runtime::synchronize(execution.stream);
  });
  return product.result();
}

py::tuple extents(Modes const& modes) {
  py::tuple tuple(modes.rank);
  for (int i = 0; i < modes.rank; ++i) tuple[i] = modes.extent[i];
  return tuple;
}

py::tuple strides(Array const& array, int group, Modes const& modes) {
  py::tuple tuple(modes.rank);
  for (int i = 0; i < modes.rank; ++i) tuple[i] = array.stride[group][i];
  return tuple;
}

// The modes of a folded problem: extents of each group, and strides of A, B and D.
py::dict modes_of(Problem const& p) {
  py::dict d;
  d["M"] = py::make_tuple(extents(p.m), strides(p.a, 0, p.m), py::none(), strides(p.d, 0, p.m));
  d["N"] = py::make_tuple(extents(p.n), py::none(), strides(p.b, 0, p.n), strides(p.d, 1, p.n));
  d["K"] = py::make_tuple(extents(p.k), strides(p.a, 1, p.k), strides(p.b, 1, p.k), py::none());
  d["L"] = py::make_tuple(extents(p.l), strides(p.a, 2, p.l), strides(p.b, 2, p.l), strides(p.d, 2, p.l));
  return d;
}

py::dict explain(Call const& call) {
  Product product(call);
  Location const place = choose_location(call.kernel, call.device, product);
  product.add_result(py::handle());
  Problem const& problem = product.problem();
  std::optional<Staged> staged;
  if (place.staged) staged.emplace(problem);

  auto const& device = device_of(place);
  auto const program = dispatch::make_program(staged ? staged->problem() : problem, place.target, device, call.kernel,
                                              instances::registry());
  py::list steps;
  for (dispatch::Step const& step : program.steps) {
    py::list rejected;
    for (auto const& [entry, refused] :
         dispatch::candidates(step.problem, place.target, device, call.kernel, instances::registry())) {
      if (refused == dispatch::kNone) continue;
      rejected.append(
          py::make_tuple(entry->traits.name, dispatch::describe(refused, entry->traits, step.problem, device)));
    }
    py::dict d;
    d["what"] = step.what;
    d["kernel"] = step.entry ? py::object(py::str(step.entry->traits.name)) : py::object(py::none());
    d["modes"] = modes_of(step.problem);
    d["transposed"] = step.transposed;
    d["rejected"] = py::tuple(rejected);
    steps.append(d);
  }
  py::dict d;
  d["m"] = problem.m.size();
  d["n"] = problem.n.size();
  d["k"] = problem.k.size();
  d["l"] = problem.l.size();
  d["compute"] = name_of(problem.compute);
  d["operands"] = py::tuple(product.operands());
  d["target"] = name_of(place.target);
  d["device"] = device.name;
  d["why"] = place.why;
  d["bytes"] = product.bytes();
  d["workspace_bytes"] = program.workspace_bytes;
  d["steps"] = steps;
  return d;
}

}  // namespace

void register_gemm(py::module_& module) {
  module.def("num_threads", [] { return host_threads(); });
  module.def("set_num_threads", [](int threads) { host_threads() = threads; }, py::arg("threads"));
  module.def(
      "product",
      [](py::handle allocate, py::tuple const& function, py::handle a, py::handle b, py::handle c, py::handle alpha,
         py::handle beta, py::handle kernel, py::handle device, py::handle stream, py::handle emulator,
         py::handle options) {
        Call call = make_call(function, a, b, c, alpha, beta, kernel, device, stream, emulator, options);
        return run(call, allocate);
      },
      py::arg("allocate"), py::arg("function"), py::arg("A"), py::arg("B"), py::arg("C"), py::arg("alpha"),
      py::arg("beta"), py::arg("kernel"), py::arg("device"), py::arg("stream"), py::arg("emulator"),
      py::arg("options"));
  module.def(
      "explain",
      [](py::tuple const& function, py::handle a, py::handle b, py::handle c, py::handle alpha, py::handle beta,
         py::handle kernel, py::handle device, py::handle stream, py::handle options) {
        return explain(make_call(function, a, b, c, alpha, beta, kernel, device, stream, py::none(), options));
      },
      py::arg("function"), py::arg("A"), py::arg("B"), py::arg("C"), py::arg("alpha"), py::arg("beta"),
      py::arg("kernel"), py::arg("device"), py::arg("stream"), py::arg("options"));
}

}  // namespace cute_py::bindings
