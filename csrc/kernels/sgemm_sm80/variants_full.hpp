#pragma once

#include "kernels/sgemm_sm80/family.hpp"

namespace cute_py::kernels {

struct sgemm_sm80_variants_full {
  using Family = sgemm_sm80_family;
  using Rows = List<Row<SgemmSm80, Form::elements, NamedByTile, kFull, Types<double>, Layouts<NT, TN, NN>>,
                    Row<SgemmSm80, Form::vectors, NamedByTile, kFull, Types<numeric::complex128>, Layouts<NT, TN, NN>>,
                    Row<SgemmSm80, Form::whole, Named, kFull, Types<double, numeric::complex64, numeric::complex128>,
                        Layouts<NT, TN, NN, TT>>>;
};

}  // namespace cute_py::kernels
