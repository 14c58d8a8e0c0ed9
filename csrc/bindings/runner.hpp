#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "bindings/location.hpp"
#include "dispatch/program.hpp"
#include "problem/entry.hpp"

// The steps of a program, run.
namespace cute_py::bindings {

// Where the arrays of a problem are, by dispatch::Source; the workspace and the numbers one are left out.
std::array<void*, dispatch::kSources> pointers_of(Problem const& problem);

// Runs the steps in order, without the GIL. On a GPU, whose device is current, it returns after the last launch.
// Without a workspace, one is made for the call.
void run_program(dispatch::Program const& program, std::array<void*, dispatch::kSources> base, Location const& location,
                 Execution const& execution, void* workspace = nullptr);

}  // namespace cute_py::bindings
