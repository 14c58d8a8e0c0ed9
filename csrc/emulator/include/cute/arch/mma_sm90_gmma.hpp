#pragma once

// Stands in front of the header of the same name when kernels are compiled for the emulator: when products of a
// warpgroup are waited for. The instructions themselves are done from their traits (emulator/warpgroup.hpp).
#define warpgroup_arrive warpgroup_arrive_of_cuda
#define warpgroup_wait warpgroup_wait_of_cuda
#define warpgroup_commit_batch warpgroup_commit_batch_of_cuda
#include_next <cute/arch/mma_sm90_gmma.hpp>
#undef warpgroup_arrive
#undef warpgroup_wait
#undef warpgroup_commit_batch

#include "emulator/sm90.hpp"

namespace cute {
inline namespace emulated {

inline void warpgroup_arrive() { cute_py::emulator::note_registers_fenced(true); }
inline void warpgroup_commit_batch() { cute_py::emulator::warpgroup_commit(); }
template <int N>
void warpgroup_wait() {
  cute_py::emulator::warpgroup_wait(N);
}

}  // namespace emulated
}  // namespace cute
