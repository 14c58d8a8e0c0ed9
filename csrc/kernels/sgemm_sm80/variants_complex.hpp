#pragma once

#include "kernels/sgemm_sm80/family.hpp"

namespace cute_py::kernels {

struct sgemm_sm80_variants_complex {
  using Family = sgemm_sm80_family;
  using Any = Layouts<NT, TN, NN>;
  using Rows = List<
      Row<SgemmSm80Small, Form::elements, NamedNested, kDefault, Types<numeric::complex64>, Layouts<NT, NN>>,
      Row<SgemmSm80Medium, Form::elements, NamedNestedByTile, kDefault, Types<numeric::complex64>, Layouts<NT, NN>>,
      Row<SgemmSm80Tiny, Form::vectors, NamedByTile, kDefault, Types<numeric::complex64>, Any>,
      Row<SgemmSm80Small, Form::vectors, NamedByTile, kDefault, Types<numeric::complex64>, Any>,
      Row<SgemmSm80Medium, Form::vectors, NamedByTile, kDefault, Types<numeric::complex64>, Any>,
      Row<SgemmSm80, Form::vectors, NamedByTile, kDefault, Types<numeric::complex64>, Any>>;
};

}  // namespace cute_py::kernels
