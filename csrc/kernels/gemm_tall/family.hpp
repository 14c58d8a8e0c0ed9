#pragma once

#include "kernels/common/variants.hpp"
#include "kernels/gemm_tall/config.hpp"
#include "kernels/gemm_tall/kernel.cuh"
#include "kernels/gemm_tall/params.hpp"

namespace cute_py::kernels {

extern Rules const gemm_tall_rules;

struct gemm_tall_family {
  static constexpr char const* name = "gemm_tall";
  static constexpr Rules const& rules = gemm_tall_rules;

  template <class Config>
  using Params = TallParams<Config>;

  template <class Config>
  static constexpr auto program = &gemm_tall<Config, typename Config::ProblemShape, typename Config::StrideA,
                                             typename Config::StrideB, typename Config::StrideC>;
};

}  // namespace cute_py::kernels
