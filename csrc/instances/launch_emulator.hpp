#pragma once

#include <memory>
#include <type_traits>

#include "catalogue/json.hpp"
#include "catalogue/reflect.hpp"
#include "emulator/builtins.hpp"
#include "instances/add.hpp"

namespace cute_py::instances {
// The linker must not take one target's templates for those of the same name and types of the other.
inline namespace on_emulator {

// Of integers, and of offsets, the number furthest from 0; else NaN.
template <class Config>
inline constexpr unsigned char kPoisonOf =
    std::is_integral_v<typename Config::TA> ? emulator::kIntegerPoison : emulator::kPoison;

// A kernel whose arguments are complete but for arrays and numbers. Runs its CTAs on this machine's cores and returns
// when all are done.
template <class Config, class Params, auto kernel>
class EmulatorLaunch final : public Launch {
 public:
  EmulatorLaunch(char const* name, Geometry const& geometry, Schedule const& schedule)
      : name_(name), geometry_(geometry), params_(geometry, schedule), schedule_(schedule) {}

  int run(Arguments const& given, Execution const& execution) const override {
    Params params = params_;
    params.bind(given);
    emulator::Launch launch{};
    launch.kernel = name_;
    launch.threads = Config::threads;
    if constexpr (kernels::kIsPass<Config>) launch.cluster = static_cast<int>(params.cluster());
    if constexpr (kernels::kHasTensors<Params>) {
      launch.cluster = static_cast<int>(params.cluster());
      params.for_each_tensor(
          [&](TensorMap& map, TensorBox const& box, Role role) { map = emulator::map_of(box, given.data[role]); });
    }
    if constexpr (kernels::kOrdersTiles<Params>) {
      launch.tile_of = [](void const* arguments, unsigned cta) {
        auto const tile = static_cast<Params const*>(arguments)->first_tile(cta);
        return emulator::Index3{tile.m, tile.n, tile.l};
      };
    }
    launch.shared_bytes = sizeof(typename Config::SharedStorage);
    launch.poison = kPoisonOf<Config>;
    launch.body = &run_thread;
    launch.arguments = &params;
    launch.argument_bytes = sizeof(Params);
    launch.operands = emulator::operands_of(geometry_, given, schedule_.workspace_bytes);
    auto const run_grid = [&](kernels::Grid const& grid) {
      launch.grid = {grid.m, grid.n, grid.l};
      emulator::run_grid(launch, execution);
    };
    if constexpr (kernels::kHasTensors<Params>) {
      // A small number, so that a persistent CTA has several tiles; in a trace each has one.
      constexpr int kMultiprocessors = 3;
      constexpr int kMany = 1 << 24;
      params.for_each_grid(execution.tracer == nullptr ? kMultiprocessors : kMany, run_grid);
    } else {
      params.for_each_grid(run_grid);
    }
    return 0;
  }

 private:
  static void run_thread(void const* arguments) {
    static_cast<Params const*>(arguments)->apply([](auto const&... x) { kernel(x...); });
  }

  char const* name_;
  Geometry geometry_;
  Params params_;
  Schedule schedule_;
};

struct Emulator {
  static constexpr Target target = Target::emulator;

  template <class Config>
  static std::string describe_config() {
    return catalogue::json::value(catalogue::reflect_config<Config>());
  }

  // Of copies and other passes, whose layouts are run-time values, there is nothing to tell, and nothing again of what
  // python/cute_py/tables has.
#ifdef CUTE_PY_DESCRIBED
  static constexpr bool is_described = true;
#else
  static constexpr bool is_described = false;
#endif
  template <class Config>
  static constexpr Describe describe = [] {
    if constexpr (kernels::kCopies<Config> || kernels::kIsPass<Config> || is_described)
      return Describe(nullptr);
    else
      return Describe(&describe_config<Config>);
  }();

  template <class Family, class Config>
  static std::unique_ptr<Launch> prepare(char const* name, Geometry const& geometry, Schedule const& schedule) {
    using Params = typename Family::template Params<Config>;
    return std::make_unique<EmulatorLaunch<Config, Params, Family::template program<Config>>>(name, geometry, schedule);
  }

  // The emulator has none.
  template <class Family, class Config>
  static int registers() {
    return 0;
  }
  template <class Family, class Config>
  static constexpr int (*clusters)(int) = nullptr;
};

using ThisTarget = Emulator;

}  // namespace on_emulator
}  // namespace cute_py::instances
