#pragma once

#include "kernels/gemm_sm90/family.hpp"

namespace cute_py::kernels {

// A product of TT is one of NN, its factors exchanged.
struct gemm_sm90_variants_sm90a {
  using Family = gemm_sm90_family;
  using Rows =
      List<Row<GemmSm90_64x64, Form::vectors, NamedByTile, kDefault, Types<cutlass::half_t>, Layouts<NT, TN, NN>>,
           Row<GemmSm90_64x128, Form::vectors, NamedByTile, kDefault, Types<cutlass::half_t>, Layouts<NT, TN, NN>>,
           Row<GemmSm90_128x128, Form::vectors, NamedByTile, kDefault, Types<cutlass::half_t>, Layouts<NT, TN, NN>>,
           Row<GemmSm90_128x192, Form::vectors, NamedByTile, kDefault, Types<cutlass::half_t>, Layouts<NT, TN, NN>>,
           Row<GemmSm90_128x256, Form::vectors, NamedByTile, kDefault, Types<cutlass::half_t>, Layouts<NT, TN, NN>>>;
};

}  // namespace cute_py::kernels
