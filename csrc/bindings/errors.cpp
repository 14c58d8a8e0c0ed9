#include "base/errors.hpp"

#include <pybind11/pybind11.h>

#include <new>

#include "bindings/errors.hpp"
#include "emulator/cta.hpp"
#include "execution/location.hpp"

namespace cute_py::bindings {
namespace {

namespace py = pybind11;

void raise(char const* name, std::exception const& error) {
  py::object const type = py::module_::import("cute_py.errors").attr(name);
  PyErr_SetString(type.ptr(), error.what());
}

// Sets the error of an exception of this project; others go on.
void translate(std::exception_ptr const& pointer) {
  try {
    std::rethrow_exception(pointer);
  } catch (execution::UnknownKernelError const& error) {
    py::module_::import("cute_py.catalogue.kernels").attr("raise_unknown_kernel")(error.kernel);
  } catch (OperandError const& error) {
    raise("OperandError", error);
  } catch (UnsupportedProblemError const& error) {
    raise("UnsupportedProblemError", error);
  } catch (LayoutError const& error) {
    raise("LayoutError", error);
  } catch (UnitError const& error) {
    raise("UnitError", error);
  } catch (CudaError const& error) {
    raise("CudaError", error);
  } catch (emulator::KernelError const& error) {
    raise("CuteError", error);
  }
}

}  // namespace

void register_errors() {
  py::register_local_exception_translator([](std::exception_ptr pointer) { translate(pointer); });
}

void set_python_error() noexcept {
  try {
    translate(std::current_exception());
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (py::builtin_exception const& error) {
    error.set_error();
  } catch (std::bad_alloc const&) {
    PyErr_NoMemory();
  } catch (std::exception const& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "an exception of an unknown kind");
  }
}

}  // namespace cute_py::bindings
