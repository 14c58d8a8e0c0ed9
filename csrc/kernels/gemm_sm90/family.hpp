#pragma once

#include "kernels/common/variants.hpp"
#include "kernels/gemm_sm90/config.hpp"
#include "kernels/gemm_sm90/kernel.cuh"
#include "kernels/gemm_sm90/params.hpp"

namespace cute_py::kernels {

extern Rules const gemm_sm90_rules;

struct gemm_sm90_family {
  static constexpr char const* name = "gemm_sm90";
  static constexpr Rules const& rules = gemm_sm90_rules;

  template <class Config>
  using Params = GemmSm90Params<Config>;

  template <class Config>
  static constexpr auto program = &gemm_sm90<Config>;
};

}  // namespace cute_py::kernels
