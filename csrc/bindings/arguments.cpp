#include "bindings/arguments.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>

#include "base/errors.hpp"
#include "problem/decision.hpp"

namespace cute_py::bindings {
namespace {

std::string shown(py::handle value) {
  try {
    auto const text = py::repr(value).cast<std::string>();
    return text.size() <= 60 ? text : text.substr(0, 57) + "...";
  } catch (std::exception const&) {
    return "something of type " + type_name(value);
  }
}

bool is_true(py::handle object, char const* attribute) {
  auto const flag = py::reinterpret_steal<py::object>(PyObject_GetAttrString(object.ptr(), attribute));
  if (!flag) PyErr_Clear();
  return flag && flag.is(py::bool_(true));
}

bool is_complex(py::handle value) {
  if (PyComplex_Check(value.ptr())) return true;
  return py::hasattr(value, "dtype") &&
         py::str(value.attr("dtype")).cast<std::string>().find("complex") != std::string::npos;
}

[[noreturn]] void refuse_stream(py::handle value) {
  throw OperandError("stream is neither a handle nor a stream of CuPy, PyTorch or cuda.core, but " + shown(value) +
                     "\n  next: pass the cudaStream_t as an int");
}

std::uintptr_t handle_argument(py::handle value) {
  auto const number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  auto const handle = number ? PyLong_AsLongLong(number.ptr()) : -1;
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse_stream(value);
  }
  if (handle < 0) throw OperandError("stream is a handle >= 0, got " + shown(value));
  return handle == 1 ? 0 : static_cast<std::uintptr_t>(handle);  // 1 is DLPack's name for the default stream
}

}  // namespace

std::string type_name(py::handle object) {
  auto const type = py::type::of(object);
  auto const module = py::str(type.attr("__module__")).cast<std::string>();
  auto const name = py::str(type.attr("__qualname__")).cast<std::string>();
  return module == "builtins" ? name : module + "." + name;
}

std::string_view text_argument(char const* name, py::handle value) {
  Py_ssize_t size = 0;
  char const* const text = PyUnicode_Check(value.ptr()) ? PyUnicode_AsUTF8AndSize(value.ptr(), &size) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    throw OperandError(std::string(name) + " is a name, a str, got " + shown(value));
  }
  return {text, static_cast<std::size_t>(size)};
}

std::string_view kernel_argument(py::handle value, py::object& name) {
  if (PyUnicode_Check(value.ptr())) return text_argument("kernel", value);
  name = py::getattr(value, "name", py::none());
  if (!PyUnicode_Check(name.ptr())) {
    throw OperandError("kernel is a name, a str, or a Kernel, got " + shown(value) +
                       "\n  next: kernel='auto', or one that list(cute_py.kernels()) names");
  }
  return text_argument("kernel", name);
}

std::string_view optional_text_argument(char const* name, py::handle value) {
  if (value.is_none()) return {};
  auto const text = text_argument(name, value);
  if (text.empty()) throw OperandError(std::string(name) + " is empty; leave it out, or pass None, for the default");
  return text;
}

Scalar number_argument(char const* name, py::handle value, bool may_be_complex) {
  if (PyFloat_CheckExact(value.ptr())) return {PyFloat_AS_DOUBLE(value.ptr())};
  bool const complex = is_complex(value);
  bool const is_number = !PyUnicode_Check(value.ptr()) && !PyBytes_Check(value.ptr()) &&
                         !PyByteArray_Check(value.ptr()) && (!complex || may_be_complex) &&
                         !is_true(value, "requires_grad");
  py::object number;
  if (is_number && complex) {
    auto const type = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PyComplex_Type));
    number = py::reinterpret_steal<py::object>(PyObject_CallOneArg(type.ptr(), value.ptr()));
  } else if (is_number) {
    number = py::reinterpret_steal<py::object>(PyNumber_Float(value.ptr()));
  }
  if (!number) {
    PyErr_Clear();
    throw OperandError(std::string(name) + (may_be_complex ? " is a number, got " : " is a real number, got ") +
                       shown(value));
  }
  if (!complex) return {PyFloat_AS_DOUBLE(number.ptr())};
  return {{PyComplex_RealAsDouble(number.ptr()), PyComplex_ImagAsDouble(number.ptr())}, true};
}

bool flag_argument(char const* name, py::handle value) {
  if (PyBool_Check(value.ptr())) return value.is(py::bool_(true));
  auto const type = type_name(value);
  if (type == "numpy.bool" || type == "numpy.bool_") {
    int const truth = PyObject_IsTrue(value.ptr());
    if (truth >= 0) return truth == 1;
    PyErr_Clear();  // of something that only has the name
  }
  throw OperandError(std::string(name) + " is True or False, got " + shown(value));
}

std::int64_t bytes_argument(char const* name, py::handle value) {
  if (PyIndex_Check(value.ptr()) && !PyBool_Check(value.ptr())) {
    auto const number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!number && !PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
    PyErr_Clear();  // of an array that has more than one element
    int overflows = 0;
    auto const bytes = number ? PyLong_AsLongLongAndOverflow(number.ptr(), &overflows) : -1;
    if (overflows > 0) return std::numeric_limits<std::int64_t>::max();
    if (overflows == 0 && bytes >= 0) return bytes;
  }
  throw OperandError(std::string(name) + " is the most bytes that a product may take, an integer of at least 0, got " +
                     shown(value));
}

std::optional<std::uintptr_t> stream_argument(py::handle value) {
  if (value.is_none()) return std::nullopt;
  if (PyIndex_Check(value.ptr()) && !PyBool_Check(value.ptr())) return handle_argument(value);
  for (char const* name : {"cuda_stream", "ptr"}) {
    if (py::hasattr(value, name)) return handle_argument(value.attr(name));
  }
  if (py::hasattr(value, "__cuda_stream__")) {
    auto const pair = value.attr("__cuda_stream__")();
    if (py::isinstance<py::tuple>(pair) && py::len(pair) == 2) return handle_argument(py::tuple(pair)[1]);
  }
  refuse_stream(value);
}

namespace {

DeviceInfo gpu_of(py::handle value) {
  DeviceInfo device;
  auto const capability = value.attr("compute_capability").cast<std::pair<int, int>>();
  device.compute_capability = 10 * capability.first + capability.second;
  device.multiprocessors = value.attr("multiprocessors").cast<int>();
  device.memory_bytes = value.attr("memory_bytes").cast<std::int64_t>();
  device.shared_bytes_per_cta = value.attr("shared_bytes_per_cta").cast<int>();
  device.clock_mhz = value.attr("clock_mhz").cast<int>();
  device.memory_gb_per_s = value.attr("memory_gb_per_s").cast<int>();
  GpuProfile& profile = device.profile;
  profile.launch_us = value.attr("launch_us").cast<double>();
  profile.memory_efficiency = value.attr("memory_efficiency").cast<double>();
  profile.l2_bytes_per_cycle = value.attr("l2_bytes_per_cycle").cast<double>();
  profile.l2_bytes = value.attr("l2_bytes").cast<double>();
  device.copies_arrays = value.attr("copies_arrays").cast<bool>();
  return device;
}

DeviceInfo cpu_of(py::handle value) {
  DeviceInfo device;
  auto const isa = value.attr("isa").cast<std::string>();
  for (Isa const each : {Isa::baseline, Isa::avx2, Isa::avx512, Isa::avx512_vnni}) {
    if (isa == name_of(each)) device.isa = each;
  }
  device.multiprocessors = value.attr("threads").cast<int>();
  device.caches = {value.attr("l1_bytes").cast<std::int64_t>(), value.attr("l2_bytes").cast<std::int64_t>(),
                   value.attr("l3_bytes").cast<std::int64_t>()};
  for (auto const& [name, number] : value.attr("rates").cast<std::map<std::string, double>>()) {
    for (CpuRate const& rate : cpu_rates) {
      if (name == rate.name) device.cpu.*rate.value = number;
    }
  }
  return device;
}

}  // namespace

DeviceArgument device_argument(py::handle value) {
  auto const module = py::module_::import("cute_py.machine.devices");
  bool const is_cpu = py::isinstance(value, module.attr("Cpu"));
  if (!is_cpu && !py::isinstance(value, module.attr("Device"))) {
    throw OperandError("device is a name, such as 'cpu', 'emulator' and 'cuda:1', or a cute_py.Device or Cpu, got " +
                       shown(value));
  }
  if (!is_cpu) {
    py::object const ordinal = value.attr("ordinal");
    if (!ordinal.is_none()) return {ordinal.cast<int>(), nullptr};
  }
  auto device = std::make_shared<DeviceInfo>(is_cpu ? cpu_of(value) : gpu_of(value));
  device->name = value.attr("name").cast<std::string>();
  return {0, std::move(device)};
}

namespace {

// By Packs.
constexpr char const* kLetters[] = {"", "A", "B", "AB", "C", "AC", "BC", "ABC"};

}  // namespace

unsigned packs_of(std::string const& letters) {
  auto const* const found = std::find(std::begin(kLetters), std::end(kLetters), letters);
  if (found != std::end(kLetters)) return static_cast<unsigned>(found - std::begin(kLetters));
  throw OperandError("packed is some of the letters 'ABC', in their order, got '" + letters +
                     "'\n  next: packed='A', 'BC' or 'ABC'");
}

char const* letters_of(unsigned packs) { return kLetters[packs]; }

// What a candidate says of its schedule. None leaves a member to the kernel's family, as 0 does in a Schedule.
static Schedule schedule_of(py::handle candidate) {
  Schedule s = Schedule::open();
  s.split_k = candidate.attr("split_k").cast<std::int64_t>();
  if (py::object const cluster = candidate.attr("cluster"); !cluster.is_none()) {
    auto const [m, n, k] = cluster.cast<std::tuple<int, int, std::int64_t>>();
    s.cluster_m = m;
    s.cluster_n = n;
    s.cluster_k = k;
  }
  if (py::object const raster = candidate.attr("raster"); !raster.is_none()) s.raster = raster.cast<int>();
  return s;
}

Config config_argument(py::handle value) {
  try {
    Config config{value.attr("kernel").cast<std::string>(), value.attr("transposed").cast<bool>(), schedule_of(value),
                  packs_of(value.attr("packed").cast<std::string>())};
    if (config.schedule.split_k >= 1) return config;
  } catch (py::error_already_set const&) {
  } catch (py::cast_error const&) {
  }
  throw OperandError("config is one of the candidates of explain(), got " + shown(value) +
                     "\n  next: config=explanation.candidates[0]");
}

void require_epilogue(py::handle value) {
  if (py::isinstance(value, py::module_::import("cute_py.products.epilogue").attr("Epilogue"))) return;
  throw OperandError("epilogue is a cute_py.Epilogue or None, got " + type_name(value) +
                     "\n  next: epilogue=cute_py.Epilogue(activation='relu')");
}

EmulatorOptions emulator_argument(py::handle value) {
  EmulatorOptions result;
  if (value.is_none()) return result;
  if (!py::isinstance(value, py::module_::import("cute_py.products.emulator").attr("EmulatorOptions"))) {
    throw OperandError("emulator is a cute_py.EmulatorOptions or None, got " + shown(value) +
                       "\n  next: emulator=cute_py.EmulatorOptions(seed=1)");
  }
  auto const order = value.attr("order").cast<std::string>();
  result.order = order == "backward" ? ThreadOrder::backward
                 : order == "random" ? ThreadOrder::random
                                     : ThreadOrder::forward;
  result.seed = value.attr("seed").cast<std::uint64_t>();
  result.poison_shared_memory = value.attr("poison_shared_memory").cast<bool>();
  auto const [major, minor] = value.attr("compute_capability").cast<std::pair<int, int>>();
  result.architecture = 10 * major + minor;
  return result;
}

}  // namespace cute_py::bindings
