#include "kernels/common/model.hpp"

// How fast gemm_sm80 is.
namespace cute_py::kernels {
namespace {

// TFLOP/s of a full device, of that what one CTA on a multiprocessor reaches, microseconds of a wave beside its K, and
// accesses to A and B of a multiprocessor in a microsecond: fitted to 4,300 runs of random products on an H200,
// November 2026, which they meet within 6 to 14 % on average. int8 and what SM80's own instruction does for doubles are
// as at 4096.
model::Speed speed_of(Traits const& t) {
  bool const in_vectors = t.vector_bytes_a != 0;
  bool const small = t.tile[0] == 64;
  bool const large = t.tile[1] == 256;
  switch (t.compute) {
    case Compute::tf32:
      if (!in_vectors) return {120, 0.77, 3.5, 2600};
      return small ? model::Speed{107, 0.82, 3.4} : large ? model::Speed{181, 1, 6.4} : model::Speed{167, 0.83, 4.9};
    case Compute::f64:
      if (t.compute_capability < 90)
        return in_vectors ? model::Speed{31.8, 0.95, small ? 3.7 : 7.8} : model::Speed{22, 0.64, 3.4};
      if (!in_vectors) return {24.1, 0.7, 3.2, 4100};
      if (t.tile[0] == 32) return {47, 0.6, 4};
      return small ? model::Speed{52.8, 1, 4.8} : model::Speed{52, 1, 8.5};
    case Compute::c128:
      if (t.compute_capability < 90) return {7.5, 0.95, 8};
      return t.tile[0] == 32 ? model::Speed{10.8, 0.6, 5} : model::Speed{13.2, 0.8, 8};
    case Compute::i32:
      if (!in_vectors) return {120, 0.7, 3.5, 4000};
      return small ? model::Speed{350, 0.7, 3.4} : model::Speed{700, 1, 5.4};
    default:
      if (!in_vectors) return {200, 0.62, 3.8, 4000};
      return small ? model::Speed{200, 0.8, 3.4} : large ? model::Speed{437, 1, 5.4} : model::Speed{354, 0.79, 3.9};
  }
}

Estimate estimate(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  return model::tiled(g, x, t, device, speed_of(t), false);
}

}  // namespace

extern Rules const gemm_sm80_rules;
Rules const gemm_sm80_rules{&estimate, &model::ctas_of, &model::parts};

}  // namespace cute_py::kernels
