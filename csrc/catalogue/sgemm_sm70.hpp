#pragma once

#include "catalogue/sgemm_2.hpp"

namespace cute_py::catalogue {

// The tile and the copies of sgemm_2, and a TiledMMA that reads shared memory in vectors: with fragments in registers,
// wide reads pay.
template <Major major_a, Major major_b, bool predicated_>
struct SgemmSm70 : Sgemm2<major_a, major_b, predicated_> {
  using TiledMma = VectorMma<float, float, float>;
};

}  // namespace cute_py::catalogue
