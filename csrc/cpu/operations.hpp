#pragma once

#include "cpu/dot/dot.hpp"
#include "cpu/elementwise/elementwise.hpp"
#include "cpu/gemm/micro_kernel.hpp"
#include "cpu/gemv/gemv.hpp"
#include "cpu/isa.hpp"
#include "cpu/math/math.hpp"
#include "cpu/planes/planes.hpp"
#include "cpu/transpose/transpose.hpp"

namespace cute_py::cpu {

// The operations of an instruction set on numbers of one type: a folder of csrc/cpu for each, whose .inl has the
// contract.
template <class T>
struct Kernels {
  GemvKernel<T> gemv;
  ComplexGemvKernel<T> complex_gemv;
  DotKernel<T> dot;
  SumsKernel<T> sums;
  ElementwiseKernel<T> elementwise;
  MathKernel<T> math;
  TransposeKernel<T> transpose;
  ComplexPartsKernel<T> complex_parts;
  ConvertKernel convert;
  MicroKernel<T> micro;
  ComplexMicroKernel<T> complex_micro;
  UnpackedKernel<T> unpacked;
  PlanesKernel<T> planes;
};

// int32, unsigned so that sums wrap round instead of overflowing: the bits are the same. Its epilogue is computed in
// doubles, and its micro-kernel has words of int8 (WordKernel).
template <>
struct Kernels<std::uint32_t> {
  GemvKernel<std::uint32_t> gemv;
  SumsKernel<std::uint32_t> sums;
  TransposeKernel<std::uint32_t> transpose;
  ReduceKernel reduce;
};

template <class T, Isa isa>
Kernels<T> const& kernels_of();  // of float, double and uint32

}  // namespace cute_py::cpu
