#include "base/errors.hpp"
#include "runtime/cuda.hpp"
#include "runtime/transfer.hpp"

namespace cute_py::runtime {
namespace {

[[noreturn]] void refuse() {
  throw CudaError("this build of cute_py has no GPU kernels; next: build it with them: CUTE_PY_CUDA=ON pip install .");
}

}  // namespace

bool built_with_cuda() { return false; }
int cuda_runtime_version() { return 0; }
int cuda_driver_version() { return 0; }
int device_count() { return 0; }
DeviceInfo device_info(int) { refuse(); }
UncapturedCalls::UncapturedCalls() { refuse(); }
UncapturedCalls::~UncapturedCalls() = default;
DeviceGuard::DeviceGuard(int) { refuse(); }
DeviceGuard::~DeviceGuard() = default;
void check(int error, char const*) {
  if (error != 0) refuse();
}
void* allocate(std::size_t) { refuse(); }
void release(void*) noexcept {}
void const* ones_on_device() { refuse(); }
void send(void*, std::int64_t, int, int, Pack const&) { refuse(); }
void fetch(void const*, std::int64_t, int, int, Unpack const&) { refuse(); }
void synchronize(void*) { refuse(); }
void synchronize_device() { refuse(); }
void* allocate_on(void*, std::size_t) { refuse(); }
void release_on(void*, void*) noexcept {}
void clear_on(void*, void*, std::size_t) { refuse(); }
void prepare_pool() { refuse(); }

}  // namespace cute_py::runtime
