#pragma once

#include <memory>
#include <string>

#include "base/errors.hpp"
#include "problem/device.hpp"
#include "problem/entry.hpp"
#include "problem/request.hpp"

// Where a product runs.
namespace cute_py::execution {

struct Location {
  Target target;
  int ordinal = 0;      // of a GPU
  bool staged = false;  // host arrays on a GPU: copied in and out
  char const* why = "";
  std::shared_ptr<DeviceInfo const> device;
};

// No kernel has this name.
struct UnknownKernelError : OperandError {
  explicit UnknownKernelError(std::string const& name) : OperandError("no kernel is called " + name), kernel(name) {}

  std::string kernel;
};

// Arrays on a GPU: there. Host arrays: the CPU, unless the request names a GPU kernel or a device.
Location choose_location(Request const& request);

// The device that the emulator stands for: an H200, which takes every kernel.
std::shared_ptr<DeviceInfo const> emulated_device();

}  // namespace cute_py::execution
