#include "bindings/gil.hpp"

#include <cxxabi.h>
#include <unistd.h>

namespace cute_py::bindings {
namespace {

[[noreturn]] void wait_for_the_end() {
  for (;;) pause();
}

}  // namespace

void InPython::enter() {
  if (ends_ && PyThread_get_thread_ident() != last_thread_) {
    PyEval_SaveThread();
    wait_for_the_end();
  }
  ++count_;
}

void InPython::stay() noexcept { wait_for_the_end(); }

void InPython::end() {
  constexpr int kMostWaits = 1000;
  constexpr unsigned kMicroseconds = 1000;
  ends_ = true;
  last_thread_ = PyThread_get_thread_ident();
  for (int i = 0; i < kMostWaits && count_ > 0; ++i) {  // Python that we called may never come back
    PyThreadState* const state = PyEval_SaveThread();
    usleep(kMicroseconds);
    PyEval_RestoreThread(state);
  }
}

void GilReleased::take() noexcept {
  try {
    PyEval_RestoreThread(state_);
  } catch (abi::__forced_unwind&) {
    wait_for_the_end();
  }
  InPython::enter();
}

bool GilReleased::signal_raised() {
  take();
  pid_t const process = getpid();
  bool raised = PyErr_CheckSignals() != 0;
  if (!raised && getpid() != process) {
    PyErr_SetString(PyExc_RuntimeError,
                    "a handler of a signal forked the process while a product was computed, whose threads the child "
                    "does not have\n  next: fork outside of the handler");
    raised = true;
  }
  InPython::leave();
  state_ = PyEval_SaveThread();
  return raised;
}

}  // namespace cute_py::bindings
