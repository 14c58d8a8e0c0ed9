#pragma once

#include "kernels/common/variants.hpp"
#include "kernels/sgemm_1/config.hpp"
#include "kernels/sgemm_1/kernel.cuh"

namespace cute_py::kernels {

struct sgemm_1_family {
  static constexpr char const* name = "sgemm_1";

  template <class Config>
  using Params = GemmParams<Config>;

  template <class Config>
  static constexpr auto program = &sgemm_1<Config, typename Config::ProblemShape, typename Config::StrideA,
                                           typename Config::StrideB, typename Config::StrideC>;
};

}  // namespace cute_py::kernels
