#include "kernels/common/model.hpp"

// Cost model of sgemm_sm80.
namespace cute_py::kernels {
namespace {

// TFLOP/s of a full device, of that what one CTA on a multiprocessor reaches, and microseconds of a wave beside its K:
// fitted to runs of random products of at most 3e9 operations on an H200, 10,000 of float32, November 2026, which they
// meet within 7 to 16 % on average; tiles of 128x64, and those of complex numbers, to 516 random products of any size.
// Doubles, and whole tiles of complex numbers, are in builds that nobody has timed: half, a quarter and an
// eighth. Microseconds of a wave of the vector form below 128x128 are 0.3 to 0.6 above that fit: of contractions with
// many waves and little K (docs/perf/contractions.md).
using model::Speed;
using OfTile = model::OfTile<Speed>;
// Of the vector form, with the factor that each m-major or n-major operand adds to the speed of two k-major ones: it
// goes to shared memory as it is read from there.
struct VectorSpeed {
  Speed speed;
  double per_mn_major;
};
constexpr model::OfTile<VectorSpeed> kF32Vectors[] = {{64, 64, {{40.2, 0.83, 2.1}, 0.05}},
                                                      {32, 32, {{30.9, 0.64, 1.7}, 0.05}},
                                                      {128, 64, {{38, 0.85, 3.5}, 0.12}},
                                                      {256, 32, {{31.9, 0.97, 2.2}, 0.05}},
                                                      {128, 128, {{45.5, 0.93, 7}, 0.05}}};
constexpr OfTile kF32Elements[] = {{32, 32, {23, 0.87, 1.6}}, {128, 64, {40, 0.85, 3.5}}, {64, 64, {37, 0.76, 1.9}}};
constexpr OfTile kC64Vectors[] = {
    {32, 32, {10.2, 0.85, 1.4}}, {64, 32, {11.8, 0.91, 2.4}}, {64, 64, {13, 0.83, 4.3}}, {128, 64, {12.1, 0.64, 7.9}}};
constexpr OfTile kC64Elements[] = {{64, 64, {12.3, 0.85, 3.5}}, {64, 32, {11.8, 0.78, 1.9}}};
constexpr Speed kF32Whole{50.8, 1, 2.5};

Speed speed_of(Entry const& v) {
  Traits const& t = v.traits;
  Compute const compute = t.types.compute;
  bool const by_elements = v.resources.form == Form::elements;
  if (v.resources.form == Form::whole) return model::untimed(kF32Whole, compute);
  if (compute == Compute::c64)
    return by_elements ? model::speed_of_tile(kC64Elements, t) : model::speed_of_tile(kC64Vectors, t);
  if (compute == Compute::c128) return {3.2, 0.98, 6.8};
  if (by_elements) return model::untimed(model::speed_of_tile(kF32Elements, t), compute);
  VectorSpeed const& found = model::speed_of_tile(kF32Vectors, t);
  Speed speed = model::untimed(found.speed, compute);
  int const mn_major = (t.operands.major_a == Major::mn) + (t.operands.major_b == Major::mn);
  speed.tflops *= 1 + found.per_mn_major * mn_major;
  return speed;
}

Estimate estimate(Geometry const& g, Extents const& x, Entry const& v, DeviceInfo const& device) {
  return model::tiled(g, x, v, device, speed_of(v), false);
}

}  // namespace

extern Rules const sgemm_sm80_rules;
Rules const sgemm_sm80_rules = model::kRules<&estimate>;

}  // namespace cute_py::kernels
