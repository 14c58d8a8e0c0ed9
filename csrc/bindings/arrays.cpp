#include "bindings/arrays.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "bindings/arguments.hpp"
#include "bindings/call.hpp"
#include "bindings/numpy_arrays.hpp"

namespace cute_py::bindings {
namespace {

using dlpack::ManagedTensor;
using dlpack::ManagedTensorVersioned;

// The newest DLPack version that is requested, and the only major version that is read.
constexpr std::uint32_t kMajorVersion = 1;
constexpr std::uint32_t kMinorVersion = 1;

// __dlpack__ names the legacy default stream 1; 0 is not allowed.
std::uintptr_t dlpack_stream(std::uintptr_t stream) { return stream == 0 ? 1 : stream; }

// The message of a Python exception, first line only.
std::string first_line(py::error_already_set const& error) {
  try {
    auto const text = py::str(error.value()).cast<std::string>();
    return text.substr(0, text.find('\n'));
  } catch (std::exception const&) {
    return "an error without a readable message";
  }
}

// The message of the Python exception that a producer raised, first line only. It may have failed without one.
std::string reason_of_failure() {
  if (PyErr_Occurred() == nullptr) return "it failed without saying why";
  return first_line(py::error_already_set());
}

// Is this the name of a module, or of one inside it?
bool is_within(std::string const& name, char const* module) {
  auto const length = std::char_traits<char>::length(module);
  return name.compare(0, length, module) == 0 && (name.size() == length || name[length] == '.');
}

bool in_module(py::handle object, char const* module) {
  return is_within(py::str(py::type::of(object).attr("__module__")).cast<std::string>(), module);
}

// Do the arrays of this library keep their memory until the work on its streams that uses it is done?
// Those of classes derived from theirs do, too.
bool orders_memory_by_streams(py::handle object) {
  for (py::handle const base : py::type::of(object).attr("__mro__")) {
    auto const module = py::str(base.attr("__module__")).cast<std::string>();
    if (is_within(module, "cupy") || is_within(module, "torch")) return true;
  }
  return false;
}

// What is known of a type that offers the exchange interface.
struct Exchange {
  dlpack::ExchangeApi const* api = nullptr;  // null: it offers none
  bool orders_memory_by_streams = false;
};

// Looked up once per type; a type that has the interface is kept alive.
Exchange exchange_of(py::handle object) {
  static auto* const known =
      new std::unordered_map<PyTypeObject*, Exchange>;  // never destroyed: types outlive the module
  PyTypeObject* const type = Py_TYPE(object.ptr());
  if (auto const found = known->find(type); found != known->end()) return found->second;

  auto const handle = py::handle(reinterpret_cast<PyObject*>(type));
  if (!py::hasattr(handle, "__dlpack_c_exchange_api__")) return {};
  py::object const capsule = handle.attr("__dlpack_c_exchange_api__");
  if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) return {};
  auto const* api = static_cast<dlpack::ExchangeApi const*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (api->version.major != kMajorVersion || api->view_object == nullptr || api->current_stream == nullptr) return {};
  handle.inc_ref();
  return known->emplace(type, Exchange{api, orders_memory_by_streams(object)}).first->second;
}

// The type of an array of NumPy that has it from ml_dtypes, and cannot export it.
std::optional<DType> type_of_ml_dtypes(py::handle object) {
  if (!in_module(object, "numpy")) return std::nullopt;
  auto const name = py::str(object.attr("dtype")).cast<std::string>();
  for (DType const type : {DType::bf16, DType::e4m3, DType::e5m2}) {
    if (name == name_of(type)) return type;
  }
  return std::nullopt;
}

// The stream that CuPy would use now; 0, the legacy default stream, for a library that does not say.
std::uintptr_t library_stream(py::handle object) {
  if (!in_module(object, "cupy")) return 0;
  return py::module_::import("cupy.cuda").attr("get_current_stream")().attr("ptr").cast<std::uintptr_t>();
}

}  // namespace

Operand::~Operand() {
  if (managed_ != nullptr && managed_->deleter != nullptr) managed_->deleter(managed_);
  if (managed_versioned_ != nullptr && managed_versioned_->deleter != nullptr) {
    managed_versioned_->deleter(managed_versioned_);
  }
}

void Operand::refuse(std::string const& rule, std::string const& next) const {
  throw OperandError(rule + "\n  next: " + next);
}

void Operand::look_at(dlpack::Tensor const& tensor) {
  view_.device = tensor.device;
  view_.dtype = tensor.dtype;
  view_.rank = tensor.ndim;
  if (!view_.on_host() && !view_.on_cuda()) {
    refuse(std::string(view_.name) + " is on " + text_of(view_.device) + "; operands are on a CPU or on an NVIDIA GPU",
           "move it to one of these");
  }
  if (view_.rank > 0 && tensor.shape == nullptr) {
    refuse(std::string(view_.name) + " claims to have rank " + std::to_string(view_.rank) + " and has no shape",
           "check its producer");
  }
  if (view_.on_cuda() && view_.device.id < 0) {
    refuse(std::string(view_.name) + " claims to be on GPU number " + std::to_string(view_.device.id),
           "check its producer");
  }
  if (view_.rank < 0 || view_.rank > kMaxModes) {
    refuse(std::string(view_.name) + " has rank " + std::to_string(view_.rank) + "; an operand has 0 to " +
               std::to_string(kMaxModes) + " modes",
           "merge modes, for instance with reshape");
  }

  std::int64_t compact[kMaxModes];
  if (tensor.strides == nullptr) {
    std::int64_t stride = 1;
    for (int i = view_.rank - 1; i >= 0; --i) {
      compact[i] = stride;
      if (__builtin_mul_overflow(stride, std::max<std::int64_t>(tensor.shape[i], 1), &stride)) {
        refuse(std::string(view_.name) + " has extents that span more than any memory", "check its producer");
      }
    }
  }
  std::int64_t const* const strides = tensor.strides == nullptr ? compact : tensor.strides;

  // How far the elements reach, so that a layout that no memory can hold is not computed with.
  constexpr auto kMostElements = static_cast<unsigned __int128>(std::numeric_limits<std::int64_t>::max() / 16);
  unsigned __int128 reach = 0;
  __int128 lowest = 0;
  __int128 highest = 0;
  bool empty = false;
  bool too_long = false;
  for (int i = 0; i < view_.rank; ++i) {
    auto const extent = tensor.shape[i];
    if (extent < 0)
      refuse(std::string(view_.name) + " claims to have extent " + std::to_string(extent), "check its producer");
    empty = empty || extent == 0;
    __int128 const step = strides[i];
    reach += static_cast<unsigned __int128>(extent > 0 ? extent - 1 : 0) *
             static_cast<unsigned __int128>(step < 0 ? -step : step);
    too_long = too_long || reach > kMostElements;
    reach = std::min(reach, kMostElements);
    if (!too_long) (step < 0 ? lowest : highest) += step * (extent > 0 ? extent - 1 : 0);
  }
  if (!empty && too_long) {
    refuse(std::string(view_.name) + " has a layout that spans more than any memory, " +
               layout_text(view_.rank, tensor.shape, strides),
           "check its producer");
  }

  if (tensor.data == nullptr && !empty) {
    refuse(std::string(view_.name) + " has elements but no memory", "pass an array whose memory exists");
  }

  // As a number: nobody says that there is an array to point into.
  auto const address = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
  constexpr __int128 kAddresses = __int128{1} << 64;
  auto const origin = __int128{reinterpret_cast<std::uintptr_t>(tensor.data)} + __int128{tensor.byte_offset};
  __int128 const bytes = (view_.dtype.bits * view_.dtype.lanes + 7) / 8;
  if (!empty && (origin + lowest * bytes < 0 || origin + (highest + 1) * bytes > kAddresses)) {
    refuse(std::string(view_.name) + " has elements at addresses that no memory has, " +
               layout_text(view_.rank, tensor.shape, strides) + " from byte " + std::to_string(tensor.byte_offset),
           "check its producer");
  }
  view_.data = reinterpret_cast<void*>(address);
  // A GPU cannot read a number that is not at a multiple of its size; of a complex one, its parts.
  auto const alignment =
      static_cast<std::uintptr_t>(std::max(view_.dtype.bits / (view_.dtype.code == dlpack::kComplex ? 16 : 8), 1));
  if (view_.on_cuda() && !empty && address % alignment != 0) {
    refuse(std::string(view_.name) + " is at an address that is no multiple of " + std::to_string(alignment) +
               " bytes, where a GPU cannot read " + text_of(view_.dtype),
           "copy it");
  }
  for (int i = 0; i < view_.rank; ++i) {
    view_.shape[i] = tensor.shape[i];
    view_.stride[i] = strides[i];
  }
}

void Operand::look_at_exported(dlpack::Tensor tensor) {
  // CuPy divides the bytes of a stride as an unsigned number, which loses the sign of a negative one.
  std::vector<std::int64_t> strides;
  if (in_module(object_, "cupy") && tensor.dtype.bits >= 8) {
    for (py::handle const bytes : object_.attr("strides")) {
      strides.push_back(bytes.cast<std::int64_t>() / (tensor.dtype.bits / 8));
    }
    if (static_cast<std::int64_t>(strides.size()) != tensor.ndim) {
      refuse(std::string(view_.name) + " has " + std::to_string(strides.size()) + " strides and rank " +
                 std::to_string(tensor.ndim),
             "check its producer");
    }
    tensor.strides = strides.data();
  }
  look_at(tensor);
}

Operand::Operand(char const* name, py::handle object, std::optional<std::uintptr_t> stream, Use use) : Operand() {
  object_ = py::reinterpret_borrow<py::object>(object);
  use_ = use;
  view_.name = name;
  if (import_numpy()) return;

  if (auto const exchange = exchange_of(object); exchange.api != nullptr) {
    import_view(*exchange.api, stream);
    must_wait_ = view_.on_cuda() && !exchange.orders_memory_by_streams;
    if (exchange.orders_memory_by_streams) library_ = Library::exchange;
    return;
  }
  if (PyType_Check(object.ptr())) {
    refuse(
        std::string(name) + " is the class " + py::str(object.attr("__name__")).cast<std::string>() + ", not an array",
        "pass an array of it");
  }
  if (!py::hasattr(object, "__dlpack__") || !py::hasattr(object, "__dlpack_device__")) {
    refuse(std::string(name) + " is a " + type_name(object) + ", not an array",
           hooks().way_to_an_array(name, object).cast<std::string>());
  }
  if (in_module(object, "numpy.ma")) {
    refuse(std::string(name) + " is a masked array, and a product knows no masks",
           std::string_view(name) == "out"
               ? "pass out.data, whose elements are all written"
               : "pass " + std::string(name) + ".filled(0), or what else masked elements shall count as");
  }
  import_capsule(stream);
}

// Of an array of NumPy that this cannot tell, or that no product takes, DLPack has more to say.
bool Operand::import_numpy() {
  NumpyArray array;
  if (!read_numpy_array(object_, array)) return false;
  library_ = Library::numpy;
  view_.read_only = array.read_only;
  look_at({array.data, {dlpack::kCpu, 0}, array.rank, dlpack_of(array.type), array.shape, array.stride, 0});
  return true;
}

// Does a method of the object, if it has one of that name, return True?
bool Operand::is_flagged(PyObject* method) const {
  auto const flag = py::reinterpret_steal<py::object>(PyObject_CallMethodNoArgs(object_.ptr(), method));
  if (!flag) PyErr_Clear();
  return flag && flag.is(py::bool_(true));
}

// Through the exchange interface of the object's type, which looks at nothing but memory: what a view does to the
// numbers in it has to be asked for.
void Operand::import_view(dlpack::ExchangeApi const& api, std::optional<std::uintptr_t> stream) {
  static PyObject* const requires_grad = PyUnicode_InternFromString("requires_grad");
  static PyObject* const is_neg = PyUnicode_InternFromString("is_neg");
  static PyObject* const is_conj = PyUnicode_InternFromString("is_conj");
  auto const flag = py::reinterpret_steal<py::object>(PyObject_GetAttr(object_.ptr(), requires_grad));
  if (!flag) PyErr_Clear();
  if (flag && flag.is(py::bool_(true))) {
    refuse(std::string(view_.name) + " requires grad, and cute_py records no gradients",
           "cute_py.torch has these functions with gradients; or pass " + std::string(view_.name) + ".detach()");
  }
  if (is_flagged(is_neg)) {
    refuse(std::string(view_.name) + " is a view that PyTorch negates when it is read",
           "pass " + std::string(view_.name) + ".resolve_neg()");
  }
  auto const look = [&] {
    dlpack::Tensor tensor{};
    if (api.view_object(object_.ptr(), &tensor) != 0) {
      refuse(std::string(view_.name) + " cannot be exported: " + reason_of_failure(), "pass a plain strided array");
    }
    look_at(tensor);
  };
  look();
  // PyTorch's types of less than a byte lie in bytes, and are exported as if they were whole ones.
  if (view_.dtype.bits == 8 && (view_.dtype.code == dlpack::kInt || view_.dtype.code == dlpack::kUInt)) {
    auto const type = py::str(py::getattr(object_, "dtype", py::none())).cast<std::string>();
    if (type != "torch.int8" && type != "torch.uint8" && is_within(type, "torch")) {
      refuse(std::string(view_.name) + " has elements of " + type + ", which PyTorch exports as bytes",
             "pass " + std::string(view_.name) + ".view(torch.int8) to compute with the bytes");
    }
  }
  if (view_.dtype.code == dlpack::kComplex && is_flagged(is_conj)) {
    other_ = object_.attr("conj")();  // of the same memory, and no longer conjugated
    object_ = other_;
    view_.conjugated = true;
    look();
  }
  if (!view_.on_cuda()) return;
  void* current = nullptr;
  if (api.current_stream(view_.device.type, view_.device.id, &current) != 0) {
    refuse(std::string(view_.name) + "'s library names no stream: " + reason_of_failure(), "check its producer");
  }
  stream_ = reinterpret_cast<std::uintptr_t>(current);
  if (stream && *stream != stream_) import_capsule(stream);  // the library orders the two streams
}

void Operand::import_capsule(std::optional<std::uintptr_t> stream) {
  auto const refuse_export = [this](std::string const& reason) {
    std::string described = std::string(view_.name) + " (" + type_name(object_);
    if (py::hasattr(object_, "dtype")) described += ", dtype " + py::str(object_.attr("dtype")).cast<std::string>();
    std::string const name = view_.name;
    std::string const native = name + ".astype(" + name + ".dtype.newbyteorder('='))";
    std::string const kind =
        py::hasattr(object_, "dtype") ? py::str(py::getattr(object_.attr("dtype"), "kind", py::str(""))) : py::str("");
    bool const has_no_numbers = kind == "S" || kind == "U" || kind == "V";
    refuse(described + ") cannot be exported: " + reason,
           "pass an array of numbers in native byte order whose strides are whole elements" +
               (name == "out"                                    ? "; out[...] = a new result converts it, too"
                : reason.find("byte order") != std::string::npos ? ", such as " + native
                : reason.find("strides") != std::string::npos    ? ", such as " + name + ".copy()"
                : has_no_numbers                                 ? ""
                                                                 : ", such as numpy.array(" + name + ", dtype=numpy." +
                                                                       (kind == "c" ? "complex128" : "float64") + ")"));
  };
  auto const is_refusal = [](py::error_already_set const& error) {
    for (PyObject* type : {PyExc_BufferError, PyExc_RuntimeError, PyExc_TypeError, PyExc_ValueError}) {
      if (error.matches(type)) return true;
    }
    return false;
  };

  try {
    auto const device = object_.attr("__dlpack_device__")();
    auto const [type, id] = device.cast<std::pair<std::int32_t, std::int32_t>>();
    view_.device = {type, id};
  } catch (py::error_already_set const& error) {
    if (!is_refusal(error)) throw;
    refuse_export(first_line(error));
  } catch (py::cast_error const&) {
    refuse_export("__dlpack_device__ returned no pair of device type and number");
  }

  py::dict arguments;
  if (view_.on_cuda()) {
    stream_ = stream ? *stream : library_stream(object_);
    must_wait_ = !orders_memory_by_streams(object_);
    arguments["stream"] = py::int_(dlpack_stream(stream_));
  }

  py::object capsule;
  try {
    py::object const method = object_.attr("__dlpack__");
    try {
      py::dict versioned = arguments.attr("copy")();
      versioned["max_version"] = py::make_tuple(kMajorVersion, kMinorVersion);
      if (use_ == Use::written) versioned["copy"] = false;
      capsule = method(**versioned);
    } catch (py::error_already_set& error) {
      if (!error.matches(PyExc_TypeError)) throw;
      capsule = method(**arguments);  // a producer from before max_version and copy
    }
  } catch (py::error_already_set const& error) {
    if (!is_refusal(error)) throw;
    if (auto const type = type_of_ml_dtypes(object_); !other_ && type) {
      learn_numpy_type(object_, *type);
      other_ = object_.attr("view")(bytes_of(*type) == 1 ? "uint8" : "uint16");
      object_ = other_;
      import_capsule(stream);
      view_.dtype = dlpack_of(*type);
      return;
    }
    refuse_export(first_line(error));
  }

  // A capsule is renamed once its tensor is ours to give back; until then it gives the tensor back itself.
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    auto* managed = static_cast<ManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->version.major != kMajorVersion) {
      refuse(std::string(view_.name) + " comes as DLPack " + std::to_string(managed->version.major) + "." +
                 std::to_string(managed->version.minor) + ", and cute_py reads version 1",
             "export it with max_version=(1, 0)");
    }
    if (use_ == Use::written && (managed->flags & dlpack::kIsCopied) != 0) {
      refuse(std::string(view_.name) + " is exported as a copy, and a result written into that would be lost",
             "pass an array that can be exported without a copy, or none to get a new one");
    }
    look_at_exported(managed->tensor);
    view_.read_only = (managed->flags & dlpack::kReadOnly) != 0;
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    managed_versioned_ = managed;
  } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    auto* managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    look_at_exported(managed->tensor);
    view_.read_only =
        in_module(object_, "jax") || in_module(object_, "jaxlib");  // cannot say so, but must not be written to
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");
    managed_ = managed;
  } else {
    refuse(std::string(view_.name) + "'s __dlpack__ returned no DLPack capsule, or one that was used before",
           "return a new capsule from every call");
  }
}

}  // namespace cute_py::bindings
