#pragma once

#include <cstdint>
#include <tuple>

#include <cute/tensor.hpp>

#include "problem/entry.hpp"

// From the plain values of a Problem to the typed arguments of a kernel, and from a Config to the Traits of an entry.
namespace cute_py::instances {

template <class T>
T typed_stride(std::int64_t value) {
  if constexpr (cute::is_static<T>::value) {
    return T{};  // the legality check has seen that the value is the same
  } else {
    return value;
  }
}

template <class S0, class S1>
cute::Stride<S0, S1> typed_strides(cute::Stride<S0, S1> const&, Matrix const& matrix) {
  return {typed_stride<S0>(matrix.stride[0]), typed_stride<S1>(matrix.stride[1])};
}

using ProblemShape = cute::Shape<int, int, int>;  // (M,N,K)

template <class Config>
auto kernel_arguments(Problem const& p) {
  return std::make_tuple(
      ProblemShape{static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k)},
      static_cast<typename Config::TA const*>(p.a.data), typed_strides(typename Config::StrideA{}, p.a),
      static_cast<typename Config::TB const*>(p.b.data), typed_strides(typename Config::StrideB{}, p.b),
      static_cast<typename Config::TC*>(p.c.data), typed_strides(typename Config::StrideC{}, p.c), p.alpha, p.beta);
}

struct Grid {
  unsigned m;
  unsigned n;
};

// One CTA per tile of C.
template <class Config>
Grid grid_of(Problem const& p) {
  constexpr int blk_m = cute::size<0>(typename Config::CtaTiler{});
  constexpr int blk_n = cute::size<1>(typename Config::CtaTiler{});
  return {static_cast<unsigned>((p.m + blk_m - 1) / blk_m), static_cast<unsigned>((p.n + blk_n - 1) / blk_n)};
}

template <class Config>
constexpr Traits traits_of(char const* name, char const* kernel, char const* layout, Target target, Major major_a,
                           Major major_b) {
  using Tiler = typename Config::CtaTiler;
  return {name,
          kernel,
          layout,
          target,
          {cute::size<0>(Tiler{}), cute::size<1>(Tiler{}), cute::size<2>(Tiler{})},
          Config::threads,
          Config::stages,
          static_cast<int>(sizeof(typename Config::SharedStorage)),
          Config::predicated,
          major_a,
          major_b,
          Config::alignment_bytes,
          Config::compute_capability,
          Isa::baseline};
}

}  // namespace cute_py::instances
