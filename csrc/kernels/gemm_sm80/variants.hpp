#pragma once

#include "kernels/gemm_sm80/family.hpp"

namespace cute_py::kernels {

// A product of TT is one of NN, its factors exchanged.
struct gemm_sm80_variants {
  using Family = gemm_sm80_family;
  using Rows =
      List<Row<GemmSm80_64x64, Form::nested, NamedNested, kDefault, Types<cutlass::half_t>, Layouts<NT, TN, NN>>,
           Row<GemmSm80_64x64, Form::vectors, NamedByTile, kDefault, Types<cutlass::half_t>, Layouts<NT, TN, NN>>,
           Row<GemmSm80_32x32, Form::nested, NamedNestedByTile, kDefault, Types<cutlass::half_t>, Layouts<NT, TN, NN>>,
           Row<GemmSm80_32x32, Form::vectors, NamedByTile, kDefault, Types<cutlass::half_t>, Layouts<NT, TN, NN>>,
           Row<GemmSm80_128x128, Form::vectors, NamedByTile, kDefault, Types<cutlass::half_t>, Layouts<NT, TN, NN>>,
           Row<GemmSm80_128x256, Form::vectors, NamedByTile, kDefault, Types<cutlass::half_t>, Layouts<NT, TN, NN>>>;
};

}  // namespace cute_py::kernels
