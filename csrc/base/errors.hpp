#pragma once

#include <stdexcept>

// One C++ exception for each Python exception of cute_py.errors that the core raises.
namespace cute_py {

struct OperandError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct UnsupportedProblemError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The message names the operation, its operands and, where a law is broken, a coordinate that shows it.
struct LayoutError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// A unit of kernels that cannot be loaded.
struct UnitError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace cute_py
