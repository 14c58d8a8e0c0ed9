#include "bindings/xla.hpp"

#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "base/errors.hpp"
#include "base/xla_ffi.hpp"
#include "execution/pipeline.hpp"
#include "runtime/host.hpp"

namespace cute_py::bindings {
namespace {

std::optional<DType> type_of(xla::Type type) {
  switch (type) {
    case xla::Type::s8:
      return DType::i8;
    case xla::Type::s32:
      return DType::i32;
    case xla::Type::f16:
      return DType::f16;
    case xla::Type::bf16:
      return DType::bf16;
    case xla::Type::f32:
      return DType::f32;
    case xla::Type::f64:
      return DType::f64;
    case xla::Type::c64:
      return DType::c64;
    case xla::Type::c128:
      return DType::c128;
    case xla::Type::f8e5m2:
      return DType::e5m2;
    case xla::Type::f8e4m3fn:
      return DType::e4m3;
  }
  return std::nullopt;
}

View view_of(char const* name, xla::Buffer const& buffer, dlpack::Device device) {
  auto const type = type_of(buffer.type);
  if (!type) throw OperandError(std::string("cute_py: XLA's type of ") + name + " is none that products take");
  if (buffer.rank > kMaxModes) throw OperandError(std::string("cute_py: ") + name + " has too many modes");
  View view;
  view.name = name;
  view.device = device;
  view.dtype = dlpack_of(*type);
  view.rank = static_cast<int>(buffer.rank);
  view.data = buffer.data;
  std::int64_t stride = 1;
  for (int i = view.rank - 1; i >= 0; --i) {
    view.shape[i] = buffer.extents[i];
    view.stride[i] = stride;
    stride *= buffer.extents[i];
  }
  return view;
}

// The attributes of a call, by name. What the lowering of cute_py.jax writes is there.
class Given {
 public:
  explicit Given(xla::Attributes const& attributes) : attributes_(attributes) {}

  std::string_view text(char const* name) const {
    auto const& text = *static_cast<xla::Text const*>(value(name, xla::Attribute::text));
    return {text.first, text.size};
  }

  template <class T>
  T number(char const* name) const {
    T value_of_it;
    std::memcpy(&value_of_it, static_cast<xla::Number const*>(value(name, xla::Attribute::number))->value, sizeof(T));
    return value_of_it;
  }

 private:
  void const* value(char const* name, xla::Attribute kind) const {
    for (std::int64_t i = 0; i < attributes_.count; ++i) {
      xla::Text const& given = *attributes_.names[i];
      if (attributes_.kinds[i] == kind && std::string_view(given.first, given.size) == name)
        return attributes_.values[i];
    }
    throw OperandError(std::string("cute_py: a call of XLA lacks the attribute ") + name);
  }

  xla::Attributes const& attributes_;
};

xla::Buffer const& buffer(xla::Arguments const& arguments, std::int64_t which) {
  return *static_cast<xla::Buffer const*>(arguments.values[which]);
}

void run(xla::Call const& call, dlpack::Device device, void* stream) {
  Given const given(call.attributes);
  View const a = view_of("A", buffer(call.arguments, 0), device);
  View const b = view_of("B", buffer(call.arguments, 1), device);
  View const out = view_of("out", buffer(call.results, 0), device);

  std::string const of_a(given.text("of_a"));
  std::string const of_b(given.text("of_b"));
  std::string const of_d(given.text("of_d"));
  Function function;  // of Python none has the id 0
  function.name = "contract('" + of_a + "," + of_b + "->" + of_d + "')";
  function.labels = Labels{of_a, of_b, of_d};
  Request request;
  request.function = &function;
  function.b_is_one = given.number<double>("b_is_one") != 0;
  std::string const what = function.name + (function.b_is_one ? " of one" : "");
  request.what = what;
  request.a = &a;
  request.b = &b;
  request.out = &out;
  auto const imaginary = given.number<double>("alpha_im");
  request.alpha = {{given.number<double>("alpha_re"), imaginary}, imaginary != 0};
  request.compute = given.text("compute");
  request.float32_compute = float32_compute();

  execution::Key const key(request);
  auto prepared = execution::find_prepared(key);
  if (prepared == nullptr) {
    prepared = execution::prepare(request);
    execution::keep_prepared(key, prepared);
  }
  Product const& product = prepared->outline.product;
  if (product.geometry.is_empty()) return;
  Execution execution;
  execution.host_threads = runtime::host_threads();
  execution.stream = stream;
  execution::run(*prepared, make_arguments(request, product.geometry.compute), execution, false);
}

xla::Error* error_of(xla::Call const& call, xla::Code code, char const* message) {
  xla::ErrorCreate arguments{{sizeof(arguments), nullptr}, message, code};
  return call.api->error_create(&arguments);
}

template <bool on_gpu>
xla::Error* contract(xla::Call* call) {
  if (call->head.extensions != nullptr && call->head.extensions->type == xla::kMetadataExtension) {
    xla::Metadata& metadata = *reinterpret_cast<xla::MetadataExtension*>(call->head.extensions)->metadata;
    metadata.version.major = xla::kMajor;
    metadata.version.minor = xla::kMinor;
    metadata.traits = on_gpu ? xla::kCanBeCaptured : 0;
    return nullptr;
  }
  if (call->stage != xla::Stage::execute) return nullptr;
  try {
    dlpack::Device device{dlpack::kCpu, 0};
    void* stream = nullptr;
    if constexpr (on_gpu) {
      xla::OrdinalGet ordinal{{sizeof(ordinal), nullptr}, call->context, 0};
      if (auto* const error = call->api->ordinal_get(&ordinal)) return error;
      xla::StreamGet found{{sizeof(found), nullptr}, call->context, nullptr};
      if (auto* const error = call->api->stream_get(&found)) return error;
      device = {dlpack::kCuda, ordinal.ordinal};
      stream = found.stream;
    }
    run(*call, device, stream);
    return nullptr;
  } catch (OperandError const& error) {
    return error_of(*call, xla::Code::invalid_argument, error.what());
  } catch (UnsupportedProblemError const& error) {
    return error_of(*call, xla::Code::unimplemented, error.what());
  } catch (std::exception const& error) {
    return error_of(*call, xla::Code::internal, error.what());
  }
}

}  // namespace

void register_xla(pybind11::module_& module) {
  auto const capsule = [](xla::Function* function) {
    return pybind11::capsule(reinterpret_cast<void*>(function), "xla._CUSTOM_CALL_TARGET");
  };
  module.attr("xla_contract") = pybind11::dict(pybind11::arg("cpu") = capsule(&contract<false>),
                                               pybind11::arg("CUDA") = capsule(&contract<true>));
}

}  // namespace cute_py::bindings
