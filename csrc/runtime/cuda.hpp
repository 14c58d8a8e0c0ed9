#pragma once

#include <cstddef>

#include "problem/device.hpp"

// The CUDA runtime, touched only when called. None of these runs at import, and without a driver there are no devices.
// A build without CUDA has the same functions; those that need a device throw CudaError.
namespace cute_py::runtime {

// Was this build compiled with GPU kernels?
bool built_with_cuda();

// Versions as CUDA counts them, 13000 for 13.0; 0 where there is none.
int cuda_runtime_version();
int cuda_driver_version();

int device_count();

// Throws OperandError if there is no such GPU, CudaError if CUDA cannot tell, as with a driver that is too old.
DeviceInfo device_info(int ordinal);

// While this lives, the thread may make calls that have nothing to do with a stream of its that is being captured in a
// CUDA graph, such as making a pool of memory or loading a kernel: a process's first call may be in a capture.
class UncapturedCalls {
 public:
  UncapturedCalls();
  UncapturedCalls(UncapturedCalls const&) = delete;
  UncapturedCalls& operator=(UncapturedCalls const&) = delete;
  ~UncapturedCalls();

 private:
  int former_ = 0;
};

// Makes a device current and the former one again at the end.
class DeviceGuard {
 public:
  explicit DeviceGuard(int ordinal);
  ~DeviceGuard();
  DeviceGuard(DeviceGuard const&) = delete;
  DeviceGuard& operator=(DeviceGuard const&) = delete;

 private:
  int former_ = -1;  // -1: nothing to restore
};

// Throws CudaError unless error, a cudaError_t, is success.
void check(int error, char const* doing);

void synchronize(void* stream);
void synchronize_device();  // all streams of the current device

// Memory of the current device for arrays that are used on streams that nobody tells us of: release waits for all work.
void* allocate(std::size_t bytes);
void release(void* pointer) noexcept;

// Where the current device has the Ones.
void const* ones_on_device();

// Memory of the current device from when the stream gets there, and until it does again. Neither waits. What is
// released stays with a pool of ours, up to kKeptBytes of it. On a stream that is being captured, the memory belongs to
// the graph.
inline constexpr std::size_t kKeptBytes = std::size_t{256} << 20;
void* allocate_on(void* stream, std::size_t bytes);
void prepare_pool();  // makes it, if nobody has yet
void release_on(void* stream, void* pointer) noexcept;
void clear_on(void* stream, void* pointer, std::size_t bytes);

}  // namespace cute_py::runtime
