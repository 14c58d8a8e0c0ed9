#pragma once

#include <pybind11/pybind11.h>

#include "problem/entry.hpp"

// The GIL, given up while a product is computed.
namespace cute_py::bindings {

// The GIL is given up for as long as this lives. A thread that comes back to an interpreter that has ended stays here:
// CPython would end it by a forced unwinding, which no destructor survives.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  GilReleased(GilReleased const&) = delete;
  GilReleased& operator=(GilReleased const&) = delete;
  ~GilReleased() { take(); }

  // Runs the handlers of signals that have come. True: one of them raised an exception, which is kept.
  bool signal_raised();

 private:
  void take() noexcept;

  PyThreadState* state_;
};

// Calls work(execution) without the GIL. A computation on the host that looks at its Interrupt ends early for a signal
// whose handler raises, such as Ctrl-C; the exception is that one.
template <class Work>
void without_gil(Execution execution, Work const& work) {
  try {
    GilReleased unlocked;
    Interrupt interrupt([](void* gil) { return static_cast<GilReleased*>(gil)->signal_raised(); }, &unlocked);
    execution.interrupt = &interrupt;
    work(static_cast<Execution const&>(execution));
  } catch (...) {
    if (PyErr_Occurred() != nullptr)
      throw pybind11::error_already_set();  // the handler's, whatever else failed with it
    throw;
  }
}

}  // namespace cute_py::bindings
