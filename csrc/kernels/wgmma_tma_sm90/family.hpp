#pragma once

#include "kernels/common/variants.hpp"
#include "kernels/wgmma_tma_sm90/config.hpp"
#include "kernels/wgmma_tma_sm90/kernel.cuh"
#include "kernels/wgmma_tma_sm90/params.hpp"

namespace cute_py::kernels {

extern Rules const wgmma_tma_sm90_rules;

struct wgmma_tma_sm90_family {
  static constexpr char const* name = "wgmma_tma_sm90";
  static constexpr Rules const& rules = wgmma_tma_sm90_rules;

  template <class Config>
  using Params = WgmmaTmaParams<Config>;

  template <class Config>
  static constexpr auto program = &wgmma_tma_sm90<Config>;
};

}  // namespace cute_py::kernels
