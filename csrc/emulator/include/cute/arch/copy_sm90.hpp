#pragma once

// Stands in front of the header of the same name when kernels are compiled for the emulator: stmatrix.
#define SM90_U32x4_STSM_N SM90_U32x4_STSM_N_of_cuda
#define SM90_U16x8_STSM_T SM90_U16x8_STSM_T_of_cuda
#include_next <cute/arch/copy_sm90.hpp>
#undef SM90_U32x4_STSM_N
#undef SM90_U16x8_STSM_T

#include "emulator/sm90.hpp"

namespace cute {
inline namespace emulated {

template <bool transposed>
struct StoreMatrices {
  using SRegisters = uint32_t[4];
  using DRegisters = uint128_t[1];

  static void copy(uint32_t const& x, uint32_t const& y, uint32_t const& z, uint32_t const& w, uint128_t& to) {
    cute_py::emulator::store_matrices(&to, {x, y, z, w}, transposed);
  }
};
struct SM90_U32x4_STSM_N : StoreMatrices<false> {};
struct SM90_U16x8_STSM_T : StoreMatrices<true> {};

}  // namespace emulated
}  // namespace cute
