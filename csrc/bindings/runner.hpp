#pragma once

#include <array>

#include "bindings/gil.hpp"
#include "bindings/location.hpp"
#include "dispatch/program.hpp"
#include "problem/entry.hpp"

// The steps of a program, run.
namespace cute_py::bindings {

// Where the arrays of a problem are, by dispatch::Source; the workspace and the numbers one are left out.
std::array<void*, dispatch::kSources> pointers_of(Problem const& problem);

// Runs the steps in order. On a GPU, whose device is current, it returns after the last launch. Without a workspace,
// one is made for the call, on its stream. Touches nothing of Python.
void run_program(dispatch::Program const& program, std::array<void*, dispatch::kSources> base, Location const& location,
                 Execution const& execution, void* workspace = nullptr);

// Does now what the first run of a program would do once for all on its device, which is current.
void prepare(dispatch::Program const& program, Location const& location);

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
