#pragma once

#include "problem/decision.hpp"

namespace cute_py::cpu {

Estimate estimate_gemm(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device);

}  // namespace cute_py::cpu
