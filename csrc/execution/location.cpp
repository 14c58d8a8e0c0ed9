#include "execution/location.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/errors.hpp"
#include "dispatch/choose.hpp"
#include "instances/registry.hpp"
#include "problem/profiles.hpp"
#include "runtime/cuda.hpp"
#include "runtime/host.hpp"

namespace cute_py::execution {
namespace {

// Which targets have kernels of this name?
struct Named {
  bool on_cpu = false;
  bool on_gpu = false;
};

Named find_kernel(std::string_view name) {
  if (name == "auto") return {true, true};
  Named named;
  for (Entry const& entry : instances::registry()) {
    if (!dispatch::matches(entry.traits, name)) continue;
    (entry.traits.target == Target::cpu ? named.on_cpu : named.on_gpu) = true;
  }
  return named;
}

using Device = std::shared_ptr<DeviceInfo const>;

// By a kernel whose CTAs need a multiprocessor each.
void count_clusters(DeviceInfo& info) {
  auto const& registry = instances::registry();
  auto const entry = std::find_if(registry.begin(), registry.end(), [&](Entry const& x) {
    return x.clusters != nullptr && x.traits.needs.compute_capability / 10 == info.compute_capability / 10;
  });
  if (entry == registry.end()) return;
  runtime::DeviceGuard const guard(info.ordinal);
  for (int i = 0; i < 3; ++i) info.clusters[i] = entry->clusters(2 << i);
}

Device device_info(int ordinal) {
  static std::mutex mutex;
  static std::map<int, Device> known;
  std::lock_guard const lock(mutex);
  Device& device = known[ordinal];
  if (device == nullptr) {
    DeviceInfo info = runtime::device_info(ordinal);
    info.profile = profile_of(info.name);
    count_clusters(info);
    device = std::make_shared<DeviceInfo const>(std::move(info));
  }
  return device;
}

// For each number of threads, which decides which kernel is the fastest.
Device host_info() {
  static std::mutex mutex;
  static std::map<int, Device> known;
  std::lock_guard const lock(mutex);
  Device& device = known[runtime::host_threads()];
  if (device == nullptr) device = std::make_shared<DeviceInfo const>(runtime::host_info());
  return device;
}

// The ordinal in "cuda" or "cuda:1"; nothing for "cpu", "emulator" and no device at all.
std::optional<int> cuda_ordinal(std::string_view device) {
  if (device.empty() || device == "cpu" || device == "emulator") return std::nullopt;
  if (device == "cuda") return 0;
  if (device.substr(0, 5) == "cuda:") {
    int ordinal = 0;
    auto const digits = device.substr(5);
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (error == std::errc{} && end == digits.data() + digits.size() && ordinal >= 0) return ordinal;
  }
  throw OperandError(
      "device '" + std::string(device) +
      "' is none of 'cpu', 'emulator', 'cuda', 'cuda:0', 'cuda:1', ...\n  next: to plan for a GPU that is not "
      "here, device=cute_py.Device.preset(\"H100\")");
}

}  // namespace

std::shared_ptr<DeviceInfo const> emulated_device() {
  static Device const info = [] {
    DeviceInfo device = h200();
    device.name = "emulator";
    return std::make_shared<DeviceInfo const>(std::move(device));
  }();
  return info;
}

Location choose_location(Request const& request) {
  View const& a = *request.a;
  std::string const kernel(request.kernel);
  std::string const device(request.device);
  Named const named = find_kernel(kernel);
  if (!named.on_cpu && !named.on_gpu) throw UnknownKernelError(kernel);
  auto const ordinal = cuda_ordinal(device);

  if (request.invented != nullptr) {
    if (a.on_cuda()) {
      throw OperandError("an invented device computes on the host, and the arrays are on a GPU" +
                         request.operands_text() + "\n  next: pass host arrays, or leave device out");
    }
    if (request.invented->is_cpu()) {
      if (!named.on_cpu) {
        throw OperandError("kernel '" + kernel + "' runs on a GPU, not on " + request.invented->name +
                           "\n  next: leave device out, or name another kernel");
      }
      return {Target::cpu, 0, false, "a CPU was invented; this one stands for it", request.invented};
    }
    if (!named.on_gpu) {
      throw OperandError("kernel '" + kernel + "' runs on the CPU, not on " + request.invented->name +
                         "\n  next: leave device out, or name another kernel");
    }
    bool const copies = request.invented->copies_arrays;
    char const* const why = copies ? "a device was invented; the emulator stands for it, with copies of the arrays"
                                   : "a device was invented; the emulator stands for it, with the arrays as they lie";
    return {Target::emulator, 0, copies, why, request.invented};
  }
  if (a.on_cuda()) {
    if (runtime::built_with_cuda()) {
      device_info(a.device.id);  // there is such a GPU
    } else {
      throw UnsupportedProblemError("the arrays are on a GPU, and this build of cute_py has no GPU kernels" +
                                    request.operands_text() +
                                    "\n  next: build cute_py with them: CUTE_PY_CUDA=ON pip install .");
    }
    bool const asked_for_this = ordinal && (device == "cuda" || *ordinal == a.device.id);
    if (!device.empty() && !asked_for_this) {
      throw OperandError(
          "device '" + device + "' asked for, but the arrays are on cuda:" + std::to_string(a.device.id) +
          request.operands_text() + "\n  next: move the arrays, or leave device out to compute where they are");
    }
    if (!named.on_gpu) {
      throw OperandError("kernel '" + kernel +
                         "' runs on the CPU, but the arrays are on cuda:" + std::to_string(a.device.id) +
                         request.operands_text() + "\n  next: kernel='auto', or move the arrays to the host");
    }
    return {Target::cuda, a.device.id, false, "the arrays are on this GPU", device_info(a.device.id)};
  }

  if (device == "cpu" || (device.empty() && named.on_cpu)) {
    if (!named.on_cpu) {
      throw OperandError("kernel '" + kernel +
                         "' does not run on the CPU\n  next: device='emulator' runs it with no GPU, "
                         "kernel='auto' chooses a kernel for the CPU");
    }
    return {Target::cpu, 0, false, "the arrays are on the host", host_info()};
  }
  if (!named.on_gpu) {
    throw OperandError("kernel '" + kernel + "' runs on the CPU, not on '" + device +
                       "'\n  next: leave device out, or name another kernel");
  }
  if (device == "emulator") return {Target::emulator, 0, false, "device='emulator'", emulated_device()};
  if (device.empty()) {
    if (runtime::device_count() > 0) {
      throw OperandError(
          "kernel '" + kernel + "' runs on a GPU, but the arrays are on the host" + request.operands_text() +
          "\n  next: move the arrays, for instance with cupy.asarray; or pass device='cuda' to have them "
          "copied in and out, or device='emulator' to run the kernel without the GPU");
    }
    return {Target::emulator, 0, false, "a GPU kernel was named, the arrays are on the host, and there is no GPU",
            emulated_device()};
  }
  if (*ordinal >= runtime::device_count()) {
    throw CudaError("device '" + device + "' asked for, but " +
                    (runtime::built_with_cuda() ? "there are " + std::to_string(runtime::device_count()) + " GPUs"
                                                : std::string("this build of cute_py has no GPU kernels")) +
                    "\n  next: device='emulator' runs GPU kernels without one; device='cpu' computes on the CPU" +
                    (runtime::built_with_cuda() ? "" : "; CUTE_PY_CUDA=ON pip install . builds GPU kernels"));
  }
  return {Target::cuda, *ordinal, true, "a GPU was asked for; the host arrays are copied in and out",
          device_info(*ordinal)};
}

}  // namespace cute_py::execution
