#pragma once

#include "kernels/sgemm_2/config.hpp"

namespace cute_py::kernels {

// The tile and the copies of sgemm_2, and a TiledMMA that reads shared memory in vectors: with fragments in registers,
// wide reads pay.
template <class T, Major major_a, Major major_b, Form form>
struct SgemmSm70 : Sgemm2<T, major_a, major_b, form> {
  using TiledMma = typename SimtMma<T, 2, 4>::type;
};

}  // namespace cute_py::kernels
