#pragma once

#include <atomic>

#include "instances/arguments.hpp"

namespace cute_py::instances {
// The linker must not take one target's templates for those of the same name and types of the other.
inline namespace on_cuda {

inline constexpr Target kTarget = Target::cuda;

// A CTA may have this much dynamic shared memory without asking first.
inline constexpr int kDefaultSharedBytes = 48 * 1024;

// Starts one CTA per tile of C on the stream and returns. Returns a cudaError_t.
template <class Config, auto kernel>
int launch(char const*, Problem const& problem, Execution const& execution) {
  constexpr int shared_bytes = sizeof(typename Config::SharedStorage);
  if constexpr (shared_bytes > kDefaultSharedBytes) {
    static std::atomic<unsigned long long> asked{0};  // one bit per device
    int device = 0;
    if (auto const error = cudaGetDevice(&device); error != cudaSuccess) return error;
    auto const bit = 1ull << (device & 63);
    if ((asked.load() & bit) == 0) {
      auto const error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
      if (error != cudaSuccess) return error;
      asked |= bit;
    }
  }
  cudaError_t failed = cudaSuccess;
  for_each_grid<Config>(problem, [&](Grid const& grid, std::uint32_t first_product) {
    if (failed != cudaSuccess) return;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(grid.m, grid.n, grid.l);
    config.blockDim = dim3(Config::threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = static_cast<cudaStream_t>(execution.stream);
    KernelArguments<Config> const x(problem, first_product);
    failed = cudaLaunchKernelEx(&config, kernel, x.shape, x.a, x.stride_a, x.b, x.stride_b, x.d, x.stride_d, x.epilogue,
                                x.batch);
  });
  if (failed != cudaSuccess) cudaGetLastError();  // ours, told of here, and of no interest to the next who asks
  return failed;
}

// Registers of a thread on the current GPU, 0 if there is none to ask.
template <class Config, auto kernel>
int registers_of() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess ? attributes.numRegs : 0;
}

}  // namespace on_cuda
}  // namespace cute_py::instances
