#include "kernels/common/model.hpp"

// Cost model of sgemm_1.
namespace cute_py::kernels {
namespace {

// TFLOP/s of a full device, of that what one CTA on a multiprocessor reaches, and microseconds of a wave beside its K:
// fitted to 730 runs of random products on an H200, November 2026, which they meet within 25 %. float64 and complex
// numbers beside those of any modes are in builds that nobody has timed: half, a quarter and an eighth.
model::Speed speed_of(Traits const& t) {
  if (t.modes.m > t.modes.n_and_k)
    return {22.1, 1, 30};  // each thread writes its own results, wherever two modes have them
  model::Speed speed{34.4, 0.94, 1.0};
  if (!t.operands.is_whole()) speed = {31.1, 0.83, 1.8};
  if (t.modes.n_and_k > 1) speed = {17.5, 0.6, 22};
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

extern Rules const sgemm_1_rules;
Rules const sgemm_1_rules = model::kRules<&estimate>;

}  // namespace cute_py::kernels
