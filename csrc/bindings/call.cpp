#include "bindings/call.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "base/errors.hpp"
#include "bindings/arguments.hpp"
#include "bindings/gil.hpp"
#include "runtime/host.hpp"

namespace cute_py::bindings {
namespace {

// More than any axis.
constexpr long kNoAxis = 1000;

// An argument as a text, for the key of a call; nothing for an argument of another type. The first character says the
// type: a wrong argument must not pass for the text of a right one.
std::optional<std::string> text_of_what(PyObject* what) {
  if (what == nullptr) return std::string();
  if (PyUnicode_CheckExact(what)) {
    Py_ssize_t size = 0;
    char const* const text = PyUnicode_AsUTF8AndSize(what, &size);
    if (text != nullptr) return "'" + std::string(text, static_cast<std::size_t>(size));
    PyErr_Clear();
  } else if (PyLong_CheckExact(what)) {
    return "#" + py::str(what).cast<std::string>();
  } else if (PyTuple_CheckExact(what)) {
    std::string text = "(";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(what); ++i) {
      PyObject* const item = PyTuple_GET_ITEM(what, i);
      int overflows = 0;
      long const number = PyLong_CheckExact(item) ? PyLong_AsLongAndOverflow(item, &overflows) : kNoAxis;
      if (overflows != 0 || number < -kNoAxis || number >= kNoAxis) return std::nullopt;
      text += std::to_string(number) + ",";
    }
    return text + ")";
  }
  return std::nullopt;
}

bool is_number(PyObject* object) {
  if (PyFloat_CheckExact(object) || PyLong_CheckExact(object)) return true;
  return PyObject_IsInstance(object, hooks().is_number.ptr()) == 1;
}

std::string name_of_type(char const* argument, PyObject* type) {
  py::object const name = hooks().type_name(argument, py::handle(type));
  return std::string(optional_text_argument(argument, name));
}

// An index of kFloat32Computes.
std::atomic<int> chosen_float32_compute{0};
constexpr std::string_view kFloat32Computes[] = {"", "tfloat32", "fast_float32", "fp16x3", "bf16x6", "reproducible"};

Activation activation_of(std::string const& function, py::handle epilogue) {
  py::object const given = epilogue.attr("activation");
  auto const activation = text_argument("activation", given);
  auto const* const found = std::find(std::begin(kActivationNames), std::end(kActivationNames), activation);
  if (found == std::end(kActivationNames)) {
    throw OperandError(function + ": there is no activation '" + std::string(activation) +
                       "'\n  next: make the Epilogue anew, with one that it takes");
  }
  return static_cast<Activation>(found - std::begin(kActivationNames));
}

// Of a new result: may it lie as suits the product?
bool order_argument(py::handle given) {
  auto const order = text_argument("order", given);
  if (order == "K") return true;
  if (order == "C") return false;
  throw OperandError(
      "order is 'C' for a new result whose last mode is the fastest, or 'K' for one that lies as suits the "
      "product; got '" +
      std::string(order) + "'\n  next: pass out, an array that lies as you want");
}

}  // namespace

Hooks& hooks() {
  static auto* const kept = new Hooks;  // never destroyed: the interpreter may end before
  return *kept;
}

Options::Options(Definition const& definition, Asked const& asked) : kernel(definition.kernel) {
  if (auto* const x = asked[Arg::alpha]) alpha = number_argument("alpha", x);
  if (auto* const x = asked[Arg::beta]) beta = number_argument("beta", x);
  if (auto* const x = asked[Arg::kernel]) kernel = kernel_argument(x, kernel_name);
  if (auto* const x = asked[Arg::config]) {
    config = config_argument(x);
    kernel = config->kernel;
  }
  if (auto* const x = asked[Arg::device]) {
    if (PyUnicode_Check(x)) {
      device = optional_text_argument("device", x);
    } else if (auto given = device_argument(x); given.invented != nullptr) {
      invented = std::move(given.invented);
    } else {
      device = "cuda:" + std::to_string(given.ordinal);
    }
  }
  if (auto* const x = asked[Arg::compute]) compute = name_of_type("compute", x);
  if (auto* const x = asked[Arg::out_dtype]) out_dtype = name_of_type("out_dtype", x);
  if (auto* const x = asked[Arg::conj_a]) conj_a = flag_argument("conj_a", x);
  if (auto* const x = asked[Arg::conj_b]) conj_b = flag_argument("conj_b", x);
  if (auto* const x = asked[Arg::batch_invariant]) batch_invariant = flag_argument("batch_invariant", x);
  if (auto* const x = asked[Arg::order]) any_order = order_argument(x);
  if (auto* const x = asked[Arg::workspace]) workspace_limit = bytes_argument("workspace", x);
  if (auto* const x = asked[Arg::emulator]) emulator = emulator_argument(x);
  if (auto* const x = asked[Arg::epilogue]) {
    require_epilogue(x);
    py::handle const given = x;
    activation = activation_of(definition.function.name, given);
    scale = number_argument("scale", given.attr("scale"), false).value.real();
    saturate = flag_argument("saturate", given.attr("saturate"));
  }
}

std::string_view float32_compute() { return kFloat32Computes[chosen_float32_compute.load(std::memory_order_relaxed)]; }

void set_float32_compute(std::string const& compute) {
  std::string names = "'float32'";
  for (std::size_t i = 0; i < std::size(kFloat32Computes); ++i) {
    if (compute == (i == 0 ? "float32" : kFloat32Computes[i])) return chosen_float32_compute.store(static_cast<int>(i));
    if (i > 0) names += ", '" + std::string(kFloat32Computes[i]) + "'";
  }
  throw OperandError("set_float32_compute: next: one of " + names + "; got '" + compute + "'");
}

void Options::apply(Request& request) const {
  request.alpha = alpha;
  request.beta = beta;
  request.kernel = kernel;
  request.config = config;
  request.device = device;
  request.invented = invented;
  request.compute = compute;
  request.float32_compute = float32_compute();
  request.out_dtype = out_dtype;
  request.conj_a = conj_a;
  request.conj_b = conj_b;
  request.batch_invariant = batch_invariant;
  request.any_order = any_order;
  request.workspace_limit = workspace_limit;
  request.scale = scale;
  request.activation = activation;
  request.saturate = saturate;
}

Call::Call(Definition const& definition, Asked const& asked, Options const& options)
    : definition_(definition), options_(options), asked_(asked) {
  for (int i = 0; i < 2; ++i) {
    PyObject*& factor = asked_[i == 0 ? Arg::a : Arg::b];
    split_[i] = held_split(factor);
    if (split_[i] != nullptr) factor = split_[i]->array.ptr();
  }
  if (definition_.takes_numbers && (is_number(asked_[Arg::a]) || is_number(asked_[Arg::b]))) {
    py::object const arrays = hooks().with_numbers(
        definition_.function.name, py::make_tuple(py::handle(asked_[Arg::a]), py::handle(asked_[Arg::b])));
    for (int i = 0; i < 2; ++i) numbers_[i] = arrays[py::int_(i)];
    asked_[Arg::a] = numbers_[0].ptr();
    asked_[Arg::b] = numbers_[1].ptr();
  }
  request_.function = &definition_.function;
  if (auto text = text_of_what(asked_[Arg::what])) {
    what_ = std::move(*text);
    request_.what = what_;
  } else {
    resolve();
    what_ = "=" + function_.labels->a + "," + function_.labels->b + ">" + function_.labels->d;
    request_.what = what_;
  }
  options_.apply(request_);
  if (split_[0] != nullptr || split_[1] != nullptr) take_split_factors();
  import_arrays();
}

// They say what is computed in, if the call does not.
void Call::take_split_factors() {
  for (int i = 0; i < 2; ++i) {
    if (split_[i] == nullptr) continue;
    SplitFactor const& split = split_[i]->split;
    if (request_.compute.empty()) request_.compute = split.compute;
    if (request_.compute != split.compute) {
      throw OperandError(definition_.function.name + ": " + (i == 0 ? "A" : "B") + " was prepared for compute='" +
                         split.compute + "', and this call computes in '" + std::string(request_.compute) +
                         "'\n  next: prepare it for that, or pass its array");
    }
    request_.split[i] = &split;
  }
}

void Call::import_arrays() {
  stream_ = asked_[Arg::stream] != nullptr ? stream_argument(asked_[Arg::stream]) : std::nullopt;
  a_.emplace("A", asked_[Arg::a], stream_);
  if (!stream_ && a_->view().on_cuda()) stream_ = a_->stream();
  request_.a = &a_->view();
  if (!definition_.copies) request_.b = &b_.emplace("B", asked_[Arg::b], stream_).view();
  auto const import = [&](std::optional<Operand>& operand, View const*& view, char const* name, py::handle object,
                          Operand::Use use = Operand::Use::read) {
    if (!object || object.is_none()) return;
    operand.emplace(name, object, stream_, use);
    view = &operand->view();
  };
  bool const has_out = asked_[Arg::out] != nullptr;
  import(c_, request_.c, "C", asked_[Arg::c], has_out ? Operand::Use::read : Operand::Use::written);
  import(out_, request_.out, "out", asked_[Arg::out], Operand::Use::written);
  if (auto* const epilogue = asked_[Arg::epilogue]) {
    of_epilogue_[0] = py::handle(epilogue).attr("bias");
    of_epilogue_[1] = py::handle(epilogue).attr("residual");
    import(bias_, request_.bias, "bias", of_epilogue_[0]);
    import(residual_, request_.residual, "residual", of_epilogue_[1]);
  }
  if (request_.result() != nullptr) {
    result_ = py::reinterpret_borrow<py::object>(asked_[request_.out != nullptr ? Arg::out : Arg::c]);
  }
}

void Call::resolve() {
  if (!definition_.labels_of || resolved_) return;
  resolved_ = true;
  py::handle const what = asked_[Arg::what] != nullptr ? asked_[Arg::what] : Py_None;
  py::handle const b = definition_.copies ? py::handle(Py_None) : py::handle(asked_[Arg::b]);
  auto const found = definition_.labels_of(what, py::handle(asked_[Arg::a]), b);
  auto const [name, labels] = found.cast<std::pair<std::string, std::tuple<std::string, std::string, std::string>>>();
  function_ = definition_.function;
  function_.name = name;
  function_.labels = Labels{std::get<0>(labels), std::get<1>(labels), std::get<2>(labels)};
}

std::shared_ptr<execution::Prepared const> const& Call::prepare() {
  execution::Key const key(request_);
  auto prepared = execution::find_prepared(key);
  if (prepared == nullptr) {
    resolve();
    if (resolved_) request_.function = &function_;
    prepared = execution::prepare(request_);
    execution::keep_prepared(key, prepared);
  }
  prepared_ = std::move(prepared);
  request_.function = &prepared_->function;
  return prepared_;
}

execution::Outline Call::outline() {
  resolve();
  if (resolved_) request_.function = &function_;
  return execution::make_outline(request_);
}

bool Call::make_result(execution::Prepared const& prepared) {
  if (request_.result() != nullptr) return true;
  Product const& product = prepared.outline.product;
  py::tuple shape(product.shape.size());
  for (std::size_t i = 0; i < product.shape.size(); ++i) shape[i] = product.shape[i];
  py::object order = py::none();  // the usual one
  if (!std::is_sorted(product.order.begin(), product.order.end())) order = py::tuple(py::cast(product.order));
  result_ = hooks().empty_result(py::handle(asked_[Arg::a]), shape, order, py::str(text_of(product.dtype)));
  is_new_ = true;
  out_.emplace("C", result_, stream_, Operand::Use::written);
  View const& x = out_->view();
  request_.out = &x;
  bool as_prepared = x.dtype == product.dtype && !x.read_only && !x.conjugated &&
                     x.rank == static_cast<int>(product.shape.size()) && x.on_cuda() == request_.a->on_cuda() &&
                     x.device.id == request_.a->device.id &&
                     log2_alignment_of(reinterpret_cast<std::uintptr_t>(x.data)) == kMaxLog2Alignment;
  bool const is_empty = product.geometry.is_empty();  // has no strides that anybody follows
  for (int i = 0; as_prepared && i < x.rank; ++i) {
    as_prepared = x.shape[i] == product.shape[i] && (is_empty || x.shape[i] <= 1 || x.stride[i] == product.stride[i]);
  }
  return as_prepared;
}

py::object Call::run(execution::Prepared const& prepared, py::handle workspace) {
  if (!is_new_) require_apart(request_);
  Product const& product = prepared.outline.product;
  if (!product.geometry.is_empty()) {
    Execution execution;
    execution.host_threads = runtime::host_threads();
    execution.emulator = options_.emulator;
    bool const on_gpu = request_.a->on_cuda();
    if (on_gpu) execution.stream = reinterpret_cast<void*>(*stream_);
    Operand const* const given = on_gpu ? workspace_of(prepared, workspace) : nullptr;
    bool wait = false;
    for (auto const* x : {&a_, &b_, &c_, &out_, &bias_, &residual_, &workspace_}) {
      wait = wait || (x->has_value() && (*x)->must_wait());
    }
    Arguments const arguments = make_arguments(request_, product.geometry.compute);
    without_gil(execution, [&](Execution const& running) {
      execution::run(prepared, arguments, running, wait, given != nullptr ? given->view().data : nullptr);
    });
  }
  if (!is_new_) return result_;
  if (a_->library() == Operand::Library::exchange) return result_;
  if (a_->library() == Operand::Library::other) result_ = hooks().as_result(py::handle(asked_[Arg::a]), result_);
  if (definition_.returns_numbers && out_->view().rank == 0) return hooks().as_number(result_);
  return result_;
}

// The workspace that the caller gave, if one is needed.
Operand const* Call::workspace_of(execution::Prepared const& prepared, py::handle given) {
  if (!given || given.is_none() || prepared.workspace_bytes() == 0) return nullptr;
  View const& x = workspace_.emplace("workspace", given, stream_, Operand::Use::written).view();
  bool const dense = x.rank == 1 && !x.read_only && (x.stride[0] == 1 || x.shape[0] <= 1);
  auto const bytes = dense ? std::int64_t{x.dtype.bits} * x.dtype.lanes / 8 * x.shape[0] : 0;
  bool const aligned = reinterpret_cast<std::uintptr_t>(x.data) % 256 == 0;
  if (!x.on_cuda() || x.device.id != request_.a->device.id || !dense || !aligned ||
      bytes < prepared.workspace_bytes()) {
    throw OperandError(
        request_.function->name + ": workspace is a dense writable array of one mode on the plan's GPU, of " +
        std::to_string(prepared.workspace_bytes()) + " bytes or more, aligned to 256\n  " + x.describe() +
        "\n  next: leave workspace out, or pass cupy.empty(plan.workspace_bytes, 'uint8')");
  }
  return &*workspace_;
}

}  // namespace cute_py::bindings
