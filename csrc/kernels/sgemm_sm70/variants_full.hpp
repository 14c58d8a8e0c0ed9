#pragma once

#include "kernels/sgemm_sm70/family.hpp"

namespace cute_py::kernels {

struct sgemm_sm70_variants_full {
  using Family = sgemm_sm70_family;
  using Rows = List<Row<SgemmSm70, Form::nested, NamedNested, kFull, Types<std::int32_t>, Layouts<AnyLayout>>,
                    Row<SgemmSm70, Form::predicated, NamedPredicated, kFull,
                        Types<double, numeric::complex64, numeric::complex128>, Layouts<NT, TN, NN, TT>>,
                    Row<SgemmSm70, Form::whole, Named, kFull, Types<double, numeric::complex64, numeric::complex128>,
                        Layouts<NT, TN, NN, TT>>>;
};

}  // namespace cute_py::kernels
