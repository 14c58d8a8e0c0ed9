#include "bindings/runner.hpp"

#include <pybind11/pybind11.h>

#include <complex>
#include <cstdint>
#include <cstring>
#include <map>
#include <new>
#include <optional>

#include "runtime/cuda.hpp"

namespace cute_py::bindings {
namespace {

namespace py = pybind11;

constexpr std::size_t kOnesBytes = static_cast<std::size_t>(dispatch::kBytesOfOne) * kDTypes;

// The number one of every type.
unsigned char const* ones() {
  alignas(16) static unsigned char bytes[kOnesBytes] = {};
  static bool const written = [] {
    auto const put = [](DType type, auto value) {
      std::memcpy(bytes + dispatch::kBytesOfOne * static_cast<int>(type), &value, sizeof(value));
    };
    put(DType::f16, std::uint16_t{0x3c00});
    put(DType::bf16, std::uint16_t{0x3f80});
    put(DType::f32, 1.0f);
    put(DType::f64, 1.0);
    put(DType::c64, std::complex<float>(1));
    put(DType::c128, std::complex<double>(1));
    put(DType::i8, std::int8_t{1});
    put(DType::i32, std::int32_t{1});
    return true;
  }();
  static_cast<void>(written);
  return bytes;
}

// The same where a program runs; in the memory of a GPU made once.
void* ones_at(Location const& location) {
  if (location.target != Target::cuda) return const_cast<unsigned char*>(ones());
  static std::map<int, void*> known;  // guarded by the GIL
  auto const found = known.find(location.ordinal);
  if (found != known.end()) return found->second;
  void* const memory = runtime::allocate(kOnesBytes);
  runtime::copy_to_device(memory, ones(), kOnesBytes);
  return known.emplace(location.ordinal, memory).first->second;
}

// Memory for one call.
class Workspace {
 public:
  Workspace(std::int64_t bytes, Location const& location, void* stream)
      : on_gpu_(location.target == Target::cuda), stream_(stream) {
    if (bytes == 0) return;
    auto const size = static_cast<std::size_t>(bytes);
    data_ = on_gpu_ ? runtime::allocate_on(stream, size) : ::operator new(size, std::align_val_t{256});
  }
  Workspace(Workspace const&) = delete;
  Workspace& operator=(Workspace const&) = delete;
  ~Workspace() {
    if (data_ == nullptr) return;
    if (on_gpu_) {
      runtime::release_on(stream_, data_);
    } else {
      ::operator delete(data_, std::align_val_t{256});
    }
  }

  void* data() const { return data_; }

 private:
  bool on_gpu_;
  void* stream_;
  void* data_ = nullptr;
};

}  // namespace

std::array<void*, dispatch::kSources> pointers_of(Problem const& p) {
  return {p.a.data, p.b.data, p.c.data, p.d.data, p.epilogue.bias.data, p.epilogue.residual.data, nullptr, nullptr};
}

void run_program(dispatch::Program const& program, std::array<void*, dispatch::kSources> base, Location const& location,
                 Execution const& execution, KeptWorkspace const& workspace) {
  std::optional<Workspace> own;
  base[static_cast<int>(dispatch::Source::workspace)] = workspace.data;
  if (workspace.data == nullptr && program.workspace_bytes > 0) {
    own.emplace(program.workspace_bytes, location, execution.stream);
    base[static_cast<int>(dispatch::Source::workspace)] = own->data();
  }
  if (program.steps.size() > 1) base[static_cast<int>(dispatch::Source::one)] = ones_at(location);

  int error = 0;
  char const* running = "";
  {
    py::gil_scoped_release unlocked;
    std::unique_lock<std::mutex> lock;
    if (workspace.in_use != nullptr) lock = std::unique_lock(*workspace.in_use);
    for (auto step = program.steps.begin(); step != program.steps.end() && error == 0; ++step) {
      running = step->entry->traits.name;
      error = step->entry->run(dispatch::resolved(*step, base), execution);
    }
  }
  runtime::check(error, running);
}

void prepare(dispatch::Program const& program, Location const& location) {
  if (program.steps.size() > 1) ones_at(location);
}

}  // namespace cute_py::bindings
