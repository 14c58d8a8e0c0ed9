#pragma once

#include "kernels/common/variants.hpp"
#include "kernels/gemm_skinny/config.hpp"
#include "kernels/gemm_skinny/kernel.cuh"

namespace cute_py::kernels {

extern Rules const gemm_skinny_rules;

struct gemm_skinny_family {
  static constexpr char const* name = "gemm_skinny";
  static constexpr Rules const& rules = gemm_skinny_rules;

  template <class Config>
  using Params = SplitKParams<Config, Config::sums_of_thread>;

  template <class Config>
  static constexpr auto program = &gemm_skinny<Config, typename Config::ProblemShape, typename Config::StrideA,
                                               typename Config::StrideB, typename Config::StrideC>;
};

}  // namespace cute_py::kernels
