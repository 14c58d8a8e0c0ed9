#include "kernels/common/model.hpp"

// Cost model of sgemm_sm70.
namespace cute_py::kernels {
namespace {

// TFLOP/s of a full device, of that what one CTA on a multiprocessor reaches, and microseconds of a wave beside its K:
// fitted to 741 runs of random products on an H200, November 2026, which they meet within 25 %. float64 and complex
// numbers beside those of any modes are in builds that nobody has timed: half, a quarter and an eighth.
model::Speed speed_of(Traits const& t) {
  if (t.modes.n_and_k > 1 && t.types.compute == Compute::f64) return {5.3, 0.8, 5.5};
  if (t.modes.n_and_k > 1 && t.types.compute == Compute::c64) return {4.0, 0.93, 9.4};
  if (t.modes.n_and_k > 1 && t.types.compute == Compute::c128) return {1.6, 0.88, 5.8};
  model::Speed speed{48.1, 1, 1.8};
  if (!t.operands.is_whole()) speed = {40.0, 0.95, 9.0};
  if (t.modes.n_and_k > 1) speed = {12.4, 0.82, 30};
  if (t.types.compute == Compute::f64) speed.tflops /= 2;
  if (t.types.compute == Compute::c64) speed.tflops /= 4;
  if (t.types.compute == Compute::c128) speed.tflops /= 8;
  return speed;
}

Estimate estimate(Geometry const& g, Extents const& x, Entry const& v, DeviceInfo const& device) {
  Traits const& t = v.traits;
  return model::tiled(g, x, v, device, speed_of(t), t.modes.m > 1);
}

}  // namespace

extern Rules const sgemm_sm70_rules;
Rules const sgemm_sm70_rules = model::kRules<&estimate>;

}  // namespace cute_py::kernels
