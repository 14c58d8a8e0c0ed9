#include "kernels/common/model.hpp"

// Cost model of gemm_sm80.
namespace cute_py::kernels {
namespace {

// TFLOP/s of a full device, of that what one CTA on a multiprocessor reaches, microseconds of a wave beside its K, and
// accesses to A and B of a multiprocessor in a microsecond: fitted to 6,000 runs of random products on an H200,
// November 2026 (benchmarks/calibrate.py), which they meet within 2 to 19 % on average; those of doubles to 10,000 more
// of products of at most 3e9 operations, within 4 to 19 %. A complex multiply-add counts as one. int8 is as at 4096.
model::Speed speed_of(Traits const& t) {
  bool const in_vectors = t.operands.vector_bytes_a != 0;
  bool const small = t.tile[0] == 64;
  bool const large = t.tile[1] == 256;
  switch (t.types.compute) {
    case Compute::tf32:
      if (!in_vectors) return {120, 0.77, 3.5, 2600};
      return small ? model::Speed{107, 0.82, 3.4} : large ? model::Speed{181, 1, 6.4} : model::Speed{167, 0.83, 4.9};
    case Compute::f64:
      if (t.needs.compute_capability < 90) {
        if (!in_vectors) return {30, 0.9, 4.3, 2200};
        return small ? model::Speed{31.8, 0.99, 2.7} : model::Speed{32.2, 1, 5.7};
      }
      if (t.tile[0] == 32) {
        if (!in_vectors) return {32, 0.85, 2.7};
        return t.tile[1] == 32 ? model::Speed{46, 0.72, 2} : model::Speed{51, 0.75, 2.3};
      }
      if (!in_vectors) return {58, 0.9, 4, 2700};
      return small ? model::Speed{59, 0.86, 3.6} : model::Speed{58, 0.96, 4.9};
    case Compute::c128:
      if (t.needs.compute_capability < 90) return {7.9, 0.92, 6.4};
      return t.tile[0] == 32 ? model::Speed{9.5, 0.81, 3.5} : model::Speed{13.1, 0.81, 6.4};
    case Compute::i32:
      if (!in_vectors) return {120, 0.7, 3.5, 4000};
      return small ? model::Speed{350, 0.7, 3.4} : model::Speed{700, 1, 5.4};
    default:
      if (!in_vectors) return {200, 0.62, 3.8, 4000};
      return small ? model::Speed{200, 0.8, 3.4} : large ? model::Speed{437, 1, 5.4} : model::Speed{354, 0.79, 3.9};
  }
}

Estimate estimate(Geometry const& g, Extents const& x, Entry const& v, DeviceInfo const& device) {
  Traits const& t = v.traits;
  Estimate estimate = model::tiled(g, x, v, device, speed_of(t), false);
  // The speeds of the others were fitted with such results among them.
  bool const is_single = t.types.compute == Compute::f32 || t.types.compute == Compute::tf32;
  if (is_single && t.operands.vector_bytes_a != 0) estimate.us += model::us_of_elements(g, x, t, device);
  return estimate;
}

}  // namespace

extern Rules const gemm_sm80_rules;
Rules const gemm_sm80_rules = model::kRules<&estimate>;

}  // namespace cute_py::kernels
