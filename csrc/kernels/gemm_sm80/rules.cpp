#include "kernels/common/model.hpp"

// Cost model of gemm_sm80.
namespace cute_py::kernels {
namespace {

// TFLOP/s of a full device, of that what one CTA on a multiprocessor reaches, microseconds of a wave beside its K, and
// accesses to A and B of a multiprocessor in a microsecond: fitted to 6,000 runs of random products on an H200,
// November 2026, which they meet within 2 to 19 % on average; those of doubles to 10,000 more
// of products of at most 3e9 operations, within 4 to 19 %. A complex multiply-add counts as one. int8 is as at 4096.
// Microseconds of a wave of doubles in tiles of 32x64 and 128x128 on SM90 are 0.6 and 1.6 above that fit: of
// contractions with many waves and little K (docs/perf/contractions.md).
using model::Speed;
using OfTile = model::OfTile<Speed>;
constexpr OfTile kOf16Bits[] = {
    {32, 32, {120, 0.8, 2.2}}, {64, 64, {200, 0.8, 3.4}}, {128, 256, {437, 1, 5.4}}, {128, 128, {354, 0.79, 3.9}}};
constexpr OfTile kOf16BitsNested[] = {{32, 32, {115, 0.72, 2.1, 4300}}, {64, 64, {200, 0.62, 3.8, 4000}}};
constexpr OfTile kTf32[] = {{64, 64, {107, 0.82, 3.4}}, {128, 256, {181, 1, 6.4}}, {128, 128, {167, 0.83, 4.9}}};
constexpr OfTile kInt8[] = {{64, 64, {350, 0.7, 3.4}}, {128, 256, {700, 1, 5.4}}};
// With the reduction modulo a number.
constexpr OfTile kResidues[] = {{64, 64, {350, 0.7, 3.6}}, {128, 256, {700, 1, 6}}};
constexpr OfTile kF64[] = {{64, 64, {31.8, 0.99, 2.7}}, {128, 128, {32.2, 1, 5.7}}};
constexpr OfTile kF64Sm90[] = {
    {32, 32, {46, 0.72, 2}}, {32, 64, {51, 0.75, 2.9}}, {64, 64, {59, 0.86, 3.6}}, {128, 128, {58, 0.96, 6.5}}};
constexpr OfTile kC128Sm90[] = {{32, 32, {9.5, 0.81, 3.5}}, {64, 64, {13.1, 0.81, 6.4}}};
// By elements, or in accesses as wide as strides allow.
constexpr OfTile kF64Sm90Nested[] = {{32, 32, {32, 0.85, 2.7}}, {64, 64, {58, 0.9, 4, 2700}}};

Speed speed_of(Entry const& v) {
  Traits const& t = v.traits;
  bool const in_vectors = v.resources.form == Form::vectors;
  bool const is_sm90 = t.needs.compute_capability >= 90;
  switch (t.types.compute) {
    case Compute::tf32:
      return in_vectors ? model::speed_of_tile(kTf32, t) : Speed{120, 0.77, 3.5, 2600};
    case Compute::f64:
      if (is_sm90) return in_vectors ? model::speed_of_tile(kF64Sm90, t) : model::speed_of_tile(kF64Sm90Nested, t);
      return in_vectors ? model::speed_of_tile(kF64, t) : Speed{30, 0.9, 4.3, 2200};
    case Compute::c128:
      return is_sm90 ? model::speed_of_tile(kC128Sm90, t) : Speed{7.9, 0.92, 6.4};
    case Compute::residues:
      return model::speed_of_tile(kResidues, t);
    case Compute::i32:
      return in_vectors ? model::speed_of_tile(kInt8, t) : Speed{120, 0.7, 3.5, 4000};
    default:
      return in_vectors ? model::speed_of_tile(kOf16Bits, t) : model::speed_of_tile(kOf16BitsNested, t);
  }
}

Estimate estimate(Geometry const& g, Extents const& x, Entry const& v, DeviceInfo const& device) {
  Traits const& t = v.traits;
  Estimate estimate = model::tiled(g, x, v, device, speed_of(v), false);
  // The speeds of the others were fitted with such results among them.
  bool const is_single = t.types.compute == Compute::f32 || t.types.compute == Compute::tf32;
  if (is_single && v.resources.form == Form::vectors) estimate.us += model::us_of_elements(g, x, t, device);
  return estimate;
}

}  // namespace

extern Rules const gemm_sm80_rules;
Rules const gemm_sm80_rules = model::kRules<&estimate>;

}  // namespace cute_py::kernels
