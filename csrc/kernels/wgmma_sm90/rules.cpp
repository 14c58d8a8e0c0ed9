#include "kernels/common/model.hpp"

// Cost model of wgmma_sm90.
namespace cute_py::kernels {
namespace {

// As at 4096 on an H200, November 2026.
constexpr model::Speed kSpeed{720, 0.75, 4};

Estimate estimate(Geometry const& g, Extents const& x, Entry const& v, DeviceInfo const& device) {
  Traits const& t = v.traits;
  Estimate estimate = model::tiled(g, x, v, device, kSpeed, false);
  estimate.us += model::us_of_elements(g, x, t, device);
  return estimate;
}

}  // namespace

extern Rules const wgmma_sm90_rules;
Rules const wgmma_sm90_rules = model::kRules<&estimate>;

}  // namespace cute_py::kernels
