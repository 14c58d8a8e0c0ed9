#pragma once

#include "kernels/gemm_skinny/family.hpp"

namespace cute_py::kernels {

// What A is; B may be any.
struct MMajor : AnyLayout {
  static constexpr char const* letters = "m";
  static constexpr Major a = Major::mn;
};
struct KMajor : AnyLayout {
  static constexpr char const* letters = "k";
};

struct gemm_skinny_variants {
  using Family = gemm_skinny_family;
  using Rows =
      List<Row<GemmSkinny, Form::nested, Named, kAlways, Types<float>, Layouts<MMajor, KMajor>>,
           Row<GemmSkinny, Form::nested, Named, kDefault, Types<double>, Layouts<MMajor, KMajor>>,
           Row<GemmSkinny, Form::nested, Named, kFull, Types<numeric::complex64, numeric::complex128>,
               Layouts<MMajor, KMajor>>,
           Row<GemmSkinny, Form::nested, Named, kDefault, Types<cutlass::half_t>, Layouts<MMajor, KMajor>>,
           Row<GemmSkinny, Form::nested, Named, kDefault, Types<cutlass::bfloat16_t>, Layouts<MMajor, KMajor>>>;
};

}  // namespace cute_py::kernels
