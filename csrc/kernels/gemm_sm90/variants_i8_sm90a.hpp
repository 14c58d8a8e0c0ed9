#pragma once

#include "kernels/gemm_sm90/family.hpp"

namespace cute_py::kernels {

struct gemm_sm90_variants_i8_sm90a {
  using Family = gemm_sm90_family;
  using Rows = List<Row<GemmSm90_64x64, Form::vectors, NamedByTile, kHost | kGpu, Types<std::int8_t>, Layouts<TN>>,
                    Row<GemmSm90_64x128, Form::vectors, NamedByTile, kGpu, Types<std::int8_t>, Layouts<TN>>,
                    Row<GemmSm90_128x128, Form::vectors, NamedByTile, kGpu, Types<std::int8_t>, Layouts<TN>>,
                    Row<GemmSm90_128x256, Form::vectors, NamedByTile, kGpu, Types<std::int8_t>, Layouts<TN>>>;
};

}  // namespace cute_py::kernels
