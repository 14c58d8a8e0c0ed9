#pragma once

#include <cute/tensor.hpp>

// Programmatic dependent launch (PDL), of code that is also compiled for GPUs before compute capability 9.0, where a kernel
// begins when the one before it has ended.
namespace cute_py::kernels {

// The next kernel may begin, up to its own wait.
CUTE_DEVICE void launch_dependents() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// Until the kernel before this one has ended, and what it wrote is visible.
CUTE_DEVICE void wait_for_previous() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

}  // namespace cute_py::kernels
