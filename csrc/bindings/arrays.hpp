#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string>

#include "bindings/dlpack.hpp"
#include "problem/problem.hpp"

// Arrays of any library, through DLPack, as the operands of a product.
namespace cute_py::bindings {

namespace py = pybind11;

// An operand as its library describes it. Nothing is copied; the caller's object outlives it.
class Operand {
 public:
  // Imports `object`. `stream` is where the kernel will run, if that is decided; otherwise the library's current
  // stream. Throws OperandError, naming the operand, for anything that is no array in memory that we can reach.
  static Operand import(char const* name, py::handle object, std::optional<std::uintptr_t> stream);

  Operand(Operand&& other) noexcept;
  Operand& operator=(Operand&&) = delete;
  ~Operand();

  char const* name() const { return name_; }
  bool on_host() const { return device_.type == dlpack::kCpu || device_.type == dlpack::kCudaHost; }
  bool on_cuda() const { return device_.type == dlpack::kCuda || device_.type == dlpack::kCudaManaged; }
  int device_id() const { return device_.id; }
  int rank() const { return rank_; }
  std::optional<DType> type() const;  // none of a type that no product takes
  bool read_only() const { return read_only_; }

  // Is it a view that PyTorch conjugates when it is read? The memory that this describes is not conjugated.
  bool conjugated() const { return conjugated_; }

  // Of an operand on a GPU: the stream that its producer's work is ordered with, and whether the producer might reuse
  // the memory before a kernel on that stream is done with it. PyTorch and CuPy order their memory by streams.
  std::uintptr_t stream() const { return stream_; }
  bool must_wait() const { return must_wait_; }

  std::int64_t extent(int mode) const { return shape_[mode]; }
  std::int64_t stride(int mode) const { return stride_[mode]; }
  void* data() const { return data_; }
  std::int64_t const* shape() const { return shape_; }
  std::int64_t const* strides() const { return stride_; }

  // "A float32 (128,64):(64,1) cpu"
  std::string describe() const;

 private:
  Operand() = default;
  Operand(Operand const&) = default;
  void view(dlpack::Tensor const& tensor);
  void view_exported(dlpack::Tensor tensor);
  bool is_flagged(PyObject* method) const;
  bool import_buffer();
  void import_view(dlpack::ExchangeApi const& api, std::optional<std::uintptr_t> stream);
  void import_capsule(std::optional<std::uintptr_t> stream);
  [[noreturn]] void refuse(std::string const& rule, std::string const& next) const;

  char const* name_ = "";
  py::handle object_;
  py::object view_;  // the same memory as something that can be exported: NumPy's bfloat16 as uint16, a conjugated view
                     // without the conjugation
  dlpack::Device device_{};
  dlpack::DataType dtype_{};
  int rank_ = 0;
  std::int64_t shape_[kMaxModes];
  std::int64_t stride_[kMaxModes];
  void* data_ = nullptr;
  bool read_only_ = false;
  bool must_wait_ = false;
  bool conjugated_ = false;
  std::uintptr_t stream_ = 0;

  // NumPy's view of its own array, to be released; without an object if there is none.
  Py_buffer buffer_{};

  // The producer's tensor, to be given back, unless the view is borrowed from the object itself.
  dlpack::ManagedTensor* managed_ = nullptr;
  dlpack::ManagedTensorVersioned* managed_versioned_ = nullptr;
};

// "(128,64):(64,1)"
std::string layout_text(int rank, std::int64_t const* shape, std::int64_t const* stride);

}  // namespace cute_py::bindings
