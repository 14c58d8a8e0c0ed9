#pragma once

#include "catalogue/sgemm_2.hpp"

namespace cute_py::catalogue {

// The tile, the copies and the math of sgemm_2; the kernel overlaps them instead of taking turns.
template <Major major_a, Major major_b, bool predicated_>
struct SgemmSm70 : Sgemm2<major_a, major_b, predicated_> {};

}  // namespace cute_py::catalogue
