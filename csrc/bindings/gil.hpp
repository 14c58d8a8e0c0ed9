#pragma once

#include <pybind11/pybind11.h>

#include "problem/entry.hpp"

// The GIL, given up while a product is computed.
namespace cute_py::bindings {

// Threads that are in here with the GIL, and those that shall not come any more. CPython ends a daemon thread that is
// in Python when the interpreter ends, by unwinding its stack, through whatever C++ called that Python. So the
// interpreter's end waits for those that are here to leave, or to give up the GIL, and keeps others out.
class InPython {
 public:
  InPython() { enter(); }
  InPython(InPython const&) = delete;
  InPython& operator=(InPython const&) = delete;
  ~InPython() { leave(); }

  static void enter();
  static void leave() { --count_; }

  // Of a thread that the interpreter ends all the same: it must not be unwound any further.
  [[noreturn]] static void stay() noexcept;

  // Called in a process that was forked, by its only thread.
  static void forget_others() { count_ = 0; }

  // Called at exit, by the thread that ends the interpreter.
  static void end();

 private:
  inline static int count_ = 0;  // guarded by the GIL, as the others
  inline static bool ends_ = false;
  inline static unsigned long last_thread_ = 0;
};

// The GIL is given up for as long as this lives. A thread that comes back to an interpreter that has ended stays here:
// CPython would end it by a forced unwinding, which no destructor survives.
class GilReleased {
 public:
  GilReleased() {
    InPython::leave();
    state_ = PyEval_SaveThread();
  }
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
