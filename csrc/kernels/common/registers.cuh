#pragma once

#include <cute/tensor.hpp>

namespace cute_py::kernels {

// A number that the compiler does not know to be the same as before: what follows from it, it would find early, and keep in
// memory, for want of registers.
template <class T>
CUTE_DEVICE T known_for_now(T number) {
  asm volatile("" : "+r"(number));
  return number;
}

// The thread's number, for a tile.
CUTE_DEVICE int thread_for_now() { return known_for_now(static_cast<int>(threadIdx.x)); }

}  // namespace cute_py::kernels
