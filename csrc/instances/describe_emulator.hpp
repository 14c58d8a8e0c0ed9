#pragma once

#include "problem/entry.hpp"

#ifndef CUTE_PY_TRACING
#include "catalogue/reflect.hpp"
#endif

namespace cute_py::instances {

#ifdef CUTE_PY_TRACING
// The tracing build only runs kernels; what they are made of is known from the other one.
template <class Config>
inline constexpr Describe kDescribe = nullptr;
#else
template <class Config>
inline constexpr Describe kDescribe = &catalogue::reflect_config<Config>;
#endif

}  // namespace cute_py::instances
