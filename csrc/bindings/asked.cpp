#include "bindings/asked.hpp"

#include <string>

namespace cute_py::bindings {
namespace {

constexpr char const* kNames[] = {"",          "A",         "B",      "C",      "alpha",    "beta",
                                  "out",       "kernel",    "config", "device", "stream",   "emulator",
                                  "compute",   "out_dtype", "conj_a", "conj_b", "epilogue", "batch_invariant",
                                  "workspace", "order"};
static_assert(std::size(kNames) == kArgs);

// The names as Python's interned strings, which are mostly one object with the keyword of a call.
std::array<PyObject*, kArgs> const& interned_names() {
  static std::array<PyObject*, kArgs> const names = [] {
    std::array<PyObject*, kArgs> interned{};
    for (std::size_t i = 0; i < kArgs; ++i) interned[i] = PyUnicode_InternFromString(kNames[i]);
    return interned;
  }();
  return names;
}

std::string name_of(Signature const& signature, Arg arg) {
  return arg == Arg::what ? signature.what : kNames[static_cast<int>(arg)];
}

// The argument of a keyword; -1 if there is none of that name.
int find(Signature const& signature, PyObject* name) {
  auto const& names = interned_names();
  for (int i = 1; i < kArgs; ++i) {
    if (names[static_cast<std::size_t>(i)] == name) return i;
  }
  for (int i = 1; i < kArgs; ++i) {
    if (PyUnicode_Compare(names[static_cast<std::size_t>(i)], name) == 0) return i;
  }
  return PyUnicode_CompareWithASCIIString(name, signature.what.c_str()) == 0 ? 0 : -1;
}

PyObject* given_or_null(Arg arg, PyObject* value) {
  return value == Py_None && contains(kMayBeNone, arg) ? nullptr : value;
}

[[noreturn]] void refuse(Signature const& signature, std::string const& rule) {
  throw py::type_error(signature.function + "() " + rule);
}

}  // namespace

Asked read_arguments(Signature const& signature, PyObject* const* arguments, std::size_t count, PyObject* names) {
  Asked asked;
  auto const& positions = signature.positions;
  if (count > positions.size()) {
    refuse(signature, "takes up to " + std::to_string(positions.size()) + " positional arguments but " +
                          std::to_string(count) + " were given" +
                          (signature.function == "gemm" ? "; cute_py.algorithm.gemm is the one on tensors" : ""));
  }
  ArgSet given = 0;
  for (std::size_t i = 0; i < count; ++i) {
    given |= args(positions[i]);
    asked[positions[i]] = given_or_null(positions[i], arguments[i]);
  }
  auto const keywords = names != nullptr ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < keywords; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    int const found = find(signature, name);
    if (found < 0 || !contains(signature.takes, static_cast<Arg>(found))) {
      refuse(signature, "got an unexpected keyword argument '" + py::str(name).cast<std::string>() + "'");
    }
    auto const arg = static_cast<Arg>(found);
    if (contains(given, arg)) {
      refuse(signature, "got multiple values for argument '" + name_of(signature, arg) + "'");
    }
    given |= args(arg);
    asked[arg] = given_or_null(arg, arguments[count + static_cast<std::size_t>(i)]);
  }
  for (std::size_t i = 0; i < signature.required; ++i) {
    if (!contains(given, positions[i])) {
      refuse(signature, "missing required argument: '" + name_of(signature, positions[i]) + "'");
    }
  }
  return asked;
}

}  // namespace cute_py::bindings
