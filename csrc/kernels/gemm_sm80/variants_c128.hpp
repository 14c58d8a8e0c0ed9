#pragma once

#include "kernels/gemm_sm80/family.hpp"

namespace cute_py::kernels {

// Each element is a vector, wherever it lies.
struct gemm_sm80_variants_c128 {
  using Family = gemm_sm80_family;
  using Rows = List<
      Row<GemmSm80Complex64x64, Form::vectors, NamedByTile, kDefault, Types<numeric::complex128>, Layouts<NT, TN, NN>>>;
};

}  // namespace cute_py::kernels
