#pragma once

#include "kernels/sgemm_sm80/family.hpp"

namespace cute_py::kernels {

struct sgemm_sm80_variants {
  using Family = sgemm_sm80_family;
  using Rows = List<Row<SgemmSm80Narrow, Form::nested, NamedNarrow, kMinimal | kGpu, Types<float>, Layouts<AnyLayout>>,
                    Row<SgemmSm80, Form::nested, NamedNested, kAlways, Types<float>, Layouts<AnyLayout>>,
                    Row<SgemmSm80, Form::nested, NamedNested, kHost | kGpu,
                        Types<numeric::complex64, numeric::complex128>, Layouts<AnyLayout>>,
                    Row<SgemmSm80, Form::predicated, NamedPredicated, kAlways, Types<float>, Layouts<NT, TN>>,
                    Row<SgemmSm80, Form::whole, Named, kAlways, Types<float>, Layouts<NT, TN>>,
                    Row<SgemmSm80, Form::predicated, NamedPredicated, kMinimal | kGpu, Types<float>, Layouts<NN, TT>>,
                    Row<SgemmSm80, Form::whole, Named, kMinimal | kGpu, Types<float>, Layouts<NN, TT>>>;
};

}  // namespace cute_py::kernels
