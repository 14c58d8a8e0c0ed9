#pragma once

// Stands in front of the header of the same name when kernels are compiled for the emulator: TMA.
#define SM90_TMA_LOAD_3D SM90_TMA_LOAD_3D_of_cuda
#define SM90_TMA_LOAD_5D SM90_TMA_LOAD_5D_of_cuda
#define SM90_TMA_LOAD_MULTICAST_5D SM90_TMA_LOAD_MULTICAST_5D_of_cuda
#define SM90_TMA_STORE_5D SM90_TMA_STORE_5D_of_cuda
#define tma_store_fence tma_store_fence_of_cuda
#define tma_store_arrive tma_store_arrive_of_cuda
#define tma_store_wait tma_store_wait_of_cuda
#include_next <cute/arch/copy_sm90_tma.hpp>
#undef SM90_TMA_LOAD_3D
#undef SM90_TMA_LOAD_5D
#undef SM90_TMA_LOAD_MULTICAST_5D
#undef SM90_TMA_STORE_5D
#undef tma_store_fence
#undef tma_store_arrive
#undef tma_store_wait

#include "emulator/sm90.hpp"

namespace cute {
inline namespace emulated {

struct SM90_TMA_LOAD_5D {
  static void copy(void const* map, uint64_t* barrier, uint64_t, void* to, int c0, int c1, int c2, int c3, int c4) {
    cute_py::emulator::load_box(static_cast<cute_py::TensorMap const*>(map), barrier, to,
                                1u << cute_py::emulator::rank_in_cluster(), {c0, c1, c2, c3, c4});
  }
};

struct SM90_TMA_LOAD_3D {
  static void copy(void const* map, uint64_t* barrier, uint64_t hint, void* to, int c0, int c1, int c2) {
    SM90_TMA_LOAD_5D::copy(map, barrier, hint, to, c0, c1, c2, 0, 0);
  }
};

struct SM90_TMA_LOAD_MULTICAST_5D {
  static void copy(void const* map, uint64_t* barrier, uint16_t ctas, uint64_t, void* to, int c0, int c1, int c2,
                   int c3, int c4) {
    cute_py::emulator::load_box(static_cast<cute_py::TensorMap const*>(map), barrier, to, ctas, {c0, c1, c2, c3, c4});
  }
};

struct SM90_TMA_STORE_5D {
  static void copy(void const* map, void const* from, int c0, int c1, int c2, int c3, int c4) {
    cute_py::emulator::store_box(static_cast<cute_py::TensorMap const*>(map), from, {c0, c1, c2, c3, c4});
  }
};

inline void tma_store_fence() { cute_py::emulator::fence_async_proxy(); }
inline void tma_store_arrive() { cute_py::emulator::store_commit(); }
template <int Count>
void tma_store_wait() {
  cute_py::emulator::store_wait(Count);
}

}  // namespace emulated
}  // namespace cute
