#pragma once

#include <utility>
#include <vector>

#include "layout/layout.hpp"

namespace cute_py::layout {

// One step of an operation: its kind, and operands and results by name.
struct Step {
  char const* kind;
  std::vector<std::pair<char const*, Tiler>> values;
};

// What an operation did, in its order. Operations that take a pointer to one note their steps in it as they go, also
// where they then throw.
using Record = std::vector<Step>;

inline Tiler one_mode(Integer const& shape, Integer const& stride) {
  return Tiler::of(Layout::trusted(IntTuple(shape), IntTuple(stride)));
}

}  // namespace cute_py::layout
