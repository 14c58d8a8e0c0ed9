#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "workbench/errors.hpp"
#include "workbench/launch.hpp"
#include "workbench/machine.hpp"
#include "workbench/ptx.hpp"
#include "workbench/report.hpp"
#include "workbench/tensor_map.hpp"

// The CUDA runtime, as far as programs that run in the emulator call it: memory, streams and events, attributes,
// launches. Everything is done when the call returns.
namespace cute_py::workbench {
namespace {

// The error that the last call left, and one that nothing mends: a kernel that failed.
thread_local cudaError_t last_error = cudaSuccess;
cudaError_t sticky_error = cudaSuccess;

// Notes what a call of the program did wrong.
cudaError_t failed(cudaError_t error, std::string const& text, void const* frame, void const* code) {
  last_error = error;
  Place place;
  place.code = code_from(frame, reinterpret_cast<std::uintptr_t>(code));
  note({Kind::api, text, "", place, {}});
  return error;
}
#define CUTE_PY_FAILED(error, text) failed(error, text, __builtin_frame_address(0), __builtin_return_address(0))

cudaError_t done() { return sticky_error; }

struct Enrolment {
  std::string name;
  Bind bind;
};
std::map<void const*, Enrolment>& enrolled() {
  static auto* const made = new std::map<void const*, Enrolment>;
  return *made;
}

struct Attributes {
  int dynamic_bytes = static_cast<int>(kSharedBytesByDefault);
};
std::map<void const*, Attributes>& attributes() {
  static auto* const made = new std::map<void const*, Attributes>;
  return *made;
}

std::string text_of(dim3 const& d) {
  return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" + std::to_string(d.z);
}

// The name of a kernel out of "static bool Enrolled<kernel>::now() [with auto kernel = gemm<float, ...>]".
std::string short_name(std::string const& pretty) {
  auto const at = pretty.find("kernel = ");
  if (at == std::string::npos) return pretty;
  std::string name = pretty.substr(at + 9);
  name = name.substr(0, name.find_first_of("<]"));
  auto const colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

std::string problem_of(Configuration const& c) {
  auto const threads = std::uint64_t{c.block.x} * c.block.y * c.block.z;
  auto const ctas = std::uint64_t{c.cluster.x} * c.cluster.y * c.cluster.z;
  std::size_t const limit = shared_bytes_of(options().architecture);
  if (threads == 0 || threads > 1024 || c.block.z > 64)
    return "a block of " + text_of(c.block) + " threads; 1024 are the most";
  if (c.grid.x == 0 || c.grid.y == 0 || c.grid.z == 0 || c.grid.y > 65535 || c.grid.z > 65535)
    return "a grid of " + text_of(c.grid) + " blocks";
  if (c.dynamic_bytes > limit) {
    return std::to_string(c.dynamic_bytes) + " bytes of shared memory; " + std::to_string(limit) + " are the most";
  }
  if (ctas == 0 || ctas > 16) return "a cluster of " + text_of(c.cluster) + " blocks; 16 are the most";
  if (ctas > 1 && options().architecture < 90) return "clusters, which devices have from 9.0 on";
  if (c.grid.x % c.cluster.x != 0 || c.grid.y % c.cluster.y != 0 || c.grid.z % c.cluster.z != 0)
    return "a grid of " + text_of(c.grid) + " blocks, which clusters of " + text_of(c.cluster) + " do not divide";
  return "";
}

cudaError_t run_kernel(char const* kernel, Configuration const& c, std::function<void()> body, void const* arguments,
                       std::size_t bytes, void const* frame, void const* code) {
  if (sticky_error != cudaSuccess) return last_error = sticky_error;
  if (std::string const problem = problem_of(c); !problem.empty()) {
    return failed(cudaErrorInvalidConfiguration, "launches " + std::string(kernel) + " with " + problem, frame, code);
  }
  std::string const shape = "grid " + text_of(c.grid) + ", block " + text_of(c.block) +
                            (c.cluster.x * c.cluster.y * c.cluster.z > 1 ? ", cluster " + text_of(c.cluster) : "") +
                            ", " + std::to_string(c.dynamic_bytes) + " bytes";
  static std::map<std::pair<std::string, std::string>, int> launches;
  Launch launch;
  launch.kernel = kernel;
  launch.grid = {c.grid.x, c.grid.y, c.grid.z};
  launch.block = {c.block.x, c.block.y, c.block.z};
  launch.cluster = {c.cluster.x, c.cluster.y, c.cluster.z};
  launch.dynamic_bytes = c.dynamic_bytes;
  launch.body = std::move(body);
  launch.arguments = arguments;
  launch.argument_bytes = bytes;
  launch.is_checked = launches[{launch.kernel, shape}]++ < options().checked;
  auto const began = std::chrono::steady_clock::now();
  int const error = run(launch);
  std::chrono::duration<double> const took = std::chrono::steady_clock::now() - began;
  note_launch({launch.kernel, shape, 1, took.count()});
  if (error != 0) last_error = sticky_error = static_cast<cudaError_t>(error);
  return static_cast<cudaError_t>(error);
}

void dump_array(Array const& array, void*) {
  std::string const& folder = options().dump;
  if (folder.empty()) return;
  std::string const path = folder + "/array-" + std::to_string(array.number) + ".bin";
  if (FILE* const file = std::fopen(path.c_str(), "wb")) {
    std::fwrite(array.first, 1, array.bytes, file);
    std::fclose(file);
  }
}

// At the end of the program, however it ends: what is still allocated, and the report.
struct AtExit {
  AtExit() {
    report_crashes();
    std::atexit([] {
      for_each_array(&dump_array, nullptr);
      write_report();
    });
  }
} const at_exit;

}  // namespace

cudaError_t launch(char const* kernel, Configuration const& configuration, void (*call)(void const*), void const* bound,
                   std::size_t bytes) {
  return run_kernel(
      kernel, configuration, [=] { call(bound); }, bound, bytes, __builtin_frame_address(0),
      __builtin_return_address(0));
}

bool enroll(void const* kernel, char const* name, Bind bind) {
  enrolled()[kernel] = {short_name(name), bind};
  return true;
}

namespace {
cudaError_t launch_by_address(void const* kernel, Configuration const& c, void* const* arguments) {
  auto const found = enrolled().find(kernel);
  if (found == enrolled().end()) {
    return CUTE_PY_FAILED(cudaErrorInvalidDeviceFunction, "launches an address that is no kernel's");
  }
  if (c.dynamic_bytes > kSharedBytesByDefault &&
      static_cast<int>(c.dynamic_bytes) > attributes()[kernel].dynamic_bytes) {
    return CUTE_PY_FAILED(cudaErrorInvalidValue,
                          "launches " + found->second.name + " with " + std::to_string(c.dynamic_bytes) +
                              " bytes of shared memory; more than 48 KB need "
                              "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)");
  }
  struct Context {
    Enrolment const* kernel;
    Configuration const* configuration;
    void const* frame;
    void const* code;
  } context{&found->second, &c, __builtin_frame_address(0), __builtin_return_address(0)};
  return found->second.bind(
      arguments,
      [](void* given, void (*call)(void const*), void const* bound, std::size_t bytes) {
        auto const& own = *static_cast<Context const*>(given);
        return run_kernel(
            own.kernel->name.c_str(), *own.configuration, [=] { call(bound); }, bound, bytes, own.frame, own.code);
      },
      &context);
}
}  // namespace

// Of a device_vector.
void free_array(void* pointer) {
  if (Array const* const array = array_at(pointer); array != nullptr && !array->is_free) dump_array(*array, nullptr);
  static_cast<void>(release(pointer));
}

void* shared_memory_of_variable(void const* key, std::size_t bytes, std::size_t alignment) {
  return running == nullptr ? nullptr : running->shared_variable(key, bytes, alignment);
}
void* dynamic_shared_memory() { return running == nullptr ? nullptr : running->cta().shared; }

}  // namespace cute_py::workbench

using namespace cute_py::workbench;

extern "C" {

cudaError_t cudaGetLastError() {
  cudaError_t const error = last_error;
  last_error = sticky_error;
  return error;
}
cudaError_t cudaPeekAtLastError() { return last_error; }
char const* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDeviceFunction:
      return "cudaErrorInvalidDeviceFunction";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorLaunchTimeout:
      return "cudaErrorLaunchTimeout";
    case cudaErrorAssert:
      return "cudaErrorAssert";
    case cudaErrorIllegalInstruction:
      return "cudaErrorIllegalInstruction";
    case cudaErrorMisalignedAddress:
      return "cudaErrorMisalignedAddress";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorNotSupported:
      return "cudaErrorNotSupported";
    default:
      return "cudaError";
  }
}
char const* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : cudaGetErrorName(error);
}

cudaError_t cudaMalloc(void** to, std::size_t bytes) {
  *to = bytes == 0 ? nullptr : allocate(bytes, false);
  if (*to == nullptr && bytes != 0) return last_error = cudaErrorMemoryAllocation;
  return done();
}
cudaError_t cudaMallocAsync(void** to, std::size_t bytes, cudaStream_t) { return cudaMalloc(to, bytes); }
cudaError_t cudaMallocManaged(void** to, std::size_t bytes, unsigned) {
  *to = allocate(bytes, true);
  return *to == nullptr ? last_error = cudaErrorMemoryAllocation : done();
}
cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return done();
  if (Array const* const array = array_at(pointer); array != nullptr && array->first == pointer && !array->is_free) {
    dump_array(*array, nullptr);
  }
  switch (release(pointer)) {
    case 0:
      return done();
    case 1:
      return CUTE_PY_FAILED(cudaErrorInvalidValue, "frees a pointer that no allocation has returned");
    default:
      return CUTE_PY_FAILED(cudaErrorInvalidValue, "frees a pointer for the second time");
  }
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }
cudaError_t cudaMallocHost(void** to, std::size_t bytes) {
  *to = std::malloc(bytes == 0 ? 1 : bytes);
  return done();
}
cudaError_t cudaHostAlloc(void** to, std::size_t bytes, unsigned) { return cudaMallocHost(to, bytes); }
cudaError_t cudaFreeHost(void* pointer) {
  std::free(pointer);
  return done();
}

static bool fits(void const* pointer, std::size_t bytes) {
  if (!is_on_device(pointer)) return true;
  Array const* const array = array_at(pointer);
  return array != nullptr && !array->is_free &&
         static_cast<std::size_t>(static_cast<char const*>(pointer) - array->first) + bytes <= array->bytes;
}

cudaError_t cudaMemcpy(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return done();
  if (!fits(to, bytes) || !fits(from, bytes)) {
    return CUTE_PY_FAILED(cudaErrorInvalidValue,
                          "copies " + std::to_string(bytes) + " bytes, beyond the end of an array");
  }
  bool const to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  bool const from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind != cudaMemcpyDefault && (to_device != is_on_device(to) || from_device != is_on_device(from))) {
    return CUTE_PY_FAILED(cudaErrorInvalidValue, "copies in another direction than it says");
  }
  std::memmove(to, from, bytes);
  if (is_on_device(to)) mark_initialised(to, bytes);
  return done();
}
cudaError_t cudaMemcpyAsync(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, void const* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind) {
  for (std::size_t i = 0; i < height; ++i) {
    cudaError_t const error =
        cudaMemcpy(static_cast<char*>(to) + i * to_pitch, static_cast<char const*>(from) + i * from_pitch, width, kind);
    if (error != cudaSuccess) return error;
  }
  return done();
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  if (!fits(to, bytes) || !is_on_device(to)) {
    return CUTE_PY_FAILED(cudaErrorInvalidValue,
                          "sets " + std::to_string(bytes) + " bytes that are not all of one array");
  }
  std::memset(to, value, bytes);
  mark_initialised(to, bytes);
  return done();
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  return cudaMemset(to, value, bytes);
}
cudaError_t cudaMemcpyToSymbol(void const* symbol, void const* from, std::size_t bytes, std::size_t offset,
                               cudaMemcpyKind) {
  std::memcpy(static_cast<char*>(const_cast<void*>(symbol)) + offset, from, bytes);
  return done();
}
cudaError_t cudaMemcpyFromSymbol(void* to, void const* symbol, std::size_t bytes, std::size_t offset, cudaMemcpyKind) {
  std::memcpy(to, static_cast<char const*>(symbol) + offset, bytes);
  return done();
}
cudaError_t cudaGetSymbolAddress(void** to, void const* symbol) {
  *to = const_cast<void*>(symbol);
  return done();
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  *total = std::size_t{16} << 30;
  *free_bytes = *total - bytes_allocated();
  return done();
}

cudaError_t cudaDeviceSynchronize() { return done(); }
cudaError_t cudaDeviceReset() { return done(); }
cudaError_t cudaSetDevice(int device) {
  return device == 0 ? done() : CUTE_PY_FAILED(cudaErrorInvalidDevice, "chooses a device that is not there");
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return done();
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return done();
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return done();
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* to, int) {
  *to = cudaDeviceProp{};
  std::snprintf(to->name, sizeof(to->name), "cute_py's emulator");
  to->major = options().architecture / 10;
  to->minor = options().architecture % 10;
  to->multiProcessorCount = options().multiprocessors;
  to->totalGlobalMem = std::size_t{16} << 30;
  to->sharedMemPerBlock = kSharedBytesByDefault;
  to->sharedMemPerBlockOptin = shared_bytes_of(options().architecture);
  to->sharedMemPerMultiprocessor = shared_bytes_of(options().architecture) + 1024;
  to->reservedSharedMemPerBlock = 1024;
  to->regsPerBlock = to->regsPerMultiprocessor = 65536;
  to->warpSize = kWarp;
  to->maxThreadsPerBlock = 1024;
  to->maxThreadsPerMultiProcessor = 2048;
  to->maxBlocksPerMultiProcessor = 32;
  to->maxThreadsDim[0] = to->maxThreadsDim[1] = 1024;
  to->maxThreadsDim[2] = 64;
  to->maxGridSize[0] = 2147483647;
  to->maxGridSize[1] = to->maxGridSize[2] = 65535;
  to->l2CacheSize = 50 << 20;
  to->unifiedAddressing = 1;
  to->clusterLaunch = options().architecture >= 90;
  to->cooperativeLaunch = 1;
  return done();
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = p.multiProcessorCount;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = p.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = p.minor;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(p.sharedMemPerBlock);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(p.sharedMemPerBlockOptin);
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(p.sharedMemPerMultiprocessor);
      break;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      *value = static_cast<int>(p.reservedSharedMemPerBlock);
      break;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = p.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = p.maxThreadsPerMultiProcessor;
      break;
    case cudaDevAttrWarpSize:
      *value = p.warpSize;
      break;
    case cudaDevAttrL2CacheSize:
      *value = p.l2CacheSize;
      break;
    case cudaDevAttrClusterLaunch:
      *value = p.clusterLaunch;
      break;
    case cudaDevAttrCooperativeLaunch:
      *value = p.cooperativeLaunch;
      break;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
      *value = 1'000'000;
      break;
    default:
      *value = 0;
      return CUTE_PY_FAILED(cudaErrorNotSupported, "asks for a device's attribute that the emulator does not know: " +
                                                       std::to_string(static_cast<int>(attribute)));
  }
  return done();
}

cudaError_t cudaFuncSetAttribute(void const* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return done();
  auto const limit = static_cast<int>(shared_bytes_of(options().architecture));
  if (value > limit) {
    return CUTE_PY_FAILED(cudaErrorInvalidValue, "asks for " + std::to_string(value) + " bytes of shared memory; " +
                                                     std::to_string(limit) + " are the most");
  }
  attributes()[kernel].dynamic_bytes = value;
  return done();
}
cudaError_t cudaFuncSetCacheConfig(void const*, cudaFuncCache) { return done(); }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* to, void const* kernel) {
  *to = cudaFuncAttributes{};
  to->maxThreadsPerBlock = 1024;
  to->maxDynamicSharedSizeBytes = attributes()[kernel].dynamic_bytes;
  to->binaryVersion = to->ptxVersion = options().architecture;
  return done();
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* to, void const*, int threads, std::size_t bytes) {
  std::size_t const shared = shared_bytes_of(options().architecture) + 1024;
  *to = std::min(2048 / std::max(1, threads), static_cast<int>(shared / (bytes + 1024)));
  return done();
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* to, void const* kernel, int threads,
                                                                   std::size_t bytes, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(to, kernel, threads, bytes);
}
cudaError_t cudaOccupancyMaxActiveClusters(int* to, void const*, cudaLaunchConfig_t const*) {
  *to = options().multiprocessors;
  return done();
}

cudaError_t cudaLaunchKernel(void const* kernel, dim3 grid, dim3 block, void** arguments, std::size_t bytes,
                             cudaStream_t stream) {
  return launch_by_address(kernel, {grid, block, bytes, stream, dim3(1, 1, 1)}, arguments);
}
cudaError_t cudaLaunchCooperativeKernel(void const* kernel, dim3 grid, dim3 block, void** arguments, std::size_t bytes,
                                        cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, bytes, stream);
}
cudaError_t cudaLaunchKernelExC(cudaLaunchConfig_t const* config, void const* kernel, void** arguments) {
  Configuration made{config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream, dim3(1, 1, 1)};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    cudaLaunchAttribute const& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeClusterDimension) {
      made.cluster = dim3(attribute.val.clusterDim.x, attribute.val.clusterDim.y, attribute.val.clusterDim.z);
    }
  }
  return launch_by_address(kernel, made, arguments);
}

// Streams and events are numbers: all that came before is done.
cudaError_t cudaStreamCreate(cudaStream_t* to) {
  static std::uintptr_t count = 0;
  *to = reinterpret_cast<cudaStream_t>(++count);
  return done();
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* to, unsigned) { return cudaStreamCreate(to); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* to, unsigned, int) { return cudaStreamCreate(to); }
cudaError_t cudaStreamDestroy(cudaStream_t) { return done(); }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return done(); }
cudaError_t cudaStreamQuery(cudaStream_t) { return done(); }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return done(); }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* to) {
  *to = cudaStreamCaptureStatusNone;
  return done();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* to, unsigned) {
  *to = reinterpret_cast<cudaEvent_t>(new std::chrono::steady_clock::time_point());
  return done();
}
cudaError_t cudaEventCreate(cudaEvent_t* to) { return cudaEventCreateWithFlags(to, 0); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  *reinterpret_cast<std::chrono::steady_clock::time_point*>(event) = std::chrono::steady_clock::now();
  return done();
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return done(); }
cudaError_t cudaEventQuery(cudaEvent_t) { return done(); }
cudaError_t cudaEventElapsedTime(float* to, cudaEvent_t first, cudaEvent_t last) {
  std::chrono::duration<float, std::milli> const took =
      *reinterpret_cast<std::chrono::steady_clock::time_point*>(last) -
      *reinterpret_cast<std::chrono::steady_clock::time_point*>(first);
  *to = took.count();
  return done();
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<std::chrono::steady_clock::time_point*>(event);
  return done();
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* to, void const* pointer) {
  *to = cudaPointerAttributes{};
  to->type = is_on_device(pointer) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  to->devicePointer = is_on_device(pointer) ? const_cast<void*>(pointer) : nullptr;
  return done();
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* to, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                cuuint64_t const* extents, cuuint64_t const* strides, cuuint32_t const* box,
                                cuuint32_t const* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  constexpr int kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  auto const refuse = [&](std::string const& why) {
    CUTE_PY_FAILED(cudaErrorInvalidValue, "makes a tensor map " + why);
    return CUDA_ERROR_INVALID_VALUE;
  };
  if (rank < 1 || rank > 5) return refuse("with " + std::to_string(rank) + " modes; there are 1 to 5");
  if (static_cast<unsigned>(type) >= sizeof(kBytes) / sizeof(kBytes[0]))
    return refuse("of a type that the emulator does not know");
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE)
    return refuse("with interleaved layouts, which the emulator does not know");
  if (swizzle > CU_TENSOR_MAP_SWIZZLE_128B) return refuse("with a swizzle that the emulator does not know");
  if (reinterpret_cast<std::uintptr_t>(address) % 16 != 0)
    return refuse("of an array whose address is no multiple of 16");
  TensorMap made;
  made.magic = kTensorMapMagic;
  made.rank = static_cast<std::uint8_t>(rank);
  made.element_bytes = static_cast<std::uint8_t>(kBytes[type]);
  made.type = static_cast<std::uint16_t>(type);
  made.is_tf32 = type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 || type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
  constexpr int kSpans[] = {0, 32, 64, 128};
  int const span = kSpans[swizzle];
  made.swizzle_bytes = static_cast<std::uint8_t>(span);
  made.address = reinterpret_cast<std::uint64_t>(address);
  made.fills_with_nan = fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  for (cuuint32_t i = 0; i < rank; ++i) {
    std::string const mode = "mode " + std::to_string(i);
    if (extents[i] == 0 || extents[i] > (std::uint64_t{1} << 32))
      return refuse("whose " + mode + " has an extent of " + std::to_string(extents[i]));
    if (box[i] == 0 || box[i] > 256)
      return refuse("whose box has " + std::to_string(box[i]) + " elements in " + mode + "; there are 1 to 256");
    if (steps[i] == 0 || steps[i] > 8)
      return refuse("whose elements' step in " + mode + " is " + std::to_string(steps[i]) + "; there are 1 to 8");
    if (i > 0 && (strides[i - 1] % 16 != 0 || strides[i - 1] >= (std::uint64_t{1} << 40)))
      return refuse("whose stride in " + mode + " is " + std::to_string(strides[i - 1]) + " bytes, no multiple of 16");
    made.extent[i] = static_cast<std::uint32_t>(std::min<std::uint64_t>(extents[i], 0xffffffffu));
    made.box[i] = static_cast<std::uint16_t>(box[i]);
    made.step[i] = static_cast<std::uint8_t>(i == 0 ? 1 : steps[i]);
    made.stride[i] = i == 0 ? made.element_bytes : strides[i - 1];
  }
  int const line = static_cast<int>(box[0]) * made.element_bytes;
  if (line % 16 != 0) return refuse("whose box is " + std::to_string(line) + " bytes wide, no multiple of 16");
  if (span != 0 && line > span)
    return refuse("whose box is " + std::to_string(line) + " bytes wide, more than its swizzle's " +
                  std::to_string(span));
  std::memset(to, 0, sizeof(*to));
  std::memcpy(static_cast<void*>(to), &made, sizeof(made));
  return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(char const* symbol, void** to, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  *to = std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0 ? reinterpret_cast<void*>(&cuTensorMapEncodeTiled) : nullptr;
  if (found != nullptr) *found = *to == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  if (*to == nullptr)
    return CUTE_PY_FAILED(cudaErrorNotSupported,
                          "asks for " + std::string(symbol) + ", which the emulator does not have");
  return done();
}
cudaError_t cudaGetDriverEntryPoint(char const* symbol, void** to, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* found) {
  return cudaGetDriverEntryPointByVersion(symbol, to, 0, flags, found);
}

}  // extern "C"
