#pragma once

// Stands in front of the header of the same name when kernels are compiled for the emulator: an address in shared
// memory as a number is counted from where the CTA's begins.
#define cast_smem_ptr_to_uint cast_smem_ptr_to_uint_of_cuda
#include_next <cute/arch/util.hpp>
#undef cast_smem_ptr_to_uint

#include "emulator/cta.hpp"

namespace cute {
inline namespace emulated {

inline uint32_t cast_smem_ptr_to_uint(void const* at) { return cute_py::emulator::address_in_shared(at); }

}  // namespace emulated
}  // namespace cute
