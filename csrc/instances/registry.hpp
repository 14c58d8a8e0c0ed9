#pragma once

#include <cstddef>

#include "problem/entry.hpp"

namespace cute_py::instances {

struct Registry {
  Entry const* const* first;
  std::size_t count;

  Entry const* const* begin() const { return first; }
  Entry const* const* end() const { return first + count; }
};

// Every variant of this build, each kernel's after those that it improves on: of two that fit, the later is preferred.
Registry registry();

}  // namespace cute_py::instances
