#include "kernels/common/model.hpp"

// How fast gemm_sm80 is.
namespace cute_py::kernels {
namespace {

// TFLOP/s of a full device, of that what one CTA on a multiprocessor reaches, and microseconds of a wave beside its K:
// fitted to 214 runs of random products on an H200, November 2026, which those of any modes meet within 20 %; those for
// whole tiles, of which there were few, are as at 4096 (docs/kernels.md).
model::Speed speed_of(Traits const& t) {
  bool const nested = t.modes > 1;
  switch (t.compute) {
    case Compute::tf32:
      return nested ? model::Speed{64.5, 1, 2.8} : model::Speed{190, 1, 2.8};
    case Compute::f64:
      if (nested) return {21.4, 1, 3.0};
      return t.compute_capability >= 90 ? model::Speed{60, 1, 3.0} : model::Speed{31.3, 1, 1.3};
    case Compute::i32:
      return nested ? model::Speed{107, 1, 1.4} : model::Speed{700, 1, 2.0};
    default:
      return nested ? model::Speed{79.7, 1, 2.2} : model::Speed{450, 1, 2.3};
  }
}

Estimate estimate(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  return model::tiled(g, x, t, device, speed_of(t), t.modes_m > 1);
}

}  // namespace

extern Rules const gemm_sm80_rules;
Rules const gemm_sm80_rules{&estimate, &model::ctas, &model::parts};

}  // namespace cute_py::kernels
