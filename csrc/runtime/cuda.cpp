#include "runtime/cuda.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/errors.hpp"

namespace cute_py::runtime {
namespace {

int attribute(cudaDeviceAttr attr, int ordinal) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attr, ordinal), "asking for a device attribute");
  return value;
}

// Kept for the life of the process, as the CUDA context is.
cudaMemPool_t pool_of_current_device() {
  static std::mutex guard;
  static auto* const known = new std::map<int, cudaMemPool_t>;
  int ordinal = 0;
  check(cudaGetDevice(&ordinal), "asking for the current device");
  std::lock_guard lock(guard);
  auto const found = known->find(ordinal);
  if (found != known->end()) return found->second;
  UncapturedCalls const beside;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = ordinal;
  cudaMemPool_t pool = nullptr;
  check(cudaMemPoolCreate(&pool, &properties), "making a pool of GPU memory");
  std::uint64_t kept = kKeptBytes;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), "making a pool of GPU memory");
  return known->emplace(ordinal, pool).first->second;
}

}  // namespace

bool built_with_cuda() { return true; }

int cuda_runtime_version() { return CUDART_VERSION; }

int cuda_driver_version() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();  // no driver or no device is an answer, not an error to keep
    return 0;
  }
  return count;
}

DeviceInfo device_info(int ordinal) {
  UncapturedCalls const beside;
  int count = 0;
  check(cudaGetDeviceCount(&count), "looking for GPUs");
  if (ordinal < 0 || ordinal >= count) {
    throw OperandError("there is no GPU number " + std::to_string(ordinal) + "; this machine has " +
                       std::to_string(count) + "\n  next: check the producer of the array");
  }
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal), "asking for device properties");
  DeviceInfo info;
  info.name = properties.name;
  info.ordinal = ordinal;
  info.compute_capability = 10 * properties.major + properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  info.shared_bytes_per_cta = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal);
  info.clock_mhz = attribute(cudaDevAttrClockRate, ordinal) / 1000;
  // Two transfers for each clock, of the width of the bus.
  info.memory_gb_per_s = static_cast<int>(2 * std::int64_t{attribute(cudaDevAttrMemoryClockRate, ordinal)} *
                                          attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal) / 8 / 1'000'000);
  return info;
}

UncapturedCalls::UncapturedCalls() {
  auto mode = cudaStreamCaptureModeRelaxed;
  check(cudaThreadExchangeStreamCaptureMode(&mode), "asking to make calls beside a capture");
  former_ = static_cast<int>(mode);
}

UncapturedCalls::~UncapturedCalls() {
  auto mode = static_cast<cudaStreamCaptureMode>(former_);
  cudaThreadExchangeStreamCaptureMode(&mode);
}

DeviceGuard::DeviceGuard(int ordinal) {
  int current = 0;
  check(cudaGetDevice(&current), "asking for the current device");
  if (current == ordinal) return;
  check(cudaSetDevice(ordinal), "switching devices");
  former_ = current;
}

DeviceGuard::~DeviceGuard() {
  if (former_ >= 0) cudaSetDevice(former_);
}

void check(int error, char const* doing) {
  if (error == cudaSuccess) return;
  auto const code = static_cast<cudaError_t>(error);
  throw CudaError(std::string(doing) + ": " + cudaGetErrorName(code) + ", " + cudaGetErrorString(code));
}

void* allocate(std::size_t bytes) {
  void* pointer = nullptr;
  check(cudaMalloc(&pointer, bytes), "allocating GPU memory");
  return pointer;
}

void release(void* pointer) noexcept { cudaFree(pointer); }

void* allocate_on(void* stream, std::size_t bytes) {
  void* pointer = nullptr;
  check(cudaMallocFromPoolAsync(&pointer, bytes, pool_of_current_device(), static_cast<cudaStream_t>(stream)),
        "allocating GPU memory");
  return pointer;
}

void prepare_pool() { pool_of_current_device(); }

void clear_on(void* stream, void* pointer, std::size_t bytes) {
  check(cudaMemsetAsync(pointer, 0, bytes, static_cast<cudaStream_t>(stream)), "clearing a packed array");
}

void release_on(void* stream, void* pointer) noexcept { cudaFreeAsync(pointer, static_cast<cudaStream_t>(stream)); }

void synchronize_device() { check(cudaDeviceSynchronize(), "waiting for the GPU"); }

void synchronize(void* stream) {
  check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "running the kernel");
}

}  // namespace cute_py::runtime
