#pragma once

#include "kernels/gemm_sm90/family.hpp"

namespace cute_py::kernels {

struct NamedFast : NamedByTile {
  static constexpr char const* after = "fast";
};

struct gemm_sm90_variants_e4m3_sm90a {
  using Family = gemm_sm90_family;
  using T = Types<cutlass::float_e4m3_t>;
  using Rows = List<Row<GemmSm90Promoted64x64, Form::vectors, NamedByTile, kHost | kGpu, T, Layouts<TN>>,
                    Row<GemmSm90Promoted64x128, Form::vectors, NamedByTile, kGpu, T, Layouts<TN>>,
                    Row<GemmSm90Promoted128x128, Form::vectors, NamedByTile, kGpu, T, Layouts<TN>>,
                    Row<GemmSm90Promoted128x192, Form::vectors, NamedByTile, kGpu, T, Layouts<TN>>,
                    Row<GemmSm90_64x128, Form::vectors, NamedFast, kHost | kGpu, T, Layouts<TN>>,
                    Row<GemmSm90_128x128, Form::vectors, NamedFast, kGpu, T, Layouts<TN>>,
                    Row<GemmSm90_128x256, Form::vectors, NamedFast, kGpu, T, Layouts<TN>>>;
};

}  // namespace cute_py::kernels
