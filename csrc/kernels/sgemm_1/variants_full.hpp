#pragma once

#include "kernels/sgemm_1/family.hpp"

namespace cute_py::kernels {

struct sgemm_1_variants_full {
  using Family = sgemm_1_family;
  using Rows = List<Row<Sgemm1, Form::nested, NamedNested, kFull,
                        Types<double, numeric::complex64, numeric::complex128, std::int32_t>, Layouts<AnyLayout>>,
                    Row<Sgemm1, Form::predicated, NamedPredicated, kFull,
                        Types<double, numeric::complex64, numeric::complex128>, Layouts<NT, TN, NN, TT>>,
                    Row<Sgemm1, Form::whole, Named, kFull, Types<double, numeric::complex64, numeric::complex128>,
                        Layouts<NT, TN, NN, TT>>>;
};

}  // namespace cute_py::kernels
