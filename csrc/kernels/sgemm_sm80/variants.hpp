#pragma once

#include "kernels/sgemm_sm80/family.hpp"

namespace cute_py::kernels {

// A product of TT is one of NN, its factors exchanged.
struct sgemm_sm80_variants {
  using Family = sgemm_sm80_family;
  using Any = Layouts<NT, TN, NN>;
  using Rows = List<Row<SgemmSm80, Form::whole, Named, kAlways, Types<float>, Layouts<NT, TN, NN, TT>>,
                    Row<SgemmSm80Small, Form::elements, NamedNested, kAlways, Types<float>, Layouts<NT, NN>>,
                    Row<SgemmSm80Tiny, Form::elements, NamedNestedByTile, kDefault, Types<float>, Layouts<NT, NN>>,
                    Row<SgemmSm80Half, Form::elements, NamedNestedByTile, kDefault, Types<float>, Layouts<NT, NN>>,
                    Row<SgemmSm80Half, Form::vectors, NamedByTile, kDefault, Types<float>, Any>,
                    Row<SgemmSm80Tiny, Form::vectors, NamedByTile, kAlways, Types<float>, Any>,
                    Row<SgemmSm80Small, Form::vectors, NamedByTile, kAlways, Types<float>, Any>,
                    Row<SgemmSm80, Form::vectors, NamedByTile, kAlways, Types<float>, Any>,
                    Row<SgemmSm80Narrow, Form::vectors, NamedByTile, kAlways, Types<float>, Any>>;
};

}  // namespace cute_py::kernels
