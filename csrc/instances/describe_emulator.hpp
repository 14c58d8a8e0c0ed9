#pragma once

#include "catalogue/reflect.hpp"
#include "problem/entry.hpp"

namespace cute_py::instances {

template <class Config>
inline constexpr Describe kDescribe = &catalogue::reflect_config<Config>;

}  // namespace cute_py::instances
