#include "kernels/common/model.hpp"

// Cost model of sgemm_sm80.
namespace cute_py::kernels {
namespace {

// TFLOP/s of a full device, of that what one CTA on a multiprocessor reaches, and microseconds of a wave beside its K:
// fitted to runs of random products of at most 3e9 operations on an H200, 10,000 of float32, November 2026,
// which they meet within 7 to 16 % on average; large tiles of complex numbers to earlier
// ones. Doubles, and whole tiles of complex numbers, are in builds that nobody has timed: half, a quarter and an
// eighth. Microseconds of a wave of the vector form below 128x128 are 0.3 to 0.6 above that fit: of contractions with
// many waves and little K (docs/perf/contractions.md).
using model::Speed;
using OfTile = model::OfTile<Speed>;
constexpr OfTile kF32Vectors[] = {{64, 64, {40.2, 0.83, 2.1}},
                                  {32, 32, {30.9, 0.64, 1.7}},
                                  {256, 32, {31.9, 0.97, 2.2}},
                                  {128, 128, {44.2, 0.93, 7}}};
constexpr OfTile kF32Elements[] = {{32, 32, {23, 0.87, 1.6}}, {64, 64, {37, 0.76, 1.9}}};
constexpr OfTile kC64Vectors[] = {{64, 32, {11.4, 0.91, 2.7}}, {128, 64, {12.1, 0.64, 7.9}}};
constexpr Speed kF32Whole{50.8, 1, 2.5};

Speed speed_of(Entry const& v) {
  Traits const& t = v.traits;
  Compute const compute = t.types.compute;
  bool const by_elements = v.resources.form == Form::elements;
  if (v.resources.form == Form::whole) return model::untimed(kF32Whole, compute);
  if (compute == Compute::c64) return by_elements ? Speed{11.1, 0.78, 2.3} : model::speed_of_tile(kC64Vectors, t);
  if (compute == Compute::c128) return {3.2, 0.98, 6.8};
  if (by_elements) return model::untimed(model::speed_of_tile(kF32Elements, t), compute);
  Speed speed = model::untimed(model::speed_of_tile(kF32Vectors, t), compute);
  // An m-major, or n-major, tile goes to shared memory as it is read from there.
  speed.tflops *= 1 + 0.05 * ((t.operands.major_a == Major::mn) + (t.operands.major_b == Major::mn));
  return speed;
}

Estimate estimate(Geometry const& g, Extents const& x, Entry const& v, DeviceInfo const& device) {
  return model::tiled(g, x, v, device, speed_of(v), false);
}

}  // namespace

extern Rules const sgemm_sm80_rules;
Rules const sgemm_sm80_rules = model::kRules<&estimate>;

}  // namespace cute_py::kernels
