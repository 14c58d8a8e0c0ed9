// micro-kernels of float and double: real tiles (micro_kernel.inl), and complex ones, whose real and imaginary parts
// are in registers of their own
//
//   a  |re re re|im im im|  *  b  re im re im ...   ->   MR x NR sums of real parts, and as many of imaginary ones
//
// Order:  k ascending; re(a) re(b), im(a) re(b), im(a) im(b), re(a) im(b) of each step, one after the other
#include "cpu/gemm/micro_kernel.inl"

namespace cute_py::cpu {
namespace {

constexpr int kNrComplex = kTile.nr_complex();

// Calls put(j, v, re, im) for every two vectors of the tile.
template <class T, class Put>
CUTE_PY_INLINE void multiply_complex_and_put(std::int64_t k, T const* a, T const* b, Put const& put) {
  Vec<T> re[kNrComplex][kVectors] = {};
  Vec<T> im[kNrComplex][kVectors] = {};
  for (std::int64_t p = 0; p < k; ++p) {
    Vec<T> a_re[kVectors];
    Vec<T> a_im[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      a_re[v] = reinterpret_cast<Vec<T> const*>(a)[v];
      a_im[v] = reinterpret_cast<Vec<T> const*>(a)[kVectors + v];
    }
#pragma GCC unroll 8
    for (int byte = 0; byte < 2 * kVectors * kVectorBytes; byte += kBytesOfLine) {
      __builtin_prefetch(reinterpret_cast<char const*>(a + kStepsAhead * 2 * kMr<T>) + byte);
    }
#pragma GCC unroll 16
    for (int j = 0; j < kNrComplex; ++j) {
      auto const b_re = broadcast(b[2 * j]);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        re[j][v] = multiply_add<T>(a_re[v], b_re, re[j][v]);
        im[j][v] = multiply_add<T>(a_im[v], b_re, im[j][v]);
      }
      auto const b_im = broadcast(b[2 * j + 1]);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        re[j][v] = multiply_subtract<T>(a_im[v], b_im, re[j][v]);
        im[j][v] = multiply_add<T>(a_re[v], b_im, im[j][v]);
      }
    }
    a += 2 * kMr<T>;
    b += 2 * kNrComplex;
  }
#pragma GCC unroll 16
  for (int j = 0; j < kNrComplex; ++j) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) put(j, v, re[j][v], im[j][v]);
  }
}

template <class T>
void multiply_complex(std::int64_t k, T const* a, T const* b, T* acc) {
  auto* const tile = reinterpret_cast<Vec<T>*>(acc);
  multiply_complex_and_put(k, a, b, [&](int j, int v, Vec<T> const& re, Vec<T> const& im) CUTE_PY_INLINE_LAMBDA {
    tile[j * kVectors + v] = re;
    tile[(kNrComplex + j) * kVectors + v] = im;
  });
}

template <class T>
void multiply_complex_into(std::int64_t k, T const* a, T const* b, bool first, T* d, std::int64_t const* d_columns) {
  auto const put = [&](int j, int v, Vec<T> const& re, Vec<T> const& im) CUTE_PY_INLINE_LAMBDA {
    T* const to = d + 2 * (d_columns[j] + v * kLanes<T>);
    store(to, interleave<T, false>(re, im));
    store(to + kLanes<T>, interleave<T, true>(re, im));
  };
  if (first) {
    multiply_complex_and_put(k, a, b, put);
  } else {
    multiply_complex_and_put(k, a, b, [&](int j, int v, Vec<T> const& re, Vec<T> const& im) CUTE_PY_INLINE_LAMBDA {
      T const* const from = d + 2 * (d_columns[j] + v * kLanes<T>);
      Vec<T> const x = load(from);
      Vec<T> const y = load(from + kLanes<T>);
      put(j, v, re + every_second<T, 0>(x, y), im + every_second<T, 1>(x, y));
    });
  }
}

template <class T>
constexpr ComplexMicroKernel<T> kComplexMicro = {
    .mr = kMr<T>, .nr = kNrComplex, .multiply = &multiply_complex<T>, .multiply_into = &multiply_complex_into<T>};

}  // namespace
}  // namespace cute_py::cpu
