#pragma once

#include "kernels/combine_planes/kernel.cuh"
#include "kernels/combine_planes/params.hpp"
#include "kernels/common/variants.hpp"

namespace cute_py::kernels {

extern Rules const combine_planes_rules;

struct combine_planes_family {
  static constexpr char const* name = "combine_planes";
  static constexpr Rules const& rules = combine_planes_rules;

  template <class Config>
  using Params = CombineParams<Config>;

  template <class Config>
  static constexpr auto program = &combine_planes<Config>;
};

}  // namespace cute_py::kernels
