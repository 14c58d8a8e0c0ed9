#include "kernels/common/model.hpp"

// How fast sgemm_sm80 is.
namespace cute_py::kernels {
namespace {

// TFLOP/s of a full device, of that what one CTA on a multiprocessor reaches, and microseconds of a wave beside its K:
// fitted to 698 runs of random products on an H200, November 2026, which they meet within 25 %. float64 and complex
// numbers beside those of any modes are in builds that nobody has timed: half, a quarter and an eighth.
model::Speed speed_of(Traits const& t) {
  if (t.tile[1] == 32) return {20.7, 1, 3.0};
  if (t.modes > 1 && t.compute == Compute::c64) return {7.75, 1, 4.2};
  if (t.modes > 1 && t.compute == Compute::c128) return {2.4, 0.98, 5.7};
  model::Speed speed{50.8, 1, 2.5};
  if (t.predicated) speed = {45.5, 0.97, 4.2};
  if (t.modes > 1) speed = {33.6, 1, 4.0};
  if (t.compute == Compute::f64) speed.tflops /= 2;
  if (t.compute == Compute::c64) speed.tflops /= 4;
  if (t.compute == Compute::c128) speed.tflops /= 8;
  return speed;
}

Estimate estimate(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  return model::tiled(g, x, t, device, speed_of(t), t.modes_m > 1);
}

}  // namespace

extern Rules const sgemm_sm80_rules;
Rules const sgemm_sm80_rules{&estimate, &model::ctas, &model::parts};

}  // namespace cute_py::kernels
