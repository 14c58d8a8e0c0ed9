#pragma once

#include "kernels/gemm_sm80/family.hpp"

namespace cute_py::kernels {

struct gemm_sm80_variants_tf32 {
  using Family = gemm_sm80_family;
  using Rows = List<
      Row<GemmSm80_64x64, Form::nested, NamedNested, kDefault, Types<cutlass::tfloat32_t>, Layouts<NT, TN, NN>>,
      Row<GemmSm80_64x64, Form::vectors, NamedByTile, kDefault, Types<cutlass::tfloat32_t>, Layouts<NT, TN, NN>>,
      Row<GemmSm80_128x128, Form::vectors, NamedByTile, kDefault, Types<cutlass::tfloat32_t>, Layouts<NT, TN, NN>>,
      Row<GemmSm80_128x256, Form::vectors, NamedByTile, kDefault, Types<cutlass::tfloat32_t>, Layouts<NT, TN, NN>>>;
};

}  // namespace cute_py::kernels
