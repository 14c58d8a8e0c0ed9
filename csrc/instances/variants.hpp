#pragma once

#include "problem/entry.hpp"

namespace cute_py::instances {

// The GPU variants of a default build as data, for the target cuda and without code: every build can plan by them.
// `tests/tables.py` writes the table from the headers.
struct Variants {
  Entry const* first;
  Entry const* last;

  Entry const* begin() const { return first; }
  Entry const* end() const { return last; }
};
Variants gpu_variants();

}  // namespace cute_py::instances
