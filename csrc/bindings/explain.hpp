#pragma once

#include <pybind11/pybind11.h>

#include "execution/pipeline.hpp"

namespace cute_py::bindings {

// What an Explanation says, by the names of its attributes.
pybind11::dict facts_of(Request const& request, execution::Outline const& outline);

}  // namespace cute_py::bindings
