// C(m,n) = alpha * sum_k A(m,k) * B(n,k) + beta * C(m,n) on the host, as it is written
//
// The plain version of every other kernel: three loops, nothing to get wrong, something to compare with.
//
// Requires:  any M, N, K >= 0, any strides
// Numerics:  fp32, product and sum rounded separately, k ascending
#include "problem/entry.hpp"

namespace cute_py::instances {
namespace {

float& at(Matrix const& matrix, std::int64_t i, std::int64_t j) {
  return static_cast<float*>(matrix.data)[i * matrix.stride[0] + j * matrix.stride[1]];
}

int run(Problem const& p, Execution const&) {
  for (std::int64_t n = 0; n < p.n; ++n) {
    for (std::int64_t m = 0; m < p.m; ++m) {
      float sum = 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        sum += at(p.a, m, k) * at(p.b, n, k);
      }
      float& c = at(p.c, m, n);
      c = p.beta == 0 ? p.alpha * sum : p.alpha * sum + p.beta * c;
    }
  }
  return 0;
}

}  // namespace

extern Entry const reference_f32_cpu;
Entry const reference_f32_cpu{{"reference_f32",
                               "reference",
                               "any",
                               Target::cpu,
                               {1, 1, 1},
                               1,
                               1,
                               0,
                               true,
                               Major::mn,
                               Major::mn,
                               sizeof(float),
                               0,
                               Isa::baseline},
                              &run};

}  // namespace cute_py::instances
