#pragma once

#include "kernels/common/model.hpp"

// The rules of the tutorial's kernels without tensor cores: sgemm_1, sgemm_2, sgemm_sm70.
namespace cute_py::kernels::model {

// Of float32. Other types are estimated by it, but those of the nested form that were timed (more than 0 TFLOP/s).
struct SimtSpeeds {
  Speed whole;
  Speed predicated;
  Speed nested;
  Speed gett;
  Speed nested_f64{};
  Speed nested_c64{};
  Speed nested_c128{};
};

inline Speed speed_of(SimtSpeeds const& speeds, Entry const& v) {
  Compute const compute = v.traits.types.compute;
  switch (v.resources.form) {
    case Form::whole:
      return untimed(speeds.whole, compute);
    case Form::gett:
      return untimed(speeds.gett, compute);
    case Form::predicated:
      return untimed(speeds.predicated, compute);
    default:
      break;
  }
  Speed const timed = compute == Compute::f64    ? speeds.nested_f64
                      : compute == Compute::c64  ? speeds.nested_c64
                      : compute == Compute::c128 ? speeds.nested_c128
                                                 : speeds.nested;
  return timed.tflops > 0 ? timed : untimed(speeds.nested, compute);
}

// Threads of the nested form go along whichever mode of an operand is contiguous.
template <SimtSpeeds const& speeds>
Estimate estimate_simt(Geometry const& g, Extents const& x, Entry const& v, DeviceInfo const& device) {
  return tiled(g, x, v, device, speed_of(speeds, v), v.traits.modes.m > 1);
}

template <SimtSpeeds const& speeds>
inline constexpr Rules kSimtRules = kRules<&estimate_simt<speeds>>;

}  // namespace cute_py::kernels::model
