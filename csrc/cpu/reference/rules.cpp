#include "cpu/gemm/rules.hpp"
#include "cpu/model.hpp"

namespace cute_py::cpu {
namespace {

Estimate estimate(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  constexpr double kSlower = 100;
  auto const [us, bound] = estimate_gemm(g, x, t, device);
  return {us * kSlower, bound};
}

}  // namespace

extern Rules const reference_rules;
Rules const reference_rules = model::kRules<&estimate>;

}  // namespace cute_py::cpu
