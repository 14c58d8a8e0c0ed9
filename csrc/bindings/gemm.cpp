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

[[noreturn]] void throw_unsupported(Call const& call, Problem const& problem, Location const& place,
                                    std::string const& operands) {
  std::string text = call.function + ": no kernel called '" + std::string(call.kernel) +
                     "' takes this problem on the target " + name_of(place.target) + operands;
  for (auto const& [entry, refused] :
       dispatch::candidates(problem, place.target, device_of(place), call.kernel, instances::registry())) {
    text += std::string("\n  ") + entry->traits.name + ": " +
            dispatch::describe(refused, entry->traits, problem, device_of(place));
  }
  if (call.kernel != "auto" && place.target != Target::cpu) {
    text +=
        "\n  next: kernel='auto' chooses one that fits; a kernel's name without its suffix lets all of its variants "
        "run";
  } else {
    text += "\n  next: other types or a smaller problem";
    if (place.target != Target::cpu) text += "; a build with CUTE_PY_KERNELS=full has more variants";
  }
  throw UnsupportedProblemError(text);
}

dispatch::Program plan(Product const& product, Problem const& problem, Location const& place) {
  Call const& call = product.call();
  auto program =
      dispatch::make_program(problem, place.target, device_of(place), call.kernel, instances::registry());
  for (dispatch::Step const& step : program.steps) {
    if (step.entry == nullptr) throw_unsupported(call, step.problem, place, product.operands_text());
  }
  return program;
}

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
    add(problem_.a, host.m, host.k, true);
    add(problem_.b, host.n, host.k, true);
    if (host.reads_c()) add_unless_result(problem_.c);
    for (Array* array : {&problem_.epilogue.bias, &problem_.epilogue.residual}) {
      if (array->data != nullptr) add_unless_result(*array);
    }
    add(problem_.d, host.m, host.n, result_is_read);
    follow_result();
  }

  // The problem on the GPU; its pointers lead nowhere before copy_in.
  Problem const& problem() const { return problem_; }

  void copy_in() {
    for (Copy& copy : copies_) {
      copy.staged.copy_in(copy.is_read);
      copy.array->data = copy.staged.on_device().data;
    }
    follow_result();
  }

  void copy_back() const { copies_.back().staged.copy_back(); }

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
  Location const place = choose_location(call.kernel, call.device, product.a(), product.operands_text());
  product.add_result(allocate);
  Problem const& problem = product.problem();
  if (problem.is_empty()) return product.result();

  if (place.staged) {
    runtime::DeviceGuard guard(place.ordinal);
    Staged staged(problem);
    staged.copy_in();
    run_program(plan(product, staged.problem(), place), pointers_of(staged.problem()), place, call.execution);
    runtime::synchronize(nullptr);
    staged.copy_back();
    return product.result();
  }
  auto const program = plan(product, problem, place);
  if (place.target == Target::cuda) {
    runtime::DeviceGuard guard(place.ordinal);
    call.execution.stream = reinterpret_cast<void*>(*product.stream());
    run_program(program, pointers_of(problem), place, call.execution);
    if (product.must_wait()) {
      py::gil_scoped_release unlocked;
      runtime::synchronize(call.execution.stream);
    }
  } else {
    run_program(program, pointers_of(problem), place, call.execution);
  }
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
  Location const place = choose_location(call.kernel, call.device, product.a(), product.operands_text());
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

// Threads that a call on host arrays may use. Guarded by the GIL.
int& host_threads() {
  static int threads = runtime::host_processors();
  return threads;
}

// A function of the front end as (name, layout, factors, labels): what it is called, the strides and the type that it
// insists on ("" for any), and a letter for each mode of A, B and D (None for a GEMM).
void read_function(Call& call, py::tuple const& function) {
  call.function = function[0].cast<std::string>();
  call.layout = text_argument("layout", function[1]);
  call.factors = text_argument("factors", function[2]);
  if (!function[3].is_none()) {
    auto const labels = function[3].cast<py::tuple>();
    call.labels = Labels{labels[0].cast<std::string>(), labels[1].cast<std::string>(), labels[2].cast<std::string>()};
  }
}

// None, or (out, compute, out_dtype, conj_a, conj_b, epilogue, batch_invariant).
void read_options(Call& call, py::handle options) {
  if (options.is_none()) {
    call.out = py::none();
    return;
  }
  auto const values = py::reinterpret_borrow<py::tuple>(options);
  call.out = values[0];
  call.compute = optional_text_argument("compute", values[1]);
  call.out_dtype = optional_text_argument("out_dtype", values[2]);
  call.conj_a = flag_argument("conj_a", values[3]);
  call.conj_b = flag_argument("conj_b", values[4]);
  call.epilogue = values[5];
  call.batch_invariant = flag_argument("batch_invariant", values[6]);
}

Call make_call(py::tuple const& function, py::handle a, py::handle b, py::handle c, py::handle kernel,
               py::handle device, py::handle stream, py::handle options) {
  Call call{};
  read_function(call, function);
  call.a = a;
  call.b = b;
  call.c = c;
  call.kernel = text_argument("kernel", kernel);
  call.device = optional_text_argument("device", device);
  call.stream = stream_argument(stream);
  call.execution.host_threads = host_threads();
  read_options(call, options);
  return call;
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
        Call call = make_call(function, a, b, c, kernel, device, stream, options);
        call.alpha = alpha;
        call.beta = beta;
        call.execution.emulator = emulator_argument(emulator);
        return run(call, allocate);
      },
      py::arg("allocate"), py::arg("function"), py::arg("A"), py::arg("B"), py::arg("C"), py::arg("alpha"),
      py::arg("beta"), py::arg("kernel"), py::arg("device"), py::arg("stream"), py::arg("emulator"),
      py::arg("options"));
  module.def(
      "explain",
      [](py::tuple const& function, py::handle a, py::handle b, py::handle c, py::handle alpha, py::handle beta,
         py::handle kernel, py::handle device, py::handle stream, py::handle options) {
        Call call = make_call(function, a, b, c, kernel, device, stream, options);
        call.alpha = alpha;
        call.beta = beta;
        return explain(call);
      },
      py::arg("function"), py::arg("A"), py::arg("B"), py::arg("C"), py::arg("alpha"), py::arg("beta"),
      py::arg("kernel"), py::arg("device"), py::arg("stream"), py::arg("options"));
}

}  // namespace cute_py::bindings
