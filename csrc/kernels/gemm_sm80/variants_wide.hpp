#pragma once

#include "kernels/gemm_sm80/family.hpp"

namespace cute_py::kernels {

struct gemm_sm80_variants_wide {
  using Family = gemm_sm80_family;
  using Rows = List<Row<GemmSm80, Form::nested, NamedNested, kGpu, Types<double>, Layouts<AnyLayout>>,
                    Row<GemmSm80, Form::whole, Named, kGpu, Types<double>, Layouts<NT, TN, NN, TT>>>;
};

}  // namespace cute_py::kernels
