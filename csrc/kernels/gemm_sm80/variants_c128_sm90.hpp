#pragma once

#include "kernels/gemm_sm80/family.hpp"

namespace cute_py::kernels {

// SM90's own instruction.
struct gemm_sm80_variants_c128_sm90 {
  using Family = gemm_sm80_family;
  using Types128 = Types<numeric::complex128>;
  using Rows = List<Row<GemmSm90Complex32x32, Form::vectors, NamedSm90, kDefault, Types128, Layouts<NT, TN, NN>>,
                    Row<GemmSm90Complex64x64, Form::vectors, NamedSm90, kDefault, Types128, Layouts<NT, TN, NN>>>;
};

}  // namespace cute_py::kernels
