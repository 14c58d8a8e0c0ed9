#pragma once

#include "kernels/sgemm_2/family.hpp"

namespace cute_py::kernels {

struct sgemm_2_variants {
  using Family = sgemm_2_family;
  using Rows = List<Row<Sgemm2, Form::nested, NamedNested, kAlways, Types<float>, Layouts<AnyLayout>>,
                    Row<Sgemm2, Form::predicated, NamedPredicated, kAlways, Types<float>, Layouts<NT, TN, NN, TT>>,
                    Row<Sgemm2, Form::whole, Named, kAlways, Types<float>, Layouts<NT, TN, NN, TT>>>;
};

}  // namespace cute_py::kernels
