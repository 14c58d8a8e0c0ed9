#pragma once

#include "kernels/gemm_sm80/family.hpp"

namespace cute_py::kernels {

struct gemm_sm80_variants_bf16 {
  using Family = gemm_sm80_family;
  using Rows = List<
      Row<GemmSm80_64x64, Form::nested, NamedNested, kDefault, Types<cutlass::bfloat16_t>, Layouts<NT, TN, NN>>,
      Row<GemmSm80_64x64, Form::vectors, NamedByTile, kDefault, Types<cutlass::bfloat16_t>, Layouts<NT, TN, NN>>,
      Row<GemmSm80_32x32, Form::nested, NamedNestedByTile, kDefault, Types<cutlass::bfloat16_t>, Layouts<NT, TN, NN>>,
      Row<GemmSm80_32x32, Form::vectors, NamedByTile, kDefault, Types<cutlass::bfloat16_t>, Layouts<NT, TN, NN>>,
      Row<GemmSm80_128x128, Form::vectors, NamedByTile, kDefault, Types<cutlass::bfloat16_t>, Layouts<NT, TN, NN>>,
      Row<GemmSm80_128x256, Form::vectors, NamedByTile, kDefault, Types<cutlass::bfloat16_t>, Layouts<NT, TN, NN>>>;
};

}  // namespace cute_py::kernels
