#include "kernels/common/model.hpp"

// How fast wgmma_sm90 is.
namespace cute_py::kernels {
namespace {

// A guess, which leaves the choice to gemm_sm90.
constexpr model::Speed kSpeed{400, 0.7, 5};

Estimate estimate(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  return model::tiled(g, x, t, device, kSpeed, false);
}

}  // namespace

extern Rules const wgmma_sm90_rules;
Rules const wgmma_sm90_rules{&estimate, &model::ctas_of, &model::parts};

}  // namespace cute_py::kernels
