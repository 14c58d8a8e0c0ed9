#pragma once

#include <cstdint>

#include <cute/arch/copy_sm90_desc.hpp>

#include "emulator/sm90.hpp"

// Stands in the place of the header of the same name when kernels are compiled for the emulator: what our kernels use
// of it.
namespace cutlass::arch {
inline namespace emulated {

struct ClusterBarrier {
  using ValueType = std::uint64_t;

  static void init(ValueType const* at, std::uint32_t threads) { cute_py::emulator::mbarrier_init(at, threads); }
  static void wait(ValueType const* at, std::uint32_t parity) { cute_py::emulator::mbarrier_wait(at, parity); }
  static bool test_wait(ValueType const* at, std::uint32_t parity, std::uint32_t predicate) {
    return predicate != 0 && cute_py::emulator::mbarrier_has_ended(at, parity);
  }
  static void arrive(ValueType const* at) { cute_py::emulator::mbarrier_arrive(at); }
  static void arrive(ValueType const* at, std::uint32_t cta, std::uint32_t predicate) {
    if (predicate != 0) arrive(static_cast<ValueType*>(cute_py::emulator::shared_memory_of(static_cast<int>(cta), at)));
  }
};

struct ClusterTransactionBarrier : ClusterBarrier {
  static void arrive_and_expect_tx(ValueType const* at, std::uint32_t bytes) {
    cute_py::emulator::mbarrier_expect(at, bytes);
    cute_py::emulator::mbarrier_arrive(at);
  }
};

struct NamedBarrier {
  static constexpr std::uint32_t reserved = 8;  // of CUTLASS's own
  std::uint32_t threads;
  std::uint32_t number;

  NamedBarrier(std::uint32_t threads, std::uint32_t number) : threads(threads), number(number) {}
  void sync() const { sync(threads, number); }
  static void sync(std::uint32_t threads, std::uint32_t number) {
    cute_py::emulator::named_barrier(static_cast<int>(number + reserved), static_cast<int>(threads), true);
  }
  static void arrive(std::uint32_t threads, std::uint32_t number) {
    cute_py::emulator::named_barrier(static_cast<int>(number + reserved), static_cast<int>(threads), false);
  }
};

inline void fence_barrier_init() { cute_py::emulator::fence_mbarriers(); }
inline void fence_view_async_shared() { cute_py::emulator::fence_async_proxy(); }

}  // namespace emulated
}  // namespace cutlass::arch
