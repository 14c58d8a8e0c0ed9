#pragma once

// Stands in front of the header of the same name when kernels are compiled for the emulator: clusters, and the one
// thread of a warp that is chosen.
#define cluster_arrive cluster_arrive_of_cuda
#define cluster_arrive_relaxed cluster_arrive_relaxed_of_cuda
#define cluster_wait cluster_wait_of_cuda
#define cluster_sync cluster_sync_of_cuda
#define block_rank_in_cluster block_rank_in_cluster_of_cuda
#define elect_one_sync elect_one_sync_of_cuda
#include_next <cute/arch/cluster_sm90.hpp>
#undef cluster_arrive
#undef cluster_arrive_relaxed
#undef cluster_wait
#undef cluster_sync
#undef block_rank_in_cluster
#undef elect_one_sync

#include "emulator/cta.hpp"

namespace cute {
inline namespace emulated {

inline void cluster_arrive() { cute_py::emulator::cluster_arrive(); }
inline void cluster_arrive_relaxed() { cluster_arrive(); }
inline void cluster_wait() { cute_py::emulator::cluster_wait(); }
inline void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}
inline uint32_t block_rank_in_cluster() { return static_cast<uint32_t>(cute_py::emulator::rank_in_cluster()); }
inline uint32_t elect_one_sync() { return cute_py::emulator::thread_index().x % cute_py::emulator::kWarp == 0; }

}  // namespace emulated
}  // namespace cute
