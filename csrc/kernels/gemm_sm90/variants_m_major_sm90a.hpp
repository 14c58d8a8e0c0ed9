#pragma once

#include "kernels/gemm_sm90/family.hpp"

namespace cute_py::kernels {

// Of tfloat32 an m-major A is loaded through registers, with a latency. From 128 columns on the schedule is
// cooperative: one warpgroup loads while the other one multiplies. A product of TT is one of NN, its factors exchanged.
struct gemm_sm90_variants_m_major_sm90a {
  using Family = gemm_sm90_family;
  using T = Types<cutlass::tfloat32_t>;
  using Rows = List<Row<GemmSm90_64x64, Form::vectors, NamedByTile, kDefault, T, Layouts<NN>>,
                    Row<GemmSm90_64x128, Form::vectors, NamedByTile, kDefault, T, Layouts<NN>>,
                    Row<GemmSm90Cooperative128x128, Form::vectors, NamedByTile, kDefault, T, Layouts<NN>>,
                    Row<GemmSm90_128x192, Form::vectors, NamedByTile, kDefault, T, Layouts<NN>>,
                    Row<GemmSm90_128x256, Form::vectors, NamedByTile, kDefault, T, Layouts<NN>>>;
};

}  // namespace cute_py::kernels
