#include "kernels/common/model.hpp"

// Cost model of sgemm_sm80.
namespace cute_py::kernels {
namespace {

// TFLOP/s of a full device, of that what one CTA on a multiprocessor reaches, and microseconds of a wave beside its K:
// fitted to runs of random products of at most 3e9 operations on an H200, 10,000 of float32, November 2026
// (benchmarks/calibrate.py), which they meet within 7 to 16 % on average; large tiles of complex numbers to earlier
// ones. Doubles, and whole tiles of complex numbers, are in builds that nobody has timed: half, a quarter and an
// eighth.
model::Speed speed_of(Traits const& t) {
  bool const small = t.tile[0] == 64;
  bool const tiny = t.tile[0] == 32;
  if (!t.operands.is_whole()) {
    bool const any =
        t.operands.vector_bytes_a == 0 && t.operands.vector_bytes_b == 0 && t.operands.major_a == Major::mn;
    if (t.types.compute == Compute::c64) {
      if (any) return {11.1, 0.78, 2.3};
      return small ? model::Speed{11.4, 0.91, 2.7} : model::Speed{12.1, 0.64, 7.9};
    }
    if (t.types.compute == Compute::c128) return {3.2, 0.98, 6.8};
    model::Speed speed = small ? model::Speed{40.2, 0.83, 1.7} : model::Speed{44.2, 0.93, 7};
    if (t.tile[1] == 32) speed = tiny ? model::Speed{30.9, 0.64, 1.4} : model::Speed{31.9, 0.97, 1.6};
    // An m-major, or n-major, tile goes to shared memory as it is read from there.
    speed.tflops *= 1 + 0.05 * ((t.operands.major_a == Major::mn) + (t.operands.major_b == Major::mn));
    if (any) speed = tiny ? model::Speed{23, 0.87, 1.6} : model::Speed{37, 0.76, 1.9};
    if (t.types.compute == Compute::f64) speed.tflops /= 2;
    return speed;
  }
  model::Speed speed{50.8, 1, 2.5};
  if (t.types.compute == Compute::f64) speed.tflops /= 2;
  if (t.types.compute == Compute::c64) speed.tflops /= 4;
  if (t.types.compute == Compute::c128) speed.tflops /= 8;
  return speed;
}

Estimate estimate(Geometry const& g, Extents const& x, Entry const& v, DeviceInfo const& device) {
  Traits const& t = v.traits;
  return model::tiled(g, x, v, device, speed_of(t), false);
}

}  // namespace

extern Rules const sgemm_sm80_rules;
Rules const sgemm_sm80_rules = model::kRules<&estimate>;

}  // namespace cute_py::kernels
