#pragma once

#include "kernels/gemm_sm80/family.hpp"

namespace cute_py::kernels {

// Those for many modes take what is ragged, too.
struct gemm_sm80_variants {
  using Family = gemm_sm80_family;
  using Rows = List<Row<GemmSm80, Form::nested, NamedNested, kHost | kGpu, Types<cutlass::half_t>, Layouts<AnyLayout>>,
                    Row<GemmSm80, Form::nested, NamedNested, kGpu, Types<cutlass::bfloat16_t>, Layouts<AnyLayout>>,
                    Row<GemmSm80, Form::whole, Named, kHost | kGpu, Types<cutlass::half_t>, Layouts<TN>>,
                    Row<GemmSm80, Form::whole, Named, kGpu, Types<cutlass::half_t>, Layouts<NT, NN, TT>>,
                    Row<GemmSm80, Form::whole, Named, kGpu, Types<cutlass::bfloat16_t>, Layouts<NT, TN, NN, TT>>>;
};

}  // namespace cute_py::kernels
