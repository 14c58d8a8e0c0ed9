#pragma once

#include "kernels/common/variants.hpp"
#include "kernels/permute/kernel.cuh"
#include "kernels/permute/params.hpp"

namespace cute_py::kernels {

extern Rules const permute_rules;

struct permute_family {
  static constexpr char const* name = "permute";
  static constexpr Rules const& rules = permute_rules;

  template <class Config>
  using Params = PermuteParams<Config>;

  template <class Config>
  static constexpr auto program = &permute<Config>;
};

}  // namespace cute_py::kernels
