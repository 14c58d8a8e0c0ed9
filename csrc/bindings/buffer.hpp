#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace cute_py::bindings {

namespace py = pybind11;

// A float32 matrix in GPU memory of our own, exported through DLPack: what becomes a result for a library that has no
// way to give us memory to write to.
class Buffer {
 public:
  Buffer(int device, std::int64_t rows, std::int64_t columns, bool row_major);
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
  std::int64_t shape_[2];
  std::int64_t stride_[2];
  void* data_ = nullptr;
};

void register_buffer(py::module_& module);

}  // namespace cute_py::bindings
