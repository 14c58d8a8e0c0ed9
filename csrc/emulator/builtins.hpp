#pragma once

// The part of CUDA C++ that a kernel's source uses, for a host compiler. Included before any kernel.

#include <cstring>

#include <cute/tensor.hpp>

#include "emulator/cta.hpp"
#include "emulator/warp.hpp"
#include "emulator/warpgroup.hpp"

#undef __global__
#undef __shared__
#undef __launch_bounds__
#undef __align__
#define __global__
#define __shared__
#define __launch_bounds__(...)
#define __align__(n)

// A kernel declares `extern __shared__ unsigned char shared_memory[]`. It becomes a function that returns where the
// array of the CTA is.
#define shared_memory (*shared_memory_of_cta())

#define threadIdx (::cute_py::emulator::thread_index())
#define blockIdx (::cute_py::emulator::block_index())
#define gridDim (::cute_py::emulator::grid_size())

template <class T>
T __ldg(T const* at) {
  return *at;
}
inline void __syncthreads() { cute_py::emulator::barrier(); }
inline void __syncwarp() { cute_py::emulator::warp_barrier(); }
// As CUDA has it for numbers of 4 and of 8 bytes: others do not compile here.
inline int __shfl_sync(unsigned, int value, int lane) {
  return static_cast<int>(cute_py::emulator::shuffle(static_cast<std::uint32_t>(value), lane));
}
inline unsigned __shfl_sync(unsigned, unsigned value, int lane) { return cute_py::emulator::shuffle(value, lane); }
inline double __shfl_sync(unsigned, double value, int lane) {
  std::uint32_t halves[2];
  std::memcpy(halves, &value, sizeof(value));
  for (std::uint32_t& half : halves) half = cute_py::emulator::shuffle(half, lane);
  std::memcpy(&value, halves, sizeof(value));
  return value;
}
template <class T>
T __shfl_sync(unsigned, T value, int lane) = delete;
inline std::size_t __cvta_generic_to_shared(void const* at) { return cute_py::emulator::address_in_shared(at); }
inline void* __cvta_shared_to_generic(std::size_t address) {
  return cute_py::emulator::shared_memory_at(static_cast<std::uint32_t>(address));
}
template <class T>
T* __cluster_map_shared_rank(T* at, int rank) {
  return static_cast<T*>(cute_py::emulator::shared_memory_of(rank, at));
}
// Kernels run one after the other.
inline void cudaTriggerProgrammaticLaunchCompletion() {}
inline void cudaGridDependencySynchronize() {}
inline void __threadfence() { cute_py::emulator::fence(); }
inline void __threadfence_block() {}  // each thread sees at once what the others wrote
inline unsigned long long atomicAdd(unsigned long long* counter, unsigned long long by) {
  return cute_py::emulator::count_up(counter, by);
}
inline unsigned long long atomicCAS(unsigned long long* at, unsigned long long expected, unsigned long long to) {
  return cute_py::emulator::exchange_if(at, expected, to);
}
