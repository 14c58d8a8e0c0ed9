#pragma once

#include "emulator/builtins.hpp"
#include "instances/arguments.hpp"

namespace cute_py::instances {
// The linker must not take one target's templates for those of the same name and types of the other.
inline namespace on_emulator {

inline constexpr Target kTarget = Target::emulator;

template <class Config>
using Kernel = void (*)(typename Config::ProblemShape, typename Config::PointerA, typename Config::StrideA,
                        typename Config::PointerB, typename Config::StrideB, typename Config::TC*,
                        typename Config::StrideC, kernels::Epilogue<typename Config::TE>, Batch);

template <class Config, Kernel<Config> kernel>
void run_thread(void const* arguments) {
  auto const& x = *static_cast<KernelArguments<Config> const*>(arguments);
  kernel(x.shape, x.a, x.stride_a, x.b, x.stride_b, x.d, x.stride_d, x.epilogue, x.batch);
}

// Of integers, and of offsets, the number furthest from 0; else NaN.
template <class Config>
inline constexpr unsigned char kPoisonOf =
    std::is_integral_v<typename Config::TA> ? emulator::kIntegerPoison : emulator::kPoison;

// Runs one CTA per tile of C on this machine's cores and returns when all are done.
template <class Config, Kernel<Config> kernel>
int launch(char const* name, Problem const& problem, Execution const& execution) {
  emulator::Launch launch{};
  launch.kernel = name;
  launch.threads = Config::threads;
  launch.shared_bytes = sizeof(typename Config::SharedStorage);
  launch.poison = kPoisonOf<Config>;
  launch.body = &run_thread<Config, kernel>;
  launch.argument_bytes = sizeof(KernelArguments<Config>);
  launch.operands = emulator::operands_of(problem);
  for_each_grid<Config>(problem, [&](Grid const& grid, std::uint32_t first_product) {
    KernelArguments<Config> const arguments(problem, first_product);
    launch.arguments = &arguments;
    launch.grid = {grid.m, grid.n, grid.l};
    emulator::run_grid(launch, execution);
  });
  return 0;
}

// Registers of a thread: the emulator has none.
template <class Config, Kernel<Config>>
int registers_of() {
  return 0;
}

}  // namespace on_emulator
}  // namespace cute_py::instances
