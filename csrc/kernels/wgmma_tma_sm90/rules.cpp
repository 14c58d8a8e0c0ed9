#include "kernels/common/model.hpp"

// Cost model of wgmma_tma_sm90.
namespace cute_py::kernels {
namespace {

// As at 4096 on an H200, November 2026, and microseconds of a wave that 500 runs of contractions meet within 14 % on
// average. Several CTAs of a multiprocessor store results, while others multiply.
constexpr model::Speed kSpeed{720, 0.75, 3};
constexpr double kElementsPerUs = 10000;

// Memory bound, it takes longer than a copy, because few TMA loads are in flight: 65536x8192 times 1 to 16 columns.
constexpr double kWaits = 1.5;

Estimate estimate(Geometry const& g, Extents const& x, Entry const& v, DeviceInfo const& device) {
  Traits const& t = v.traits;
  Estimate estimate = model::tiled(g, x, v, device, kSpeed, false);
  double const memory =
      device.profile.launch_us + kWaits * model::memory_bytes(g, t.fuses) / model::memory_speed(device);
  if (memory > estimate.us) estimate = {memory, Bound::memory};
  estimate.us += model::us_of_elements(g, x, t, device, kElementsPerUs);
  return estimate;
}

}  // namespace

extern Rules const wgmma_tma_sm90_rules;
Rules const wgmma_tma_sm90_rules = model::kRules<&estimate>;

}  // namespace cute_py::kernels
