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

// An address in shared memory by way of a shuffle, whose result no compiler finds again: it stays in a register. What is
// found from the CTA's number in its cluster waits for that number in every step of a loop.
template <class T>
CUTE_DEVICE T* kept_address(T* shared) {
  auto const address = static_cast<int>(__cvta_generic_to_shared(shared));
  return static_cast<T*>(__cvta_shared_to_generic(static_cast<unsigned>(__shfl_sync(0xffffffff, address, 0))));
}

}  // namespace cute_py::kernels
