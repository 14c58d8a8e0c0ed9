#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

// The arguments of a call from Python, by name.
namespace cute_py::bindings {

namespace py = pybind11;

// In the order in which a function takes them by position: the first of them what is asked for, such as subscripts.
enum class Arg {
  what,
  a,
  b,
  c,
  alpha,
  beta,
  out,
  kernel,
  config,
  device,
  stream,
  emulator,
  compute,
  out_dtype,
  conj_a,
  conj_b,
  epilogue,
  batch_invariant,
  workspace,
  order,
};
inline constexpr int kArgs = 20;

// A set of them, one bit for each.
using ArgSet = unsigned;

constexpr ArgSet args(Arg arg) { return 1u << static_cast<int>(arg); }
template <class... More>
constexpr ArgSet args(Arg arg, More... more) {
  return args(arg) | args(more...);
}
constexpr bool contains(ArgSet set, Arg arg) { return (set >> static_cast<int>(arg) & 1u) != 0; }

// Of these, None is the same as nothing.
inline constexpr ArgSet kMayBeNone = args(Arg::c, Arg::out, Arg::config, Arg::device, Arg::stream, Arg::emulator,
                                          Arg::compute, Arg::out_dtype, Arg::epilogue, Arg::workspace);

// Borrowed from the caller; null for what was left out.
struct Asked {
  std::array<PyObject*, kArgs> value{};

  PyObject*& operator[](Arg arg) { return value[static_cast<std::size_t>(arg)]; }
  PyObject* operator[](Arg arg) const { return value[static_cast<std::size_t>(arg)]; }
};

// What a function takes, and how.
struct Signature {
  std::string function;        // for messages
  std::string what;            // the name of Arg::what
  ArgSet takes = 0;            // by name
  std::vector<Arg> positions;  // by position, too
  std::size_t required = 0;    // how many of them have no default
};

// Reads the arguments of a vectorcall. Throws TypeError as a Python function does.
Asked read_arguments(Signature const& signature, PyObject* const* arguments, std::size_t count, PyObject* names);

}  // namespace cute_py::bindings
