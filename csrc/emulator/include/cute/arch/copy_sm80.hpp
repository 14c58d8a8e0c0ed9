#pragma once

#include <cute/config.hpp>
#include <cute/numeric/integral_constant.hpp>

#include <cute/arch/copy.hpp>

#include "emulator/cta.hpp"

// Stands in front of the header of the same name when kernels are compiled for the emulator: the instructions of SM80's
// asynchronous copy, done by the host. The traits above them are CuTe's own. An inline namespace keeps these apart from
// the real ones in one program.
namespace cute {
inline namespace emulated {

template <class TS, class TD = TS>
struct SM80_CP_ASYNC_CACHEALWAYS {
  using SRegisters = TS[1];
  using DRegisters = TD[1];

  static_assert(sizeof(TS) == sizeof(TD), "cp.async copies between types of one size");
  static_assert(sizeof(TS) == 4 || sizeof(TS) == 8 || sizeof(TS) == 16, "cp.async copies 4, 8 or 16 bytes");

  static void copy(TS const& source, TD& destination) {
    cute_py::emulator::async_copy(&destination, &source, sizeof(TS), false);
  }
};

template <class TS, class TD = TS>
struct SM80_CP_ASYNC_CACHEGLOBAL : SM80_CP_ASYNC_CACHEALWAYS<TS, TD> {
  static_assert(sizeof(TS) == 16, "cp.async.cg copies 16 bytes");
};

template <class TS, class TD = TS>
struct SM80_CP_ASYNC_CACHEALWAYS_ZFILL {
  using SRegisters = TS[1];
  using DRegisters = TD[1];

  static_assert(sizeof(TS) == sizeof(TD), "cp.async copies between types of one size");
  static_assert(sizeof(TS) == 4 || sizeof(TS) == 8 || sizeof(TS) == 16, "cp.async copies 4, 8 or 16 bytes");

  static void copy(TS const& source, TD& destination, bool pred) {
    cute_py::emulator::async_copy(&destination, &source, sizeof(TS), !pred);
  }
};

template <class TS, class TD = TS>
struct SM80_CP_ASYNC_CACHEGLOBAL_ZFILL : SM80_CP_ASYNC_CACHEALWAYS_ZFILL<TS, TD> {
  static_assert(sizeof(TS) == 16, "cp.async.cg copies 16 bytes");
};

inline void cp_async_fence() { cute_py::emulator::async_commit(); }

template <int N>
void cp_async_wait() {
  cute_py::emulator::async_wait(N);
}

template <int N>
void cp_async_wait(Int<N>) {
  cp_async_wait<N>();
}

}  // namespace emulated
}  // namespace cute
