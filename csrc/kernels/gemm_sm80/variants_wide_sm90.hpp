#pragma once

#include "kernels/gemm_sm80/family.hpp"

namespace cute_py::kernels {

struct NamedSm90 : Named {
  static constexpr char const* after = "sm90";
};

// SM90's own instruction.
struct gemm_sm80_variants_wide_sm90 {
  using Family = gemm_sm80_family;
  using Rows = List<Row<GemmSm80OnSm90, Form::whole, NamedSm90, kGpu, Types<double>, Layouts<NT, TN, NN, TT>>>;
};

}  // namespace cute_py::kernels
