#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/asked.hpp"
#include "bindings/split.hpp"
#include "execution/pipeline.hpp"

// A call from Python as a Request, and its result as an object of Python.
namespace cute_py::bindings {

// A function that multiplies.
struct Definition {
  Function function;
  Signature signature;
  std::string kernel = "auto";  // unless the caller names one
  py::object labels_of;  // (what, A, B) -> (name for messages, (letters of A, of B, of the result)); null: see function
  bool copies = false;   // there is no B
  bool takes_numbers = false;    // in the place of A and of B
  bool returns_numbers = false;  // a new result of NumPy without modes is a scalar
};

// What Python does for a call.
struct Hooks {
  py::object empty_result;     // (like, shape, order of its modes from the slowest or None, dtype) -> array
  py::object as_result;        // (like, array) -> array of the library of `like`
  py::object as_number;        // (array of no modes) -> a scalar of NumPy, if it is one of its arrays
  py::object with_numbers;     // (function, (A, B)) -> [A, B], arrays
  py::object is_number;        // the types of numbers
  py::object type_name;        // (argument, a type in the words of any library) -> its name
  py::object explanation;      // (name, facts) -> Explanation
  py::object way_to_an_array;  // (argument, what is no array) -> the next step of an error
};
Hooks& hooks();

// What products of float32 are computed in where a call says nothing: "" or the name of a way. For all threads.
std::string_view float32_compute();
void set_float32_compute(std::string const& compute);

// The options of a call that are no arrays, read once.
struct Options {
  explicit Options(Definition const& definition, Asked const& asked);

  void apply(Request& request) const;

  Scalar alpha{1.0};
  Scalar beta{0.0};
  py::object kernel_name;  // of a kernel that was given as an object
  std::string_view kernel;
  std::optional<Config> config;
  std::string device;
  std::shared_ptr<DeviceInfo const> invented;
  std::string compute;
  std::string out_dtype;
  bool conj_a = false;
  bool conj_b = false;
  bool batch_invariant = false;
  bool any_order = false;
  std::int64_t workspace_limit = kNoLimit;
  double scale = 1;
  Activation activation = Activation::none;
  bool saturate = false;
  EmulatorOptions emulator;
};

// The arrays of a call, imported, with all that was asked of them. Refers to the Definition and to the Asked.
class Call {
 public:
  Call(Definition const& definition, Asked const& asked, Options const& options);
  Call(Call const&) = delete;
  Call& operator=(Call const&) = delete;

  Request const& request() const { return request_; }

  // What the call runs: found, or made now. Afterwards the request's labels are known.
  std::shared_ptr<execution::Prepared const> const& prepare();

  // What it would run.
  execution::Outline outline();

  // Makes an array for the result if none was given. True: it is laid out as it was prepared for.
  bool make_result(execution::Prepared const& prepared);

  // Computes, and returns the result.
  py::object run(execution::Prepared const& prepared, py::handle workspace = py::handle());

 private:
  void import_arrays();
  void take_split_factors();
  void resolve();
  Operand const* workspace_of(execution::Prepared const& prepared, py::handle given);

  Definition const& definition_;
  Options const& options_;
  Asked asked_;
  HeldSplit const* split_[2] = {nullptr, nullptr};  // A, and B, if they are prepared operands
  py::object numbers_[2];                           // arrays in the place of numbers
  py::object of_epilogue_[2];  // its bias and residual: attributes may be made when they are asked for
  Function function_;          // with labels that were looked up
  std::shared_ptr<execution::Prepared const> prepared_;
  std::string what_;
  std::optional<std::uintptr_t> stream_;
  std::optional<Operand> a_;
  std::optional<Operand> b_;
  std::optional<Operand> c_;
  std::optional<Operand> out_;
  std::optional<Operand> bias_;
  std::optional<Operand> residual_;
  std::optional<Operand> workspace_;
  py::object result_;
  bool is_new_ = false;
  bool resolved_ = false;
  Request request_;
};

}  // namespace cute_py::bindings
