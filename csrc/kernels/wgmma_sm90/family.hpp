#pragma once

#include "kernels/common/variants.hpp"
#include "kernels/wgmma_sm90/config.hpp"
#include "kernels/wgmma_sm90/kernel.cuh"

namespace cute_py::kernels {

extern Rules const wgmma_sm90_rules;

struct wgmma_sm90_family {
  static constexpr char const* name = "wgmma_sm90";
  static constexpr Rules const& rules = wgmma_sm90_rules;

  template <class Config>
  using Params = GemmParams<Config>;

  template <class Config>
  static constexpr auto program = &wgmma_sm90<Config>;
};

}  // namespace cute_py::kernels
