#pragma once

#include "kernels/gemm_small/family.hpp"

namespace cute_py::kernels {

struct NamedByType : Named {
  static constexpr bool by_layout = false;
};

struct gemm_small_variants {
  using Family = gemm_small_family;
  using Rows =
      List<Row<GemmSmall, Form::predicated, NamedByType, kAlways, Types<float>, Layouts<AnyLayout>>,
           Row<GemmSmall, Form::predicated, NamedByType, kDefault, Types<double>, Layouts<AnyLayout>>,
           Row<GemmSmall, Form::predicated, NamedByType, kFull, Types<numeric::complex64, numeric::complex128>,
               Layouts<AnyLayout>>,
           Row<GemmSmall, Form::predicated, NamedByType, kDefault, Types<cutlass::half_t>, Layouts<AnyLayout>>,
           Row<GemmSmall, Form::predicated, NamedByType, kDefault, Types<cutlass::bfloat16_t>, Layouts<AnyLayout>>>;
};

}  // namespace cute_py::kernels
