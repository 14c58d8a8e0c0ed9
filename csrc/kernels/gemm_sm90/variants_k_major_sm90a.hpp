#pragma once

#include "kernels/gemm_sm90/family.hpp"

namespace cute_py::kernels {

// Out of shared memory the warpgroup's instructions take k-major factors alone, of all types but those of 16 bits.
struct gemm_sm90_variants_k_major_sm90a {
  using Family = gemm_sm90_family;
  using T = Types<cutlass::tfloat32_t, std::int8_t>;
  using Rows = List<Row<GemmSm90_64x64, Form::vectors, NamedByTile, kDefault, T, Layouts<TN>>,
                    Row<GemmSm90_64x128, Form::vectors, NamedByTile, kDefault, T, Layouts<TN>>,
                    Row<GemmSm90_128x128, Form::vectors, NamedByTile, kDefault, T, Layouts<TN>>,
                    Row<GemmSm90_128x256, Form::vectors, NamedByTile, kDefault, T, Layouts<TN>>>;
};

}  // namespace cute_py::kernels
