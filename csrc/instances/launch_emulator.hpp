#pragma once

#include "emulator/builtins.hpp"
#include "instances/arguments.hpp"

namespace cute_py::instances {
// The linker must not take one target's templates for those of the same name and types of the other.
inline namespace on_emulator {

inline constexpr Target kTarget = Target::emulator;

// Runs one CTA per tile of C on this machine's cores and returns when all are done.
template <class Config, class... Args>
int launch(void (*kernel)(Args...), Problem const& problem, Execution const& execution) {
  for_each_grid<Config>(problem, [&](Grid const& grid, std::uint32_t first_product) {
    auto const arguments = kernel_arguments<Config>(problem, first_product);
    emulator::run_grid({grid.m, grid.n, grid.l}, Config::threads, sizeof(typename Config::SharedStorage), execution,
                       [&] { std::apply(kernel, arguments); });
  });
  return 0;
}

// Registers of a thread: the emulator has none.
template <class... Args>
int registers_of(void (*)(Args...)) {
  return 0;
}

}  // namespace on_emulator
}  // namespace cute_py::instances
