#include "bindings/numpy_arrays.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace cute_py::bindings {
namespace {

// The beginnings of PyArray_Descr and of PyArrayObject, which belong to NumPy's binary interface.
struct Descr {
  PyObject_HEAD PyTypeObject* scalar;
  char kind;
  char letter;
  char byte_order;
  char flags;
  int number;
};

struct Ndarray {
  PyObject_HEAD char* data;
  int rank;
  Py_ssize_t const* shape;
  Py_ssize_t const* strides;  // in bytes
  PyObject* base;
  Descr const* descr;
  int flags;
};

constexpr unsigned kWriteable = 0x400;
constexpr unsigned kWarnOnWrite = 1u << 31;  // what will be read-only in a later NumPy
constexpr int kNumbersOfNumpy = 24;          // of its own types

struct Numpy {
  PyTypeObject* ndarray = nullptr;  // kept, as types outlive the module
  std::int8_t type_of[kNumbersOfNumpy];
  std::vector<std::pair<int, DType>> learned;  // of other libraries
};

bool read(Numpy const& numpy, Ndarray const& x, NumpyArray& array) {
  Descr const& descr = *x.descr;
  if (x.rank > kMaxModes || descr.byte_order == '>') return false;
  if (0 <= descr.number && descr.number < kNumbersOfNumpy) {
    auto const type = numpy.type_of[descr.number];
    if (type < 0) return false;
    array.type = static_cast<DType>(type);
  } else {
    auto learned = numpy.learned.begin();
    while (learned != numpy.learned.end() && learned->first != descr.number) ++learned;
    if (learned == numpy.learned.end()) return false;
    array.type = learned->second;
  }
  int const log2_bytes = log2_bytes_of(array.type);  // a division takes as long as all the rest
  std::int64_t const part_of_element = bytes_of(array.type) - 1;
  array.data = x.data;
  array.rank = x.rank;
  for (int i = 0; i < x.rank; ++i) {
    if ((x.strides[i] & part_of_element) != 0) return false;
    array.shape[i] = x.shape[i];
    array.stride[i] = x.strides[i] >> log2_bytes;
  }
  auto const flags = static_cast<unsigned>(x.flags);
  array.read_only = (flags & kWriteable) == 0 || (flags & kWarnOnWrite) != 0;
  return true;
}

// Does an array of a known layout look as it should? If not, this NumPy has another binary interface.
bool is_as_expected(Numpy const& numpy) {
  auto const module = py::module_::import("numpy");
  py::object const whole = module.attr("zeros")(py::make_tuple(4, 5, 6), py::arg("dtype") = "float32");
  py::object const all = py::slice(0, 5, 1);
  for (bool const read_only : {false, true}) {
    py::object const x = whole[py::make_tuple(py::slice(1, 4, 2), all, py::slice(0, 6, 3))].attr("transpose")(2, 0, 1);
    if (read_only) x.attr("setflags")(py::arg("write") = false);
    auto const first = x.attr("__array_interface__")["data"][py::int_(0)].cast<std::uintptr_t>();
    NumpyArray array{};
    constexpr std::int64_t kShape[] = {2, 2, 5};
    constexpr std::int64_t kStride[] = {3, 60, 6};
    bool const same = read(numpy, *reinterpret_cast<Ndarray const*>(x.ptr()), array) && array.rank == 3 &&
                      array.type == DType::f32 && reinterpret_cast<std::uintptr_t>(array.data) == first &&
                      array.read_only == read_only && std::memcmp(array.shape, kShape, sizeof(kShape)) == 0 &&
                      std::memcmp(array.stride, kStride, sizeof(kStride)) == 0;
    if (!same) return false;
  }
  return true;
}

// cute_py imports NumPy before anybody gets here, so no other thread's Python runs while this is looked up.
Numpy& numpy() {
  static auto* const kept = [] {
    auto* const found = new Numpy;  // never destroyed: the interpreter may end before
    auto const module = py::module_::import("numpy");
    for (auto& type : found->type_of) type = -1;
    for (DTypeRow const& row : kDTypeTable) {
      if (!row.in_numpy) continue;
      auto const number = module.attr("dtype")(row.name).attr("num").cast<int>();
      if (0 <= number && number < kNumbersOfNumpy) found->type_of[number] = static_cast<std::int8_t>(row.type);
    }
    py::object ndarray = module.attr("ndarray");
    if (is_as_expected(*found)) found->ndarray = reinterpret_cast<PyTypeObject*>(ndarray.release().ptr());
    return found;
  }();
  return *kept;
}

}  // namespace

bool read_numpy_array(py::handle object, NumpyArray& array) {
  Numpy const& known = numpy();
  return Py_TYPE(object.ptr()) == known.ndarray && read(known, *reinterpret_cast<Ndarray const*>(object.ptr()), array);
}

void learn_numpy_type(py::handle object, DType type) {
  Numpy& known = numpy();
  if (Py_TYPE(object.ptr()) != known.ndarray) return;
  std::pair const row(object.attr("dtype").attr("num").cast<int>(), type);
  bool const is_new = std::find(known.learned.begin(), known.learned.end(), row) == known.learned.end();
  if (row.first >= kNumbersOfNumpy && is_new) known.learned.push_back(row);
}

}  // namespace cute_py::bindings
