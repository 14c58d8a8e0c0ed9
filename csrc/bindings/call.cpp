#include "bindings/call.hpp"

#include <string>
#include <utility>

#include "bindings/arguments.hpp"
#include "instances/registry.hpp"
#include "problem/errors.hpp"
#include "runtime/host.hpp"

namespace cute_py::bindings {
namespace {

[[noreturn]] void throw_unsupported(Call const& call, dispatch::Step const& step, Location const& place,
                                    std::string const& operands) {
  Problem const& problem = step.problem;
  std::string text = call.function + ": no kernel called '" + std::string(call.kernel) +
                     "' takes this problem on the target " + name_of(place.target) + operands;
  if (step.transposed) {
    text +=
        "\n  roles exchanged: C^T = B A^T is computed, so below A is B, M is N, m-major is n-major and the other way "
        "round";
  }
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

void read_function(Call& call, py::tuple const& function) {
  call.function = function[0].cast<std::string>();
  call.layout = text_argument("layout", function[1]);
  call.factors = text_argument("factors", function[2]);
  if (!function[3].is_none()) {
    auto const labels = function[3].cast<py::tuple>();
    call.labels = Labels{labels[0].cast<std::string>(), labels[1].cast<std::string>(), labels[2].cast<std::string>()};
  }
}

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

}  // namespace

int& host_threads() {
  static int threads = runtime::host_processors();
  return threads;
}

Call make_call(py::tuple const& function, py::handle a, py::handle b, py::handle c, py::handle alpha, py::handle beta,
               py::handle kernel, py::handle device, py::handle stream, py::handle emulator, py::handle options) {
  Call call{};
  read_function(call, function);
  call.a = a;
  call.b = b;
  call.c = c;
  call.alpha = alpha;
  call.beta = beta;
  call.kernel = text_argument("kernel", kernel);
  call.device = optional_text_argument("device", device);
  call.stream = stream_argument(stream);
  call.execution.host_threads = host_threads();
  call.execution.emulator = emulator_argument(emulator);
  read_options(call, options);
  return call;
}

OwnedCall::OwnedCall(py::tuple const& function, py::handle alpha, py::handle beta, py::handle kernel, py::handle device,
                     py::handle emulator, py::handle options)
    : function_(function),
      alpha_(py::reinterpret_borrow<py::object>(alpha)),
      beta_(py::reinterpret_borrow<py::object>(beta)),
      kernel_(py::reinterpret_borrow<py::object>(kernel)),
      device_(py::reinterpret_borrow<py::object>(device)),
      emulator_(py::reinterpret_borrow<py::object>(emulator)),
      options_(py::reinterpret_borrow<py::object>(options)) {}

Call OwnedCall::with(py::handle a, py::handle b, py::handle c) const {
  return make_call(function_, a, b, c, alpha_, beta_, kernel_, device_, py::none(), emulator_, options_);
}

std::string OwnedCall::function() const { return function_[0].cast<std::string>(); }

void OwnedCall::forget_out() {
  if (options_.is_none()) return;
  py::list values(options_);
  values[0] = py::none();
  options_ = py::tuple(values);
}

int OwnedCall::visit(visitproc visitor, void* argument) const {
  for (py::object const* kept : {&alpha_, &beta_, &kernel_, &device_, &emulator_, &options_}) {
    if (!*kept) continue;
    if (int const stop = visitor(kept->ptr(), argument)) return stop;
  }
  return 0;
}

void OwnedCall::clear() {
  for (py::object* kept : {&alpha_, &beta_, &kernel_, &device_, &emulator_, &options_}) *kept = py::object();
}

dispatch::Program plan_product(Product const& product, Problem const& problem, Location const& place) {
  Call const& call = product.call();
  auto program = dispatch::make_program(problem, place.target, device_of(place), call.kernel, instances::registry());
  for (dispatch::Step const& step : program.steps) {
    if (step.entry == nullptr) throw_unsupported(call, step, place, product.operands_text());
  }
  return program;
}

}  // namespace cute_py::bindings
