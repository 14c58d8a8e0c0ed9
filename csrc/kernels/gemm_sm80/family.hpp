#pragma once

#include "kernels/common/variants.hpp"
#include "kernels/gemm_sm80/config.hpp"
#include "kernels/gemm_sm80/kernel.cuh"
#include "kernels/gemm_sm80/params.hpp"

namespace cute_py::kernels {

extern Rules const gemm_sm80_rules;

struct gemm_sm80_family {
  static constexpr char const* name = "gemm_sm80";
  static constexpr Rules const& rules = gemm_sm80_rules;

  template <class Config>
  using Params = GemmSm80Params<Config>;

  template <class Config>
  static constexpr auto program = &gemm_sm80<Config, typename Config::ProblemShape, typename Config::StrideA,
                                             typename Config::StrideB, typename Config::StrideC>;
};

struct NamedSm90 : NamedByTile {
  static constexpr char const* after = "sm90";
};

}  // namespace cute_py::kernels
