#pragma once

#include "kernels/gemm_sm90/family.hpp"

namespace cute_py::kernels {

struct NamedFast : NamedByTile {
  static constexpr char const* after = "fast";
};

// Of e5m2, whose numbers are mostly gradients, fewer tiles.
struct gemm_sm90_variants_float8_sm90a {
  using Family = gemm_sm90_family;
  using E4M3 = Types<cutlass::float_e4m3_t>;
  using E5M2 = Types<cutlass::float_e5m2_t>;
  using Rows = List<Row<GemmSm90Promoted64x64, Form::vectors, NamedByTile, kDefault, E4M3, Layouts<TN>>,
                    Row<GemmSm90Promoted64x128, Form::vectors, NamedByTile, kDefault, E4M3, Layouts<TN>>,
                    Row<GemmSm90Promoted128x128, Form::vectors, NamedByTile, kDefault, E4M3, Layouts<TN>>,
                    Row<GemmSm90Promoted128x192, Form::vectors, NamedByTile, kDefault, E4M3, Layouts<TN>>,
                    Row<GemmSm90_64x128, Form::vectors, NamedFast, kDefault, E4M3, Layouts<TN>>,
                    Row<GemmSm90_128x128, Form::vectors, NamedFast, kDefault, E4M3, Layouts<TN>>,
                    Row<GemmSm90_128x256, Form::vectors, NamedFast, kDefault, E4M3, Layouts<TN>>,
                    Row<GemmSm90Promoted64x128, Form::vectors, NamedByTile, kDefault, E5M2, Layouts<TN>>,
                    Row<GemmSm90Promoted128x192, Form::vectors, NamedByTile, kDefault, E5M2, Layouts<TN>>,
                    Row<GemmSm90_64x128, Form::vectors, NamedFast, kDefault, E5M2, Layouts<TN>>,
                    Row<GemmSm90_128x256, Form::vectors, NamedFast, kDefault, E5M2, Layouts<TN>>>;
};

}  // namespace cute_py::kernels
