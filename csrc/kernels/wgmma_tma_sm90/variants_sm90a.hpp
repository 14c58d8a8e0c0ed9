#pragma once

#include "kernels/wgmma_tma_sm90/family.hpp"

namespace cute_py::kernels {

// A product of TT is one of NN, its factors exchanged.
struct wgmma_tma_sm90_variants_sm90a {
  using Family = wgmma_tma_sm90_family;
  using Rows = List<Row<WgmmaTmaSm90, Form::vectors, Named, kDefault, Types<cutlass::half_t>, Layouts<NT, TN, NN>>>;
};

}  // namespace cute_py::kernels
