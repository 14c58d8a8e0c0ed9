#pragma once

#include "kernels/common/variants.hpp"
#include "kernels/sgemm_sm80/config.hpp"
#include "kernels/sgemm_sm80/kernel.cuh"

namespace cute_py::kernels {

extern Rules const sgemm_sm80_rules;

struct sgemm_sm80_family {
  static constexpr char const* name = "sgemm_sm80";
  static constexpr Rules const& rules = sgemm_sm80_rules;

  template <class Config>
  using Params = SplitKParams<Config>;

  template <class Config>
  static constexpr auto program = &sgemm_sm80<Config, typename Config::ProblemShape, typename Config::StrideA,
                                              typename Config::StrideB, typename Config::StrideC>;
};

}  // namespace cute_py::kernels
