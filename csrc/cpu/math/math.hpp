#pragma once

#include <cstdint>

#include "base/activation.hpp"

namespace cute_py::cpu {

// Functions of vectors: math.inl.
template <class T>
struct MathKernel {
  // x = activation(x), and true; false if there is no such loop for T (gelu of double). Of float32 the relative error
  // of exp is below 2e-7 and that of 1 - erf below 5e-7.
  bool (*activate)(Activation activation, std::int64_t count, T* x);
};

}  // namespace cute_py::cpu
