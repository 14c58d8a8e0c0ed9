#pragma once

#include "kernels/split_planes/family.hpp"

namespace cute_py::kernels {

struct NamedBySplit : Named {
  static constexpr bool by_layout = false;
};

struct split_planes_variants {
  using Family = split_planes_family;
  using Rows = List<Row<SplitPlanes, Form::nested, NamedBySplit, kDefault,
                        Types<float, double, numeric::complex64, numeric::complex128>, Layouts<AnyLayout>>>;
};

}  // namespace cute_py::kernels
