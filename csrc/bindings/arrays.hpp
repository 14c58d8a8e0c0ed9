#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/dlpack.hpp"
#include "problem/view.hpp"

// Arrays of any library, through DLPack, as the operands of a product.
namespace cute_py::bindings {

namespace py = pybind11;

// An array as its library describes it, and what keeps the description true. Nothing is copied.
class Operand {
 public:
  // What is written has to be the array's own memory, no copy that its producer made to export it.
  enum class Use { read, written };

  // Imports `object`. `stream` is where the kernel will run, if that is decided; otherwise the library's current
  // stream. Throws OperandError, naming the operand, for anything that is no array in memory that we can reach.
  Operand(char const* name, py::handle object, std::optional<std::uintptr_t> stream, Use use = Use::read);
  Operand(Operand const&) = delete;
  Operand& operator=(Operand const&) = delete;
  ~Operand();

  View const& view() const { return view_; }

  // Of an operand on a GPU: the stream that its producer's work is ordered with, and whether the producer might reuse
  // the memory before a kernel on that stream is done with it. PyTorch and CuPy order their memory by streams.
  std::uintptr_t stream() const { return stream_; }
  bool must_wait() const { return must_wait_; }

  // Is it an array of NumPy itself, or of a library with the exchange interface whose results are its own arrays?
  enum class Library { numpy, exchange, other };
  Library library() const { return library_; }

 private:
  Operand() = default;  // complete for its destructor, whatever the import throws
  void look_at(dlpack::Tensor const& tensor);
  void look_at_exported(dlpack::Tensor tensor);
  bool is_flagged(PyObject* method) const;
  bool import_numpy();
  void import_view(dlpack::ExchangeApi const& api, std::optional<std::uintptr_t> stream);
  void import_capsule(std::optional<std::uintptr_t> stream);
  [[noreturn]] void refuse(std::string const& rule, std::string const& next) const;

  View view_;
  Use use_ = Use::read;
  py::object object_;
  py::object other_;  // the same memory as something that can be exported: NumPy's bfloat16 as uint16, a conjugated
                      // view without the conjugation
  bool must_wait_ = false;
  Library library_ = Library::other;
  std::uintptr_t stream_ = 0;

  // The producer's tensor, to be given back, unless the view is borrowed from the object itself.
  dlpack::ManagedTensor* managed_ = nullptr;
  dlpack::ManagedTensorVersioned* managed_versioned_ = nullptr;
};

}  // namespace cute_py::bindings
