#pragma once

#include "kernels/gemm_sm80/family.hpp"

namespace cute_py::kernels {

struct gemm_sm80_variants_tf32 {
  using Family = gemm_sm80_family;
  using Rows =
      List<Row<GemmSm80, Form::nested, NamedNested, kHost | kGpu, Types<cutlass::tfloat32_t>, Layouts<AnyLayout>>,
           Row<GemmSm80, Form::whole, Named, kGpu, Types<cutlass::tfloat32_t>, Layouts<NT, TN, NN, TT>>>;
};

}  // namespace cute_py::kernels
