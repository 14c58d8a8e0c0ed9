// Complex numbers, (re,im) interleaved, to lines of real and of imaginary parts, and back
#include "cpu/simd.inl"
#include "cpu/transpose/transpose.hpp"

namespace cute_py::cpu {
namespace {

template <class T>
void split_parts(std::int64_t count, T const* from, bool negate, T* re, T* im) {
  T const sign = negate ? T(-1) : T(1);
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) {
    Vec<T> const x = load(from + 2 * i);
    Vec<T> const y = load(from + 2 * i + kLanes<T>);
    store(re + i, every_second<T, 0>(x, y));
    store(im + i, sign * every_second<T, 1>(x, y));
  }
  auto const* const x = reinterpret_cast<LooseElement<T> const*>(from);
  for (; i < count; ++i) {
    re[i] = x[2 * i];
    im[i] = sign * x[2 * i + 1];
  }
}

// What the sums of complex numbers are multiplied by on their way.
enum class By { nothing, real_number, complex_number };

template <class T, By by>
void join_line(std::int64_t count, T const* alpha, T const* re, T const* im, T* d) {
  auto const scaled = [&](auto const& x, auto const& y) {
    if constexpr (by == By::complex_number) {
      return alpha[0] * x + alpha[1] * y;
    } else if constexpr (by == By::real_number) {
      return alpha[0] * x;
    } else {
      return x;
    }
  };
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) {
    Vec<T> const x = load(re + i);
    Vec<T> const y = load(im + i);
    auto const scaled_re = scaled(x, -y);
    auto const scaled_im = scaled(y, x);
    store(d + 2 * i, interleave<T, false>(scaled_re, scaled_im));
    store(d + 2 * i + kLanes<T>, interleave<T, true>(scaled_re, scaled_im));
  }
  for (; i < count; ++i) {
    T const parts[2] = {scaled(re[i], -im[i]), scaled(im[i], re[i])};
    __builtin_memcpy(d + 2 * i, parts, sizeof(parts));
  }
}

template <class T>
void join_parts(std::int64_t count, T const* alpha, T const* re, T const* im, T* d) {
  if (alpha == nullptr) {
    join_line<T, By::nothing>(count, alpha, re, im, d);
  } else if (alpha[1] == 0) {  // 0 times infinity is NaN
    join_line<T, By::real_number>(count, alpha, re, im, d);
  } else {
    join_line<T, By::complex_number>(count, alpha, re, im, d);
  }
}

template <class T>
void add_parts(std::int64_t count, T const* d, T* re, T* im) {
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) {
    Vec<T> const x = load(d + 2 * i);
    Vec<T> const y = load(d + 2 * i + kLanes<T>);
    store(re + i, load(re + i) + every_second<T, 0>(x, y));
    store(im + i, load(im + i) + every_second<T, 1>(x, y));
  }
  for (; i < count; ++i) {
    T parts[2];
    __builtin_memcpy(parts, d + 2 * i, sizeof(parts));
    re[i] += parts[0];
    im[i] += parts[1];
  }
}

template <class T>
constexpr ComplexPartsKernel<T> kComplexParts = {
    .split = &split_parts<T>, .join = &join_parts<T>, .add = &add_parts<T>};

}  // namespace
}  // namespace cute_py::cpu
