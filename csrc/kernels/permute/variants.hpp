#pragma once

#include "kernels/permute/family.hpp"

namespace cute_py::kernels {

// The wider the better, where elements lie so.
struct permute_variants {
  using Family = permute_family;
  using Rows = List<Row<Permute, Form::nested, Named, kAlways, Types<Moved<16>, Moved<8>, Moved<4>, Moved<2>, Moved<1>>,
                        Layouts<AnyLayout>>>;
};

}  // namespace cute_py::kernels
