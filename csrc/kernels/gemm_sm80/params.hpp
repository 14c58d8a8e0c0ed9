#pragma once

#include "kernels/common/params.hpp"
#include "kernels/gemm_sm80/config.hpp"

namespace cute_py::kernels {

// The arguments of gemm_sm80: of residues the moduli, too.
template <class Config>
struct GemmSm80Params : SplitKParams<Config> {
  typename Config::Moduli moduli;

  GemmSm80Params(Geometry const& g, Schedule const& schedule) : SplitKParams<Config>(g, schedule) {
    if constexpr (Config::residues) moduli = ModuliOfBatch(g);
  }

  template <class Call>
  decltype(auto) apply(Call const& call) const {
    return SplitKParams<Config>::apply([&](auto const&... x) { return call(x..., moduli); });
  }
};

}  // namespace cute_py::kernels
