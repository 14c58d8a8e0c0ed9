// All that is compiled for an instruction set, included by its translation unit behind kIsa.
#include "cpu/dot/compensated_sums.inl"
#include "cpu/dot/dot.inl"
#include "cpu/elementwise/epilogue.inl"
#include "cpu/gemm/complex_micro_kernel.inl"
#include "cpu/gemm/unpacked.inl"
#include "cpu/gemm/words.inl"
#include "cpu/gemv/gemv.inl"
#include "cpu/operations.hpp"
#include "cpu/planes/planes.inl"
#include "cpu/transpose/complex_parts.inl"
#include "cpu/transpose/convert.inl"
#include "cpu/transpose/transpose.inl"

namespace cute_py::cpu {
namespace {

template <class T>
constexpr Kernels<T> kKernels = {.gemv = kGemv<T>,
                                 .complex_gemv = kComplexGemv<T>,
                                 .dot = kDot<T>,
                                 .sums = kSums<T>,
                                 .elementwise = kElementwise<T>,
                                 .math = kMath<T>,
                                 .transpose = kTranspose<T>,
                                 .complex_parts = kComplexParts<T>,
                                 .convert = kConvert,
                                 .micro = kMicro<T>,
                                 .complex_micro = kComplexMicro<T>,
                                 .unpacked = kUnpacked<T>,
                                 .planes = kPlanes<T>};
template <>
constexpr Kernels<std::uint32_t> kKernels<std::uint32_t> = {.gemv = kGemv<std::uint32_t>,
                                                            .sums = kSums<std::uint32_t>,
                                                            .transpose = kTranspose<std::uint32_t>,
                                                            .reduce = &reduce_sums};

}  // namespace

template <>
Kernels<float> const& kernels_of<float, kIsa>() {
  return kKernels<float>;
}
template <>
Kernels<double> const& kernels_of<double, kIsa>() {
  return kKernels<double>;
}
template <>
Kernels<std::uint32_t> const& kernels_of<std::uint32_t, kIsa>() {
  return kKernels<std::uint32_t>;
}

}  // namespace cute_py::cpu
