#pragma once

#include "kernels/sgemm_1/family.hpp"

namespace cute_py::kernels {

struct NamedGett : Named {
  static constexpr char const* before = "gett";
  static constexpr bool by_layout = false;
};

struct sgemm_1_variants {
  using Family = sgemm_1_family;
  using Rows = List<Row<Sgemm1, Form::gett, NamedGett, kAlways, Types<float>, Layouts<NT>>,
                    Row<Sgemm1, Form::nested, NamedNested, kAlways, Types<float>, Layouts<AnyLayout>>,
                    Row<Sgemm1, Form::predicated, NamedPredicated, kAlways, Types<float>, Layouts<NT, TN, NN, TT>>,
                    Row<Sgemm1, Form::whole, Named, kAlways, Types<float>, Layouts<NT, TN, NN, TT>>>;
};

}  // namespace cute_py::kernels
