#pragma once

#include "kernels/common/write_vectors.cuh"

// Write policy: scattered, element by element, wherever D lies.
namespace cute_py::kernels {

// `batch`: lines whose sums and places are loaded before the first is written.
template <int batch, class D, class T, class Acc>
CUTE_DEVICE void write_scattered(Epilogue<T> const& e, LinesOfThread<Acc> const& lines, D* d) {
  int i = 0;
  if constexpr (batch > 1) {
    T const alpha = e.alpha;
    if (!e.reads_c) {
      CUTE_NO_UNROLL
      for (; i + batch <= lines.count; i += batch) {
        D some[batch];
        D* to[batch];
        CUTE_UNROLL
        for (int x = 0; x < batch; ++x) {
          some[x] = scaled<D>(alpha, *lines.sums_of(i + x));
          to[x] = d + lines.places[lines.line(i + x)];
        }
        CUTE_UNROLL
        for (int x = 0; x < batch; ++x) *to[x] = some[x];
      }
    }
  }
#ifdef __CUDACC__
#pragma unroll(batch > 1 ? 1 : 4)
#endif
  for (; i < lines.count; ++i) {
    update<1>(e, lines.sums_of(i), d + lines.places[lines.line(i)]);
  }
}

// Out of registers, in place: all elements, or, if `predicated`, those whose coordinate lies inside shape. beta == 0 does not
// read C.
template <bool predicated, class T, class AccEngine, class AccLayout, class CoordEngine, class CoordLayout, class Shape,
          class DstEngine, class DstLayout>
CUTE_DEVICE void store_elements(T alpha, cute::Tensor<AccEngine, AccLayout> const& acc,
                                cute::Tensor<CoordEngine, CoordLayout> const& coord, Shape const& shape, T beta,
                                cute::Tensor<DstEngine, DstLayout>& dst) {
  CUTE_UNROLL
  for (int i = 0; i < cute::size(acc); ++i) {
    if (!predicated || cute::elem_less(coord(i), shape)) {
      dst(i) = beta == T(0) ? numeric::times<T>(alpha, acc(i)) : numeric::axpby<T>(alpha, acc(i), beta, dst(i));
    }
  }
}

}  // namespace cute_py::kernels
