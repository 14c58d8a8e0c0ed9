#pragma once

#include "kernels/sgemm_sm70/family.hpp"

namespace cute_py::kernels {

// It converts and conjugates on the way to shared memory, so there is one for every type.
struct sgemm_sm70_variants {
  using Family = sgemm_sm70_family;
  using Rows = List<Row<SgemmSm70, Form::nested, NamedNested, kAlways, Types<float>, Layouts<AnyLayout>>,
                    Row<SgemmSm70, Form::nested, NamedNested, kDefault,
                        Types<double, numeric::complex64, numeric::complex128>, Layouts<AnyLayout>>,
                    Row<SgemmSm70, Form::predicated, NamedPredicated, kAlways, Types<float>, Layouts<NT, TN, NN, TT>>,
                    Row<SgemmSm70, Form::whole, Named, kAlways, Types<float>, Layouts<NT, TN, NN, TT>>>;
};

}  // namespace cute_py::kernels
