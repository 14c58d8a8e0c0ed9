#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "problem/entry.hpp"
#include "problem/request.hpp"

// Arguments of Python calls as C++ values. Each function throws OperandError, naming the argument, for a value that is
// none.
namespace cute_py::bindings {

namespace py = pybind11;

// A str; its text lives as long as the object.
std::string_view text_argument(char const* name, py::handle value);

// The name of a kernel: a str, or the attribute `name` of a Kernel, which `name` keeps.
std::string_view kernel_argument(py::handle value, py::object& name);

// A str, or None for an empty text.
std::string_view optional_text_argument(char const* name, py::handle value);

// A number: of Python, of NumPy, or an array with one element and no gradient.
Scalar number_argument(char const* name, py::handle value, bool may_be_complex = true);

// True or False.
bool flag_argument(char const* name, py::handle value);

// A number of bytes: an integer of at least 0.
std::int64_t bytes_argument(char const* name, py::handle value);

// A cudaStream_t as an int, or a stream of CuPy, PyTorch or cuda.core; nothing for None.
std::optional<std::uintptr_t> stream_argument(py::handle value);

// cute_py.EmulatorOptions, or None for the default.
EmulatorOptions emulator_argument(py::handle value);

// A cute_py.Device or cute_py.Cpu: the number of a GPU, or a processor that nobody has.
struct DeviceArgument {
  int ordinal = 0;
  std::shared_ptr<DeviceInfo const> invented;
};
DeviceArgument device_argument(py::handle value);

// A cute_py.Candidate, or an object with its attributes.
Config config_argument(py::handle value);

// Packs of problem/decision.hpp, as Candidate.packed names them, and back.
// Throws OperandError for other letters.
unsigned packs_of(std::string const& letters);
char const* letters_of(unsigned packs);

// Throws unless value is a cute_py.Epilogue.
void require_epilogue(py::handle value);

// "torch.Tensor": the type of an object, for messages.
std::string type_name(py::handle object);

}  // namespace cute_py::bindings
