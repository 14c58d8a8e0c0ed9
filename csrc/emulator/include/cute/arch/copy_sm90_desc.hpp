#pragma once

// Stands in front of the header of the same name when kernels are compiled for the emulator, where nothing has to be
// fetched ahead.
#define prefetch_tma_descriptor prefetch_tma_descriptor_of_cuda
#include_next <cute/arch/copy_sm90_desc.hpp>
#undef prefetch_tma_descriptor

namespace cute {
inline namespace emulated {

inline void prefetch_tma_descriptor(TmaDescriptor const*) {}

}  // namespace emulated
}  // namespace cute
