#pragma once

#include <cute/tensor.hpp>

namespace cute_py::kernels {

// A copy of a number that the compiler cannot prove equal to it. Otherwise it would compute values derived from it early,
// and spill them.
template <class T>
CUTE_DEVICE T known_for_now(T number) {
  asm volatile("" : "+r"(number));
  return number;
}

// The thread's number, for a tile.
CUTE_DEVICE int thread_for_now() { return known_for_now(static_cast<int>(threadIdx.x)); }

// An address in shared memory by way of a shuffle, which no compiler computes again, so that it stays in a register. An
// address derived from the CTA's rank in its cluster would wait for that rank in each step of a loop.
template <class T>
CUTE_DEVICE T* kept_address(T* shared) {
  auto const address = static_cast<int>(__cvta_generic_to_shared(shared));
  return static_cast<T*>(__cvta_shared_to_generic(static_cast<unsigned>(__shfl_sync(0xffffffff, address, 0))));
}

}  // namespace cute_py::kernels
