#pragma once

#include <pybind11/pybind11.h>

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

}  // namespace cute_py::bindings
