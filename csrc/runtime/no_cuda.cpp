#include "problem/errors.hpp"
#include "runtime/cuda.hpp"

namespace cute_py::runtime {
namespace {

[[noreturn]] void refuse() {
  throw CudaError("this build of cute_py has no GPU kernels; next: reinstall without CUTE_PY_CUDA=OFF");
}

}  // namespace

bool built_with_cuda() { return false; }
int cuda_runtime_version() { return 0; }
int cuda_driver_version() { return 0; }
int device_count() { return 0; }
DeviceInfo device_info(int) { refuse(); }
DeviceGuard::DeviceGuard(int) { refuse(); }
DeviceGuard::~DeviceGuard() = default;
void check(int error, char const*) {
  if (error != 0) refuse();
}
void* allocate(std::size_t) { refuse(); }
void release(void*) noexcept {}
void copy_to_device(void*, void const*, std::size_t) { refuse(); }
void copy_to_host(void*, void const*, std::size_t) { refuse(); }
void synchronize(void*) { refuse(); }
void* allocate_on(void*, std::size_t) { refuse(); }
void release_on(void*, void*) noexcept {}

}  // namespace cute_py::runtime
