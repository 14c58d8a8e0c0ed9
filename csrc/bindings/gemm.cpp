#include "bindings/gemm.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "bindings/arguments.hpp"
#include "bindings/arrays.hpp"
#include "bindings/staging.hpp"
#include "dispatch/select.hpp"
#include "instances/registry.hpp"
#include "problem/errors.hpp"
#include "problem/overlap.hpp"
#include "runtime/cuda.hpp"
#include "runtime/host.hpp"

namespace cute_py::bindings {
namespace {

// What the Python front end passes on: the arguments of a public function and its name, for messages.
struct Call {
  std::string_view function;  // "gemm" or "sgemm_nt", ...
  std::string_view layout;    // "nt", ...: the strides that this function insists on; "" for any
  py::handle a;
  py::handle b;
  py::handle c;  // None: allocate
  float alpha;
  float beta;
  std::string_view kernel;               // "auto", a kernel or a variant
  std::string_view device;               // "", "cpu", "emulator", "cuda" or "cuda:1"
  std::optional<std::uintptr_t> stream;  // as the caller gave it
  Execution execution;
};

// Which targets have kernels of this name?
struct Named {
  bool on_cpu = false;
  bool on_gpu = false;
};

Named find_kernel(std::string_view name) {
  if (name == "auto") return {true, true};
  Named named;
  for (Entry const* entry : instances::registry()) {
    if (!dispatch::matches(entry->traits, name)) continue;
    (entry->traits.target == Target::cpu ? named.on_cpu : named.on_gpu) = true;
  }
  return named;
}

DeviceInfo const& device_info(int ordinal) {
  static std::vector<std::unique_ptr<DeviceInfo>> known;  // guarded by the GIL
  if (known.size() <= static_cast<std::size_t>(ordinal)) known.resize(ordinal + 1);
  if (!known[ordinal]) known[ordinal] = std::make_unique<DeviceInfo>(runtime::device_info(ordinal));
  return *known[ordinal];
}

DeviceInfo const& host_info() {
  static DeviceInfo const info = runtime::host_info();
  return info;
}

// For the emulator: a GPU that takes every kernel.
DeviceInfo const& emulated_device() {
  static DeviceInfo const info = [] {
    DeviceInfo device;
    device.name = "emulator";
    return device;
  }();
  return info;
}

std::string operands_text(Operand const& a, Operand const& b, Operand const* c = nullptr) {
  std::string text = "\n  " + a.describe() + "\n  " + b.describe();
  if (c != nullptr) text += "\n  " + c->describe();
  return text;
}

// ---- What every product requires of its operands

void require_matrices(Call const& call, Operand const& a, Operand const& b) {
  std::string const function(call.function);
  for (Operand const* x : {&a, &b}) {
    if (x->rank() != 2) {
      throw OperandError(function + " multiplies matrices, and " + x->name() + " has rank " +
                         std::to_string(x->rank()) + operands_text(a, b) +
                         "\n  next: A is (M,K) and B is (N,K); a vector v is the matrix v[None, :]");
    }
    if (!x->is_float32()) {
      throw OperandError(function + " multiplies float32" + operands_text(a, b) + "\n  next: convert " + x->name() +
                         " to float32");
    }
  }
  if (a.extent(1) != b.extent(1)) {
    throw OperandError(
        function + " needs the same K in A (M,K) and B (N,K), got " + std::to_string(a.extent(1)) + " and " +
        std::to_string(b.extent(1)) + operands_text(a, b) +
        (a.extent(1) == b.extent(0) ? "\n  next: B is (K,N) here; pass B.T" : "\n  next: check the shapes"));
  }
}

void require_one_device(Call const& call, Operand const& a, Operand const& x, Operand const& b) {
  bool const same = a.on_cuda() ? x.on_cuda() && x.device_id() == a.device_id() : x.on_host();
  if (!same) {
    throw OperandError(std::string(call.function) + " needs all arrays on one device" +
                       operands_text(a, b, &x == &b ? nullptr : &x) + "\n  next: move " + x.name() + " to where A is");
  }
}

void require_result(Call const& call, Operand const& a, Operand const& b, Operand const& c) {
  std::string const function(call.function);
  auto const m = a.extent(0);
  auto const n = b.extent(0);
  auto const all = [&] { return operands_text(a, b, &c); };
  if (c.rank() != 2 || c.extent(0) != m || c.extent(1) != n) {
    throw OperandError(function + " needs C (M,N) = (" + std::to_string(m) + "," + std::to_string(n) + ")" + all() +
                       "\n  next: pass a C of that shape, or none to get a new one");
  }
  if (!c.is_float32()) {
    throw OperandError(function + " writes float32" + all() + "\n  next: pass a float32 C, or none to get a new one");
  }
  if (c.read_only()) {
    throw OperandError(function + " cannot write to C, which is read-only" + all() +
                       "\n  next: pass a writable C, or none to get a new one");
  }
  if (shares_elements(c.matrix(), m, n)) {
    throw OperandError(function + " cannot write to C, whose strides put several elements in one place" + all() +
                       "\n  next: pass a C with its own memory for every element, or none to get a new one");
  }
  for (Operand const* x : {&a, &b}) {
    if (may_overlap(x->matrix(), x->extent(0), x->extent(1), c.matrix(), m, n)) {
      throw OperandError(function + " cannot write to C, which may overlap " + x->name() + all() + "\n  next: copy " +
                         x->name() + ", or pass no C to get a new one");
    }
  }
}

// ---- What the functions with a BLAS name require of strides

// "m-major" and the like, or "neither m-major nor k-major".
std::string major_text(Operand const& x, char const* first, char const* second) {
  bool const first_unit = x.stride(0) == 1 || x.extent(0) <= 1;
  bool const second_unit = x.stride(1) == 1 || x.extent(1) <= 1;
  if (first_unit) return std::string(first) + "-major";
  if (second_unit) return std::string(second) + "-major";
  return std::string("neither ") + first + "-major nor " + second + "-major";
}

// Is the stride of the unit mode 1, and that of the other at least as long as a line? A mode of one element has no
// stride.
bool has_layout(Operand const& x, int unit_mode) {
  auto const line = x.extent(unit_mode);
  auto const lines = x.extent(1 - unit_mode);
  if (line == 0 || lines == 0) return true;
  return (line == 1 || x.stride(unit_mode) == 1) && (lines == 1 || x.stride(1 - unit_mode) >= line);
}

void require_layout(Call const& call, Operand const& a, Operand const& b, Operand const* c) {
  if (call.layout.empty()) return;
  struct Rule {
    Operand const* operand;
    int unit_mode;
    char const* first;
    char const* second;
  };
  Rule const rules[] = {
      {&a, call.layout[0] == 'n' ? 0 : 1, "m", "k"},
      {&b, call.layout[1] == 't' ? 0 : 1, "n", "k"},
      {c, 0, "m", "n"},
  };
  for (auto const& [operand, unit_mode, first, second] : rules) {
    if (operand == nullptr || has_layout(*operand, unit_mode)) continue;
    std::string const name = operand->name();
    auto const wanted = std::string(unit_mode == 0 ? first : second) + "-major";
    auto const strides = unit_mode == 0 ? "(1, ld" + name + ")" : "(ld" + name + ", 1)";
    auto const got = major_text(*operand, first, second);
    std::string next = "cute_py.gemm(A, B, C) takes any strides";
    if (operand == c) {
      next += "; numpy.empty((M, N), numpy.float32, order='F') is m-major";
    } else {
      next += unit_mode == 0 ? "; numpy.asfortranarray(" + name + ") makes " + name + " " + wanted
                             : "; numpy.ascontiguousarray(" + name + ") makes " + name + " " + wanted;
    }
    throw OperandError(
        std::string(call.function) + " needs " + name + " " + wanted + ": strides " + strides + ", ld" + name +
        " >= " + std::to_string(operand->extent(unit_mode)) + operands_text(a, b, c) + "\n  " + name + " is " +
        (got == wanted ? wanted + ", but its leading dimension is " + std::to_string(operand->stride(1 - unit_mode))
                       : got) +
        "\n  next: " + next);
  }
}

// ---- Where to run

struct Place {
  Target target;
  int ordinal;  // of a GPU
  bool staged;  // host arrays on a GPU: copied in and out
  char const* why;
};

// The ordinal in "cuda" or "cuda:1"; nothing for "cpu", "emulator" and no device at all.
std::optional<int> cuda_ordinal(std::string_view device) {
  if (device.empty() || device == "cpu" || device == "emulator") return std::nullopt;
  if (device == "cuda") return 0;
  if (device.substr(0, 5) == "cuda:") {
    int ordinal = 0;
    auto const digits = device.substr(5);
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (error == std::errc{} && end == digits.data() + digits.size() && ordinal >= 0) return ordinal;
  }
  throw OperandError("device '" + std::string(device) +
                     "' is none of 'cpu', 'emulator', 'cuda', 'cuda:0', 'cuda:1', ...");
}

Place choose_place(Call const& call, Operand const& a, Operand const& b) {
  std::string const kernel(call.kernel);
  Named const named = find_kernel(call.kernel);
  if (!named.on_cpu && !named.on_gpu) {
    py::module_::import("cute_py._kernels").attr("raise_unknown_kernel")(kernel);
  }
  auto const ordinal = cuda_ordinal(call.device);

  if (a.on_cuda()) {
    if (!runtime::built_with_cuda()) {
      throw UnsupportedProblemError("the arrays are on a GPU, and this build of cute_py has no GPU kernels" +
                                    operands_text(a, b) + "\n  next: reinstall cute_py without CUTE_PY_CUDA=OFF");
    }
    bool const asked_for_this = ordinal && (call.device == "cuda" || *ordinal == a.device_id());
    if (!call.device.empty() && !asked_for_this) {
      throw OperandError("device '" + std::string(call.device) + "' asked for, but the arrays are on cuda:" +
                         std::to_string(a.device_id()) + operands_text(a, b) +
                         "\n  next: move the arrays, or leave device out to compute where they are");
    }
    if (!named.on_gpu) {
      throw OperandError("kernel '" + kernel +
                         "' runs on the CPU, but the arrays are on cuda:" + std::to_string(a.device_id()) +
                         operands_text(a, b) + "\n  next: kernel='auto', or move the arrays to the host");
    }
    return {Target::cuda, a.device_id(), false, "the arrays are on this GPU"};
  }

  if (call.device == "cpu" || (call.device.empty() && named.on_cpu)) {
    if (!named.on_cpu) {
      throw OperandError("kernel '" + kernel +
                         "' does not run on the CPU\n  next: device='emulator' runs it with no GPU, "
                         "kernel='auto' chooses a kernel for the CPU");
    }
    return {Target::cpu, 0, false, "the arrays are on the host"};
  }
  if (!named.on_gpu) {
    throw OperandError("kernel '" + kernel + "' runs on the CPU, not on '" + std::string(call.device) +
                       "'\n  next: leave device out, or name another kernel");
  }
  if (call.device == "emulator") return {Target::emulator, 0, false, "device='emulator'"};
  if (call.device.empty()) {
    if (runtime::device_count() > 0) {
      throw OperandError(
          "kernel '" + kernel + "' runs on a GPU, but the arrays are on the host" + operands_text(a, b) +
          "\n  next: move the arrays, for instance with cupy.asarray; or pass device='cuda' to have them "
          "copied in and out, or device='emulator' to run the kernel without the GPU");
    }
    return {Target::emulator, 0, false, "a GPU kernel was named, the arrays are on the host, and there is no GPU"};
  }
  if (*ordinal >= runtime::device_count()) {
    throw CudaError("device '" + std::string(call.device) + "' asked for, but " +
                    (runtime::built_with_cuda() ? "there are " + std::to_string(runtime::device_count()) + " GPUs"
                                                : std::string("this build of cute_py has no GPU kernels")) +
                    "\n  next: device='emulator' runs GPU kernels without one; device='cpu' computes on the CPU");
  }
  return {Target::cuda, *ordinal, true, "a GPU was asked for; the host arrays are copied in and out"};
}

DeviceInfo const& device_of(Place const& place) {
  switch (place.target) {
    case Target::cuda:
      return device_info(place.ordinal);
    case Target::emulator:
      return emulated_device();
    case Target::cpu:
      break;
  }
  return host_info();
}

[[noreturn]] void throw_unsupported(Call const& call, Problem const& problem, Place const& place, Operand const& a,
                                    Operand const& b) {
  std::string text = std::string(call.function) + ": no kernel called '" + std::string(call.kernel) +
                     "' takes this problem on the target " + name_of(place.target) + operands_text(a, b);
  for (auto const& [entry, refused] :
       dispatch::candidates(problem, place.target, device_of(place), call.kernel, instances::registry())) {
    text += std::string("\n  ") + entry->traits.name + ": " +
            dispatch::describe(refused, entry->traits, problem, device_of(place));
  }
  text += call.kernel == "auto" || place.target == Target::cpu
              ? "\n  next: make the problem smaller"
              : "\n  next: kernel='auto' chooses one that fits; a kernel's name without its suffix lets its predicated "
                "variant run";
  throw UnsupportedProblemError(text);
}

Problem problem_of(Call const& call, Operand const& a, Operand const& b, Matrix const& c) {
  return {a.extent(0), b.extent(0), a.extent(1), a.matrix(), b.matrix(), c, call.alpha, call.beta};
}

// ---- The two things to do with a call

void run_in_place(Entry const& entry, Problem const& problem, Execution const& execution) {
  int error = 0;
  {
    py::gil_scoped_release unlocked;
    error = entry.run(problem, execution);
  }
  runtime::check(error, entry.traits.name);
}

// Host arrays on a GPU: A, B and, if it is read, C travel there and C comes back.
void run_staged(Call const& call, Problem problem, Place const& place, Operand const& a, Operand const& b) {
  runtime::DeviceGuard guard(place.ordinal);
  auto const host_c = problem.c;
  StagedMatrix staged_a(problem.a, problem.m, problem.k, true);
  StagedMatrix staged_b(problem.b, problem.n, problem.k, true);
  StagedMatrix staged_c(problem.c, problem.m, problem.n, problem.beta != 0);
  problem.a = staged_a.on_device();
  problem.b = staged_b.on_device();
  problem.c = staged_c.on_device();
  auto const choice = dispatch::select(problem, Target::cuda, device_of(place), call.kernel, instances::registry());
  if (choice.entry == nullptr) throw_unsupported(call, choice.problem, place, a, b);
  run_in_place(*choice.entry, choice.problem, call.execution);
  runtime::synchronize(nullptr);
  staged_c.copy_back(host_c);
}

py::object gemm(Call& call, py::handle allocate) {
  auto stream = call.stream;
  Operand a = Operand::import("A", call.a, stream);
  if (!stream && a.on_cuda()) stream = a.stream();
  Operand b = Operand::import("B", call.b, stream);
  require_matrices(call, a, b);
  require_one_device(call, a, b, b);
  require_layout(call, a, b, nullptr);
  if (call.c.is_none() && call.beta != 0) {
    throw OperandError(std::string(call.function) +
                       " with beta != 0 adds to C, and no C was given\n  next: pass C, or beta=0");
  }
  Place const place = choose_place(call, a, b);

  py::object result = py::reinterpret_borrow<py::object>(call.c);
  if (result.is_none()) result = allocate(call.a, a.extent(0), b.extent(0), !call.layout.empty());
  Operand c = Operand::import("C", result, stream);
  require_one_device(call, a, c, b);
  require_result(call, a, b, c);
  require_layout(call, a, b, &c);

  Problem const problem = problem_of(call, a, b, c.matrix());
  if (problem.m == 0 || problem.n == 0) return result;
  if (place.staged) {
    run_staged(call, problem, place, a, b);
    return result;
  }

  auto const choice = dispatch::select(problem, place.target, device_of(place), call.kernel, instances::registry());
  if (choice.entry == nullptr) throw_unsupported(call, choice.problem, place, a, b);
  if (place.target == Target::cuda) {
    runtime::DeviceGuard guard(place.ordinal);
    call.execution.stream = reinterpret_cast<void*>(*stream);
    run_in_place(*choice.entry, choice.problem, call.execution);
    if (a.must_wait() || b.must_wait() || c.must_wait()) {
      py::gil_scoped_release unlocked;
      runtime::synchronize(call.execution.stream);
    }
  } else {
    run_in_place(*choice.entry, choice.problem, call.execution);
  }
  return result;
}

// A place in memory for a C that does not exist: as aligned as any allocation.
constexpr std::uintptr_t kAlignedNowhere = 1 << 12;

py::dict explain(Call const& call) {
  auto stream = call.stream;
  Operand a = Operand::import("A", call.a, stream);
  if (!stream && a.on_cuda()) stream = a.stream();
  Operand b = Operand::import("B", call.b, stream);
  require_matrices(call, a, b);
  require_one_device(call, a, b, b);
  require_layout(call, a, b, nullptr);
  Place const place = choose_place(call, a, b);

  std::optional<Operand> c;
  bool const m_major = !call.layout.empty();
  Matrix new_c{
      reinterpret_cast<void*>(kAlignedNowhere),
      {m_major ? 1 : std::max<std::int64_t>(b.extent(0), 1), m_major ? std::max<std::int64_t>(a.extent(0), 1) : 1}};
  if (!call.c.is_none()) {
    c.emplace(Operand::import("C", call.c, stream));
    require_one_device(call, a, *c, b);
    require_result(call, a, b, *c);
    require_layout(call, a, b, &*c);
  }
  Problem problem = problem_of(call, a, b, c ? c->matrix() : new_c);
  if (place.staged) {
    problem.a = StagedMatrix::compact(problem.a, problem.m, problem.k, kAlignedNowhere);
    problem.b = StagedMatrix::compact(problem.b, problem.n, problem.k, kAlignedNowhere);
    problem.c = StagedMatrix::compact(problem.c, problem.m, problem.n, kAlignedNowhere);
  }

  auto const& device = device_of(place);
  auto const choice = dispatch::select(problem, place.target, device, call.kernel, instances::registry());

  py::dict d;
  d["m"] = problem.m;
  d["n"] = problem.n;
  d["k"] = problem.k;
  py::list operands;
  operands.append(a.describe());
  operands.append(b.describe());
  std::int64_t const c_shape[] = {problem.m, problem.n};
  operands.append(c ? c->describe() : "C float32 " + layout_text(2, c_shape, new_c.stride) + " new");
  d["operands"] = operands;
  d["target"] = name_of(place.target);
  d["device"] = device.name;
  d["why"] = place.why;
  d["transposed"] = choice.transposed;
  d["chosen"] = choice.entry ? py::object(py::str(choice.entry->traits.name)) : py::object(py::none());
  py::list rejected;
  for (auto const& [entry, refused] :
       dispatch::candidates(choice.problem, place.target, device, call.kernel, instances::registry())) {
    if (refused == dispatch::kNone) continue;
    rejected.append(
        py::make_tuple(entry->traits.name, dispatch::describe(refused, entry->traits, choice.problem, device)));
  }
  d["rejected"] = rejected;
  return d;
}

// Threads that a call on host arrays may use. Guarded by the GIL.
int& host_threads() {
  static int threads = runtime::host_processors();
  return threads;
}

Call make_call(py::handle function, py::handle layout, py::handle a, py::handle b, py::handle c, py::handle kernel,
               py::handle device, py::handle stream) {
  Call call{text_argument("function", function),
            text_argument("layout", layout),
            a,
            b,
            c,
            1,
            0,
            text_argument("kernel", kernel),
            optional_text_argument("device", device),
            stream_argument(stream),
            {}};
  call.execution.host_threads = host_threads();
  return call;
}

}  // namespace

void register_gemm(py::module_& module) {
  module.def("num_threads", [] { return host_threads(); });
  module.def("set_num_threads", [](int threads) { host_threads() = threads; }, py::arg("threads"));
  module.def(
      "gemm",
      [](py::handle allocate, py::handle function, py::handle layout, py::handle a, py::handle b, py::handle c,
         py::handle alpha, py::handle beta, py::handle kernel, py::handle device, py::handle stream,
         py::handle emulator) {
        Call call = make_call(function, layout, a, b, c, kernel, device, stream);
        call.alpha = number_argument("alpha", alpha);
        call.beta = number_argument("beta", beta);
        call.execution.emulator = emulator_argument(emulator);
        return gemm(call, allocate);
      },
      py::arg("allocate"), py::arg("function"), py::arg("layout"), py::arg("A"), py::arg("B"), py::arg("C"),
      py::arg("alpha"), py::arg("beta"), py::arg("kernel"), py::arg("device"), py::arg("stream"), py::arg("emulator"));
  module.def(
      "explain",
      [](py::handle function, py::handle layout, py::handle a, py::handle b, py::handle c, py::handle kernel,
         py::handle device,
         py::handle stream) { return explain(make_call(function, layout, a, b, c, kernel, device, stream)); },
      py::arg("function"), py::arg("layout"), py::arg("A"), py::arg("B"), py::arg("C"), py::arg("kernel"),
      py::arg("device"), py::arg("stream"));
}

}  // namespace cute_py::bindings
