#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

// How a program launches kernels. Included by programs.
namespace cute_py::workbench {

struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t dynamic_bytes = 0;
  cudaStream_t stream = nullptr;
  dim3 cluster{1, 1, 1};
};

// Runs call(arguments) once for each thread of the grid. `bound` holds the arguments, which threads may read.
cudaError_t launch(char const* kernel, Configuration const& configuration, void (*call)(void const* bound),
                   void const* bound, std::size_t bytes);

// What a launch with <<<...>>> becomes: launch(name, grid, block, bytes, stream).with(call)(arguments...).
template <class Call>
class Launcher {
 public:
  Launcher(char const* kernel, Configuration const& configuration, Call call)
      : kernel_(kernel), configuration_(configuration), call_(std::move(call)) {}

  template <class... Arguments>
  void operator()(Arguments&&... arguments) const {
    struct Bound {
      Call call;
      std::tuple<std::decay_t<Arguments>...> arguments;
    };
    Bound const bound{call_, {std::forward<Arguments>(arguments)...}};
    static_cast<void>(launch(
        kernel_, configuration_,
        [](void const* given) {
          auto const& b = *static_cast<Bound const*>(given);
          std::apply(b.call, b.arguments);
        },
        &bound, sizeof(bound)));
  }

 private:
  char const* kernel_;
  Configuration configuration_;
  Call call_;
};

class ConfiguredLaunch {
 public:
  ConfiguredLaunch(char const* kernel, dim3 grid, dim3 block, std::size_t bytes = 0, cudaStream_t stream = nullptr,
                   dim3 cluster = dim3(1, 1, 1))
      : kernel_(kernel), configuration_{grid, block, bytes, stream, cluster} {}
  template <class Call>
  Launcher<Call> with(Call call) const {
    return {kernel_, configuration_, std::move(call)};
  }

 private:
  char const* kernel_;
  Configuration configuration_;
};

// A kernel by its address, for launches that give arguments as an array of pointers: copies what they point to, and
// hands on how to call it.
using Continue = cudaError_t (*)(void* context, void (*call)(void const* bound), void const* bound, std::size_t bytes);
using Bind = cudaError_t (*)(void* const* arguments, Continue go_on, void* context);
bool enroll(void const* kernel, char const* name, Bind bind);

template <class Signature>
struct Binder;
template <class... Parameters>
struct Binder<void (*)(Parameters...)> {
  using Bound = std::tuple<std::decay_t<Parameters>...>;

  template <std::size_t... i>
  static Bound copy(void* const* arguments, std::index_sequence<i...>) {
    return Bound(*static_cast<std::decay_t<Parameters> const*>(arguments[i])...);
  }
  template <auto kernel>
  static cudaError_t bind(void* const* arguments, Continue go_on, void* context) {
    Bound const bound = copy(arguments, std::index_sequence_for<Parameters...>{});
    return go_on(
        context, [](void const* given) { std::apply(kernel, *static_cast<Bound const*>(given)); }, &bound,
        sizeof(bound));
  }
};

// A kernel's body names this, so that its address is known before main() begins.
template <auto kernel>
struct Enrolled {
  static bool now() {
    return enroll(reinterpret_cast<void const*>(kernel), __PRETTY_FUNCTION__,
                  &Binder<decltype(kernel)>::template bind<kernel>);
  }
  static inline bool const done = now();
};

// __shared__ variables. The type of `key`, a lambda, is another one for each place and each instance of a template.
void* shared_memory_of_variable(void const* key, std::size_t bytes, std::size_t alignment);
void* dynamic_shared_memory();

template <class T, std::size_t specified = 16, class Key>
T& shared_variable(Key const&) {
  static char const key = 0;
  constexpr std::size_t least = specified < 16 ? 16 : specified;
  return *static_cast<T*>(shared_memory_of_variable(&key, sizeof(T), alignof(T) < least ? least : alignof(T)));
}
template <class T>
T (&dynamic_shared())
[] { return *static_cast<T(*)[]>(dynamic_shared_memory()); }

}  // namespace cute_py::workbench
