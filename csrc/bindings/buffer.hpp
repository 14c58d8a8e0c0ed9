#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.hpp"

namespace cute_py::bindings {

namespace py = pybind11;

// An array in GPU memory of our own, exported through DLPack: what becomes a result for a library that has no
// way to give us memory to write to.
class Buffer {
 public:
  Buffer(int device, std::vector<std::int64_t> shape, std::vector<int> const& order, std::string const& type);
  ~Buffer();
  Buffer(Buffer const&) = delete;
  Buffer& operator=(Buffer const&) = delete;

  void* data() const { return data_; }
  std::pair<int, int> device() const;

  // The memory is shared; the capsule keeps `self` alive. A Buffer is only handed out once its contents are complete,
  // so there is no stream to wait for.
  static py::capsule export_capsule(py::object self, py::object max_version);

 private:
  int device_;
  DType type_;
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> stride_;
  void* data_ = nullptr;
};

void register_buffer(py::module_& module);

}  // namespace cute_py::bindings
