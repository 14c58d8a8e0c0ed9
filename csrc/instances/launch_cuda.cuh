#pragma once

#include <atomic>
#include <memory>

#include "instances/add.hpp"
#include "instances/tensor_map.hpp"

namespace cute_py::instances {
// The linker must not take one target's templates for those of the same name and types of the other.
inline namespace on_cuda {

// The dynamic shared memory that a CTA may have without an attribute of the kernel.
inline constexpr int kDefaultSharedBytes = 48 * 1024;

// A kernel whose arguments are complete but for arrays and numbers.
template <class Config, class Params, auto kernel>
class CudaLaunch final : public Launch {
 public:
  CudaLaunch(Geometry const& geometry, Schedule const& schedule) : params_(geometry, schedule) {
    if constexpr (kernels::kHasTensors<Params>) {
      // An address is given with every call; until then any will do.
      params_.for_each_tensor([](TensorMap& map, TensorBox const& box, Role) {
        map = encode(box, reinterpret_cast<void*>(std::uintptr_t{1} << 16));
      });
    }
  }

  // Occupancy: clusters that run at a time; 0 if unknown.
  static int clusters(int ctas) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(ctas), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(ctas));
    config.blockDim = dim3(Config::threads);
    config.dynamicSmemBytes = kSharedBytes;
    config.attrs = &attribute;
    config.numAttrs = 1;
    int count = 0;
    auto error = ask_for_shared_memory();
    if (error == cudaSuccess) error = cudaOccupancyMaxActiveClusters(&count, kernel, &config);
    if (error != cudaSuccess) cudaGetLastError();
    return error == cudaSuccess ? count : 0;
  }

  int run(Arguments const& given, Execution const& execution) const override {
    if (auto const error = ask_for_shared_memory(); error != cudaSuccess) return error;
    Params params = params_;
    params.bind(given);
    if constexpr (kernels::kHasTensors<Params>) {
      params.for_each_tensor([&](TensorMap& map, TensorBox const&, Role role) {
        if (given.data[role] != nullptr) point(map, given.data[role]);
      });
    }
    if constexpr (kernels::kIsPass<Config>) {
      if (!has_code_for_sm90()) params.forgo_clusters();
    }
    cudaError_t failed = cudaSuccess;
    auto const launch = [&](kernels::Grid const& grid) {
      if (failed != cudaSuccess) return;
      cudaLaunchConfig_t config{};
      config.gridDim = dim3(grid.m, grid.n, grid.l);
      config.blockDim = dim3(Config::threads);
      config.dynamicSmemBytes = kSharedBytes;
      config.stream = static_cast<cudaStream_t>(execution.stream);
      cudaLaunchAttribute attributes[2]{};
      if constexpr (kernels::kHasTensors<Params>) {
        attributes[0].id = cudaLaunchAttributeClusterDimension;
        attributes[0].val.clusterDim = {params.cluster(), 1, 1};
        attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[1].val.programmaticStreamSerializationAllowed = 1;
        config.attrs = attributes;
        config.numAttrs = 2;
      }
      if constexpr (kernels::kCopies<Config>) {
        if (given.overlaps_previous && has_code_for_sm90()) {
          attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
          attributes[0].val.programmaticStreamSerializationAllowed = 1;
          config.attrs = attributes;
          config.numAttrs = 1;
        }
      }
      if constexpr (kernels::kIsPass<Config>) {
        if (has_code_for_sm90()) {
          attributes[0].id = cudaLaunchAttributeClusterDimension;
          attributes[0].val.clusterDim = {params.cluster(), 1, 1};
          attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;  // it waits for the kernel before it, itself
          attributes[1].val.programmaticStreamSerializationAllowed = 1;
          config.attrs = attributes;
          config.numAttrs = 2;
        }
      }
      failed = params.apply([&](auto const&... x) { return cudaLaunchKernelEx(&config, kernel, x...); });
    };
    if constexpr (kernels::kHasTensors<Params>) {
      params.for_each_grid(multiprocessors(), launch);
    } else {
      params.for_each_grid(launch);
    }
    if (failed != cudaSuccess) cudaGetLastError();  // clears the error, which is returned
    return failed;
  }

 private:
  static constexpr int kSharedBytes = sizeof(typename Config::SharedStorage);
  static constexpr int kDevices = 64;

  // Does the current device run code that was compiled for compute capability 9.0 or later? It has griddepcontrol (PDL) and
  // clusters.
  static bool has_code_for_sm90() {
    static std::atomic<signed char> known[kDevices];  // 0: not asked yet, 1: it can, -1: it cannot
    int device = 0;
    cudaGetDevice(&device);
    auto& can = known[device % kDevices];
    if (can.load() == 0) {
      cudaFuncAttributes attributes{};
      auto const error = cudaFuncGetAttributes(&attributes, kernel);
      can = error == cudaSuccess && attributes.ptxVersion >= 90 ? 1 : -1;
    }
    return can.load() > 0;
  }

  // Once for each device.
  static cudaError_t ask_for_shared_memory() {
    if constexpr (kSharedBytes > kDefaultSharedBytes) {
      static std::atomic<unsigned long long> asked{0};  // one bit per device
      int device = 0;
      if (auto const error = cudaGetDevice(&device); error != cudaSuccess) return error;
      auto const bit = 1ull << (device % kDevices);
      if ((asked.load() & bit) == 0) {
        auto const error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
        if (error != cudaSuccess) return error;
        asked |= bit;
      }
    }
    return cudaSuccess;
  }

  // Of the current device.
  static int multiprocessors() {
    static std::atomic<int> known[kDevices];  // 0: not asked yet
    int device = 0;
    cudaGetDevice(&device);
    int count = known[device % kDevices].load();
    if (count == 0) {
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
      known[device % kDevices] = count;
    }
    return count;
  }

  Params params_;
};

struct Cuda {
  static constexpr Target target = Target::cuda;

  // Of a kernel the emulator's entry has the layouts.
  template <class Config>
  static constexpr Describe describe = nullptr;

  template <class Family, class Config>
  static std::unique_ptr<Launch> prepare(char const*, Geometry const& geometry, Schedule const& schedule) {
    using Params = typename Family::template Params<Config>;
    return std::make_unique<CudaLaunch<Config, Params, Family::template program<Config>>>(geometry, schedule);
  }

  // Registers of a thread on the current GPU, 0 if there is none to ask.
  template <class Family, class Config>
  static int registers() {
    cudaFuncAttributes attributes{};
    auto const error = cudaFuncGetAttributes(&attributes, Family::template program<Config>);
    return error == cudaSuccess ? attributes.numRegs : 0;
  }

  template <class Family, class Config>
  static constexpr int (*clusters)(int) = [] {
    using Params = typename Family::template Params<Config>;
    if constexpr (kernels::kHasClusters<Params, Config>) {
      return &CudaLaunch<Config, Params, Family::template program<Config>>::clusters;
    } else {
      return static_cast<int (*)(int)>(nullptr);
    }
  }();
};

using ThisTarget = Cuda;

}  // namespace on_cuda
}  // namespace cute_py::instances
