#pragma once

#include "kernels/sgemm_2/family.hpp"

namespace cute_py::kernels {

struct sgemm_2_variants_full {
  using Family = sgemm_2_family;
  using Rows = List<Row<Sgemm2, Form::nested, NamedNested, kFull,
                        Types<double, numeric::complex64, numeric::complex128, std::int32_t>, Layouts<AnyLayout>>,
                    Row<Sgemm2, Form::predicated, NamedPredicated, kFull,
                        Types<double, numeric::complex64, numeric::complex128>, Layouts<NT, TN, NN, TT>>,
                    Row<Sgemm2, Form::whole, Named, kFull, Types<double, numeric::complex64, numeric::complex128>,
                        Layouts<NT, TN, NN, TT>>>;
};

}  // namespace cute_py::kernels
