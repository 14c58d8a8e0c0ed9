#pragma once

#include "kernels/combine_planes/family.hpp"

namespace cute_py::kernels {

struct NamedByResult : Named {
  static constexpr bool by_layout = false;
};

struct combine_planes_variants {
  using Family = combine_planes_family;
  using Rows = List<Row<CombinePlanes, Form::nested, NamedByResult, kDefault,
                        Types<float, double, numeric::complex64, numeric::complex128>, Layouts<AnyLayout>>>;
};

}  // namespace cute_py::kernels
