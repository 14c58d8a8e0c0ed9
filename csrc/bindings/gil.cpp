#include "bindings/gil.hpp"

#include <cxxabi.h>
#include <unistd.h>

namespace cute_py::bindings {

void GilReleased::take() noexcept {
  try {
    PyEval_RestoreThread(state_);
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
}

bool GilReleased::signal_raised() {
  take();
  bool const raised = PyErr_CheckSignals() != 0;
  state_ = PyEval_SaveThread();
  return raised;
}

}  // namespace cute_py::bindings
