#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>

#include "base/dlpack.hpp"
#include "base/dtype.hpp"
#include "problem/modes.hpp"

// Arrays of NumPy itself, read where NumPy keeps what it knows of them: a call of a small product has three of them,
// and the buffer protocol makes texts and tables of each.
namespace cute_py::bindings {

namespace py = pybind11;

struct NumpyArray {
  void* data;
  DType type;
  int rank;
  std::int64_t shape[kMaxModes];
  std::int64_t stride[kMaxModes];  // in elements
  bool read_only;
};

// False of anything but an ndarray, classes derived from it included, and of one that a NumpyArray cannot tell: of
// another type, of another byte order, with strides that are no whole elements.
bool read_numpy_array(py::handle object, NumpyArray& array);

// The type of this ndarray, one of another library's, is read as such from now on.
void learn_numpy_type(py::handle object, DType type);

}  // namespace cute_py::bindings
