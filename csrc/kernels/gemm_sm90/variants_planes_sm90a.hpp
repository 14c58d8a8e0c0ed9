#pragma once

#include "kernels/gemm_sm90/family.hpp"

namespace cute_py::kernels {

struct NamedPlanes : NamedByTile {
  static constexpr char const* after = "planes";
};

// Products of the planes of emulated precision, which are k-major.
struct gemm_sm90_variants_planes_sm90a {
  using Family = gemm_sm90_family;
  using Rows = List<
      Row<GemmSm90Residues128x128, Form::vectors, NamedResidues, kDefault, Types<std::int8_t>, Layouts<TN>>,
      Row<GemmSm90Residues128x256, Form::vectors, NamedResidues, kDefault, Types<std::int8_t>, Layouts<TN>>,
      Row<GemmSm90TwoPlanes128x64, Form::vectors, NamedPlanes, kDefault, Types<cutlass::half_t>, Layouts<TN>>,
      Row<GemmSm90TwoPlanes128x128, Form::vectors, NamedPlanes, kDefault, Types<cutlass::half_t>, Layouts<TN>>,
      Row<GemmSm90ThreePlanes128x64, Form::vectors, NamedPlanes, kDefault, Types<cutlass::bfloat16_t>, Layouts<TN>>,
      Row<GemmSm90ThreePlanes128x128, Form::vectors, NamedPlanes, kDefault, Types<cutlass::bfloat16_t>, Layouts<TN>>>;
};

}  // namespace cute_py::kernels
