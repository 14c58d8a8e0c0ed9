#pragma once

#include "kernels/gemm_sm80/family.hpp"

namespace cute_py::kernels {

// Products of the residues of emulated precision, which are k-major.
struct gemm_sm80_variants_residues {
  using Family = gemm_sm80_family;
  using Rows =
      List<Row<GemmSm80Residues64x64, Form::vectors, NamedResidues, kDefault, Types<std::int8_t>, Layouts<TN>>,
           Row<GemmSm80Residues128x256, Form::vectors, NamedResidues, kDefault, Types<std::int8_t>, Layouts<TN>>>;
};

}  // namespace cute_py::kernels
