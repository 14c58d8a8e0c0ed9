#pragma once

#include "kernels/common/variants.hpp"
#include "kernels/split_planes/kernel.cuh"
#include "kernels/split_planes/params.hpp"

namespace cute_py::kernels {

extern Rules const split_planes_rules;

struct split_planes_family {
  static constexpr char const* name = "split_planes";
  static constexpr Rules const& rules = split_planes_rules;

  template <class Config>
  using Params = SplitParams<Config>;

  template <class Config>
  static constexpr auto program = &split_planes<Config>;
};

}  // namespace cute_py::kernels
