#pragma once

#include "kernels/gemm_sm80/family.hpp"

namespace cute_py::kernels {

// ldmatrix cannot transpose 8 bits.
struct gemm_sm80_variants_int8 {
  using Family = gemm_sm80_family;
  using Rows = List<Row<GemmSm80_64x64, Form::nested, NamedNested, kDefault, Types<std::int8_t>, Layouts<TN>>,
                    Row<GemmSm80_64x64, Form::vectors, NamedByTile, kDefault, Types<std::int8_t>, Layouts<TN>>,
                    Row<GemmSm80_128x256, Form::vectors, NamedByTile, kDefault, Types<std::int8_t>, Layouts<TN>>>;
};

}  // namespace cute_py::kernels
