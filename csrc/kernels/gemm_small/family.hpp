#pragma once

#include "kernels/common/variants.hpp"
#include "kernels/gemm_small/config.hpp"
#include "kernels/gemm_small/kernel.cuh"
#include "kernels/gemm_small/params.hpp"

namespace cute_py::kernels {

extern Rules const gemm_small_rules;

struct gemm_small_family {
  static constexpr char const* name = "gemm_small";
  static constexpr Rules const& rules = gemm_small_rules;

  template <class Config>
  using Params = SmallParams<Config>;

  template <class Config>
  static constexpr auto program = &gemm_small<Config, typename Config::ProblemShape, typename Config::StrideA,
                                              typename Config::StrideB, typename Config::StrideC>;
};

}  // namespace cute_py::kernels
