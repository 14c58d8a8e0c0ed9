#include "kernels/common/model.hpp"

// How fast sgemm_1 is.
namespace cute_py::kernels {
namespace {

// TFLOP/s of a full device, of that what one CTA on a multiprocessor reaches, and microseconds of a wave beside its K:
// fitted to 730 runs of random products on an H200, November 2026, which they meet within 25 %. float64 and complex
// numbers beside those of any modes are in builds that nobody has timed: half, a quarter and an eighth.
model::Speed speed_of(Traits const& t) {
  if (t.modes_m > t.modes) return {22.1, 1, 30};  // each thread writes its own results, wherever two modes have them
  model::Speed speed{34.4, 0.94, 1.0};
  if (t.predicated) speed = {31.1, 0.83, 1.8};
  if (t.modes > 1) speed = {17.5, 0.6, 22};
  if (t.compute == Compute::f64) speed.tflops /= 2;
  if (t.compute == Compute::c64) speed.tflops /= 4;
  if (t.compute == Compute::c128) speed.tflops /= 8;
  return speed;
}

Estimate estimate(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  return model::tiled(g, x, t, device, speed_of(t), t.modes_m > 1);
}

}  // namespace

extern Rules const sgemm_1_rules;
Rules const sgemm_1_rules = model::kRules<&estimate>;

}  // namespace cute_py::kernels
