#pragma once

#include "kernels/common/variants.hpp"
#include "kernels/sgemm_sm70/config.hpp"
#include "kernels/sgemm_sm70/kernel.cuh"

namespace cute_py::kernels {

extern Rules const sgemm_sm70_rules;

struct sgemm_sm70_family {
  static constexpr char const* name = "sgemm_sm70";
  static constexpr Rules const& rules = sgemm_sm70_rules;

  template <class Config>
  using Params = SplitKParams<Config>;

  template <class Config>
  static constexpr auto program = &sgemm_sm70<Config, typename Config::ProblemShape, typename Config::StrideA,
                                              typename Config::StrideB, typename Config::StrideC>;
};

}  // namespace cute_py::kernels
