#include "problem/errors.hpp"

#include <pybind11/pybind11.h>

#include "bindings/errors.hpp"
#include "emulator/cta.hpp"

namespace cute_py::bindings {
namespace {

namespace py = pybind11;

void raise(char const* name, std::exception const& error) {
  py::object const type = py::module_::import("cute_py.errors").attr(name);
  PyErr_SetString(type.ptr(), error.what());
}

}  // namespace

void register_errors() {
  py::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      std::rethrow_exception(pointer);
    } catch (OperandError const& error) {
      raise("OperandError", error);
    } catch (UnsupportedProblemError const& error) {
      raise("UnsupportedProblemError", error);
    } catch (LayoutError const& error) {
      raise("LayoutError", error);
    } catch (CudaError const& error) {
      raise("CudaError", error);
    } catch (emulator::KernelError const& error) {
      raise("CuteError", error);
    }
  });
}

}  // namespace cute_py::bindings
