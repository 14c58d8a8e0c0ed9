#include "kernels/common/model.hpp"

// How fast sgemm_sm80 is.
namespace cute_py::kernels {
namespace {

// TFLOP/s of a full device, of that what one CTA on a multiprocessor reaches, microseconds of a wave beside its K, and
// accesses to A and B of a multiprocessor in a microsecond: fitted to 4,000 runs of random products on an H200,
// November 2026, which they meet within 4 to 8 % on average; tiles of 64x64 and 256x32 of float32 to 800 on an H100,
// where they take a tenth less, and of 32x32 to 6,000. Doubles, and whole tiles of complex numbers, are in builds that
// nobody has timed: half, a quarter and an eighth.
model::Speed speed_of(Traits const& t) {
  bool const small = t.tile[0] == 64;
  if (t.predicated) {
    bool const any = t.vector_bytes_a == 0 && t.vector_bytes_b == 0 && t.major_a == Major::mn;
    if (t.compute == Compute::c64) {
      if (any) return {9.5, 0.68, 3.4, 9900};
      return small ? model::Speed{11.4, 0.91, 3.2} : model::Speed{12.1, 0.64, 8.4};
    }
    if (t.compute == Compute::c128) return {3.2, 0.98, 6.8};
    model::Speed speed = small ? model::Speed{40.7, 0.72, 2.5} : model::Speed{46.5, 0.94, 8.4};
    if (t.tile[1] == 32) speed = {32.8, 0.94, 3.5};
    if (t.tile[0] == 32) speed = {28, 0.6, 1.7};
    // An m-major, or n-major, tile goes to shared memory as it is read from there.
    speed.tflops *= 1 + 0.05 * ((t.major_a == Major::mn) + (t.major_b == Major::mn));
    if (any) speed = {34.5, 0.84, 3.9, 2100};
    if (t.compute == Compute::f64) speed.tflops /= 2;
    return speed;
  }
  model::Speed speed{50.8, 1, 2.5};
  if (t.compute == Compute::f64) speed.tflops /= 2;
  if (t.compute == Compute::c64) speed.tflops /= 4;
  if (t.compute == Compute::c128) speed.tflops /= 8;
  return speed;
}

Estimate estimate(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  return model::tiled(g, x, t, device, speed_of(t), false);
}

}  // namespace

extern Rules const sgemm_sm80_rules;
Rules const sgemm_sm80_rules{&estimate, &model::ctas_of, &model::parts};

}  // namespace cute_py::kernels
