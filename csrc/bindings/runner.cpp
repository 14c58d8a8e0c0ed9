#include "bindings/runner.hpp"

#include <cstddef>
#include <new>
#include <optional>

#include "problem/ones.hpp"
#include "runtime/cuda.hpp"

namespace cute_py::bindings {
namespace {

// The Ones where a program runs.
void* ones_at(Location const& location) {
  return const_cast<void*>(location.target == Target::cuda ? runtime::ones_on_device() : kOnes.bytes);
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
                 Execution const& execution, void* workspace) {
  std::optional<Workspace> own;
  if (workspace == nullptr && program.workspace_bytes > 0) {
    own.emplace(program.workspace_bytes, location, execution.stream);
    workspace = own->data();
  }
  base[static_cast<int>(dispatch::Source::workspace)] = workspace;
  if (program.steps.size() > 1) base[static_cast<int>(dispatch::Source::one)] = ones_at(location);
  for (dispatch::Step const& step : program.steps) {
    runtime::check(step.entry->run(dispatch::resolved(step, base), execution), step.entry->traits.name);
  }
}

void prepare(dispatch::Program const& program, Location const& location) {
  if (program.steps.size() > 1) ones_at(location);
  if (program.workspace_bytes > 0 && location.target == Target::cuda) runtime::prepare_pool();
}

}  // namespace cute_py::bindings
