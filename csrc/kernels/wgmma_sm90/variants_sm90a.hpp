#pragma once

#include "kernels/wgmma_sm90/family.hpp"

namespace cute_py::kernels {

// A product of TT is one of NN, its factors exchanged.
struct wgmma_sm90_variants_sm90a {
  using Family = wgmma_sm90_family;
  using Rows = List<Row<WgmmaSm90, Form::whole, Named, kDefault, Types<cutlass::half_t>, Layouts<NT, TN, NN>>>;
};

}  // namespace cute_py::kernels
