#pragma once

#include "kernels/gemm_tall/family.hpp"

namespace cute_py::kernels {

struct NamedByTypeAndTile : Named {
  static constexpr bool by_layout = false;
  static constexpr bool by_tile = true;
};

struct gemm_tall_variants {
  using Family = gemm_tall_family;
  template <template <class, Major, Major, Form> class Config, BuildSet sets, class Of>
  using OfTypes = Row<Config, Form::nested, NamedByTypeAndTile, sets, Of, Layouts<AnyLayout>>;
  using Rows = List<
      OfTypes<GemmTall16, kDefault, Types<float, double, numeric::complex64, cutlass::half_t, cutlass::bfloat16_t>>,
      OfTypes<GemmTall8, kAlways, Types<float>>,
      OfTypes<GemmTall8, kDefault, Types<double, numeric::complex64, cutlass::half_t, cutlass::bfloat16_t>>>;
};

}  // namespace cute_py::kernels
