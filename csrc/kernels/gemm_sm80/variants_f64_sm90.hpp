#pragma once

#include "kernels/gemm_sm80/family.hpp"

namespace cute_py::kernels {

struct NamedNestedSm90 : NamedNested {
  static constexpr char const* after = "sm90";
};
struct NamedNestedByTileSm90 : NamedNestedByTile {
  static constexpr char const* after = "sm90";
};

// SM90's own instruction.
struct gemm_sm80_variants_f64_sm90 {
  using Family = gemm_sm80_family;
  using Any = Layouts<NT, TN, NN>;
  using Rows = List<Row<GemmSm90Double64x64, Form::nested, NamedNestedSm90, kDefault, Types<double>, Any>,
                    Row<GemmSm90Double32x32, Form::elements, NamedNestedByTileSm90, kDefault, Types<double>, Any>,
                    Row<GemmSm90Double32x32, Form::vectors, NamedSm90, kDefault, Types<double>, Any>,
                    Row<GemmSm90Double32x64, Form::vectors, NamedSm90, kDefault, Types<double>, Any>,
                    Row<GemmSm90Double64x64, Form::vectors, NamedSm90, kDefault, Types<double>, Any>,
                    Row<GemmSm90Double128x128, Form::vectors, NamedSm90, kDefault, Types<double>, Any>>;
};

}  // namespace cute_py::kernels
