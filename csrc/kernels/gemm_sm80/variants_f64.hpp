#pragma once

#include "kernels/gemm_sm80/family.hpp"

namespace cute_py::kernels {

struct gemm_sm80_variants_f64 {
  using Family = gemm_sm80_family;
  using Rows =
      List<Row<GemmSm80_64x64, Form::nested, NamedNested, kDefault, Types<double>, Layouts<NT, TN, NN>>,
           Row<GemmSm80_64x64, Form::vectors, NamedByTile, kDefault, Types<double>, Layouts<NT, TN, NN>>,
           Row<GemmSm80Double128x128, Form::vectors, NamedByTile, kDefault, Types<double>, Layouts<NT, TN, NN>>>;
};

}  // namespace cute_py::kernels
