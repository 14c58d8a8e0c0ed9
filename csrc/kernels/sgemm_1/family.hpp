#pragma once

#include "kernels/common/variants.hpp"
#include "kernels/sgemm_1/config.hpp"
#include "kernels/sgemm_1/kernel.cuh"

namespace cute_py::kernels {

extern Rules const sgemm_1_rules;

struct sgemm_1_family {
  static constexpr char const* name = "sgemm_1";
  static constexpr Rules const& rules = sgemm_1_rules;

  template <class Config>
  using Params = GemmParams<Config>;

  template <class Config>
  static constexpr auto program = &sgemm_1<Config, typename Config::ProblemShape, typename Config::StrideA,
                                           typename Config::StrideB, typename Config::StrideC>;
};

}  // namespace cute_py::kernels
