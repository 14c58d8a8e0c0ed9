#pragma once

#include <type_traits>

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
template <class Config, class = void>
inline constexpr Describe kDescribe = nullptr;

// Of a kernel that has tiles of both operands in shared memory.
template <class Config>
inline constexpr Describe kDescribe<Config, std::void_t<typename Config::SmemLayoutA, typename Config::SmemLayoutB> > =
    &catalogue::reflect_config<Config>;
#endif

}  // namespace cute_py::instances
