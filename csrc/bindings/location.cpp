#include "bindings/location.hpp"

#include <charconv>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "dispatch/select.hpp"
#include "instances/registry.hpp"
#include "problem/errors.hpp"
#include "runtime/cuda.hpp"
#include "runtime/host.hpp"

namespace cute_py::bindings {
namespace {

// Which targets have kernels of this name?
struct Named {
  bool on_cpu = false;
  bool on_gpu = false;
};

Named find_kernel(std::string_view name) {
  if (name == "auto") return {true, true};
  Named named;
  for (Entry const* entry : instances::registry()) {
    if (!dispatch::matches(entry->traits, name)) continue;
    (entry->traits.target == Target::cpu ? named.on_cpu : named.on_gpu) = true;
  }
  return named;
}

DeviceInfo const& device_info(int ordinal) {
  static std::vector<std::unique_ptr<DeviceInfo>> known;  // guarded by the GIL
  if (ordinal >= 0 && static_cast<std::size_t>(ordinal) < known.size() && known[ordinal]) return *known[ordinal];
  auto info = std::make_unique<DeviceInfo>(runtime::device_info(ordinal));
  if (known.size() <= static_cast<std::size_t>(ordinal)) known.resize(ordinal + 1);
  known[ordinal] = std::move(info);
  return *known[ordinal];
}

DeviceInfo const& host_info() {
  static DeviceInfo const info = runtime::host_info();
  return info;
}

// For the emulator: a GPU that takes every kernel.
DeviceInfo const& emulated_device() {
  static DeviceInfo const info = [] {
    DeviceInfo device;
    device.name = "emulator";
    return device;
  }();
  return info;
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
  throw OperandError("device '" + std::string(device) +
                     "' is none of 'cpu', 'emulator', 'cuda', 'cuda:0', 'cuda:1', ...");
}

}  // namespace

Location choose_location(std::string_view kernel_name, std::string_view device, Product const& product) {
  Operand const& a = product.a();
  std::string const kernel(kernel_name);
  Named const named = find_kernel(kernel_name);
  if (!named.on_cpu && !named.on_gpu) {
    py::module_::import("cute_py._kernels").attr("raise_unknown_kernel")(kernel);
  }
  auto const ordinal = cuda_ordinal(device);

  if (a.on_cuda()) {
    if (runtime::built_with_cuda()) {
      device_info(a.device_id());  // there is such a GPU
    } else {
      throw UnsupportedProblemError("the arrays are on a GPU, and this build of cute_py has no GPU kernels" +
                                    product.operands_text() +
                                    "\n  next: build cute_py with them: CUTE_PY_CUDA=ON pip install .");
    }
    bool const asked_for_this = ordinal && (device == "cuda" || *ordinal == a.device_id());
    if (!device.empty() && !asked_for_this) {
      throw OperandError("device '" + std::string(device) + "' asked for, but the arrays are on cuda:" +
                         std::to_string(a.device_id()) + product.operands_text() +
                         "\n  next: move the arrays, or leave device out to compute where they are");
    }
    if (!named.on_gpu) {
      throw OperandError("kernel '" + kernel +
                         "' runs on the CPU, but the arrays are on cuda:" + std::to_string(a.device_id()) +
                         product.operands_text() + "\n  next: kernel='auto', or move the arrays to the host");
    }
    return {Target::cuda, a.device_id(), false, "the arrays are on this GPU"};
  }

  if (device == "cpu" || (device.empty() && named.on_cpu)) {
    if (!named.on_cpu) {
      throw OperandError("kernel '" + kernel +
                         "' does not run on the CPU\n  next: device='emulator' runs it with no GPU, "
                         "kernel='auto' chooses a kernel for the CPU");
    }
    return {Target::cpu, 0, false, "the arrays are on the host"};
  }
  if (!named.on_gpu) {
    throw OperandError("kernel '" + kernel + "' runs on the CPU, not on '" + std::string(device) +
                       "'\n  next: leave device out, or name another kernel");
  }
  if (device == "emulator") return {Target::emulator, 0, false, "device='emulator'"};
  if (device.empty()) {
    if (runtime::device_count() > 0) {
      throw OperandError(
          "kernel '" + kernel + "' runs on a GPU, but the arrays are on the host" + product.operands_text() +
          "\n  next: move the arrays, for instance with cupy.asarray; or pass device='cuda' to have them "
          "copied in and out, or device='emulator' to run the kernel without the GPU");
    }
    return {Target::emulator, 0, false, "a GPU kernel was named, the arrays are on the host, and there is no GPU"};
  }
  if (*ordinal >= runtime::device_count()) {
    throw CudaError("device '" + std::string(device) + "' asked for, but " +
                    (runtime::built_with_cuda() ? "there are " + std::to_string(runtime::device_count()) + " GPUs"
                                                : std::string("this build of cute_py has no GPU kernels")) +
                    "\n  next: device='emulator' runs GPU kernels without one; device='cpu' computes on the CPU");
  }
  return {Target::cuda, *ordinal, true, "a GPU was asked for; the host arrays are copied in and out"};
}

DeviceInfo const& device_of(Location const& place) {
  switch (place.target) {
    case Target::cuda:
      return device_info(place.ordinal);
    case Target::emulator:
      return emulated_device();
    case Target::cpu:
      break;
  }
  return host_info();
}

}  // namespace cute_py::bindings
