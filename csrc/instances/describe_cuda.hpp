#pragma once

#include "problem/entry.hpp"

namespace cute_py::instances {

template <class Config>
inline constexpr Describe kDescribe = nullptr;

}  // namespace cute_py::instances
