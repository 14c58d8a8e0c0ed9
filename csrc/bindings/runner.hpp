#pragma once

#include <array>
#include <mutex>

#include "bindings/location.hpp"
#include "dispatch/program.hpp"
#include "problem/entry.hpp"

// The steps of a program, run.
namespace cute_py::bindings {

// Where the arrays of a problem are, by dispatch::Source; the workspace and the numbers one are left out.
std::array<void*, dispatch::kSources> pointers_of(Problem const& problem);

// A workspace that is kept from call to call. Calls that share it run one after the other: their launches do not mix.
struct KeptWorkspace {
  void* data;
  std::mutex* in_use;
};

// Runs the steps in order, without the GIL. On a GPU, whose device is current, it returns after the last launch.
// Without a workspace, one is made for the call.
void run_program(dispatch::Program const& program, std::array<void*, dispatch::kSources> base, Location const& location,
                 Execution const& execution, KeptWorkspace const& workspace = {nullptr, nullptr});

// Does now what the first run of a program would do once for all on its device, which is current.
void prepare(dispatch::Program const& program, Location const& location);

}  // namespace cute_py::bindings
