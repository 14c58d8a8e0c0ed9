#pragma once

#include "kernels/common/variants.hpp"
#include "kernels/sgemm_2/config.hpp"
#include "kernels/sgemm_2/kernel.cuh"

namespace cute_py::kernels {

extern Rules const sgemm_2_rules;

struct sgemm_2_family {
  static constexpr char const* name = "sgemm_2";
  static constexpr Rules const& rules = sgemm_2_rules;

  template <class Config>
  using Params = GemmParams<Config>;

  template <class Config>
  static constexpr auto program = &sgemm_2<Config, typename Config::ProblemShape, typename Config::StrideA,
                                           typename Config::StrideB, typename Config::StrideC>;
};

}  // namespace cute_py::kernels
