#pragma once

// The part of CUDA C++ that a kernel's source uses, for a host compiler. Included before any kernel.

#include <cute/tensor.hpp>

#include "emulator/cta.hpp"
#include "emulator/warp.hpp"

#undef __global__
#undef __shared__
#undef __launch_bounds__
#undef __align__
#define __global__
#define __shared__ __thread  // not thread_local: that allows for a constructor, and every access would ask for it
#define __launch_bounds__(...)
#define __align__(n)  // the definition in cta.cpp has the alignment

#define threadIdx (::cute_py::emulator::thread_index())
#define blockIdx (::cute_py::emulator::block_index())

inline void __syncthreads() { cute_py::emulator::barrier(); }
