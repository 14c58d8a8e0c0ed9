// dot: sums[i] = sum of a[p] * b[p], of a[p] * times or of a[p], for blocks of contiguous numbers
//
//   p:            0  1  2 ... 63 | 64 65 ...                    64 partial sums (32 of double), whatever the vectors
//   partial sum:  0  1  2 ... 63 |  0  1 ...      then halves:  s[i] + s[i + 32], s[i] + s[i + 16], ..., one is left
//
// Strides:  1 in a, and in b if there is one
// Order:    that of the partial sums: not that of other kernels, but the same for any threads and for
//           all instruction sets with fused multiply-adds
// When:     the sum has no other product whose bits it should share (Geometry::is_sum), along 64 numbers or more: twice
//           as fast as rows that are transposed (docs/perf-notes.md), and as exact
#include "cpu/dot/dot.hpp"
#include "cpu/simd.inl"

namespace cute_py::cpu {
namespace {

// How the products of a sum are formed.
enum class Terms { one, both, times };

template <class T, Terms terms>
CUTE_PY_INLINE T sum_of_block(std::int64_t steps, T const* a, T const* b, Vec<T> const& times) {
  constexpr int kPartial = 256 / static_cast<int>(sizeof(T));
  constexpr int kCount = kPartial / kLanes<T>;
  Vec<T> sums[kCount] = {};
  auto const add = [&](int i, Vec<T> const& x, Vec<T> const& y) CUTE_PY_INLINE_LAMBDA {
    sums[i] = terms == Terms::one ? sums[i] + x : multiply_add<T>(x, y, sums[i]);
  };
  auto const add_whole = [&](int i, std::int64_t p) CUTE_PY_INLINE_LAMBDA {
    Vec<T> const x = load(a + p);
    Vec<T> const y = terms == Terms::both ? load(b + p) : times;
    add(i, x, y);
  };
  std::int64_t p = 0;
  for (; p + kPartial <= steps; p += kPartial) {
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) add_whole(i, p + i * kLanes<T>);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) {
    if (p + kLanes<T> <= steps) {
      add_whole(i, p);
    } else if (p < steps) {
      // What does not exist is 0 in both factors, which changes no sum.
      Vec<T> const x = load_partial(a + p, steps - p);
      if constexpr (terms == Terms::one) {
        add(i, x, x);
      } else {
        auto const* const second = terms == Terms::both ? b + p : reinterpret_cast<T const*>(&times);
        add(i, x, load_partial(second, steps - p));
      }
    }
    p += kLanes<T>;
  }
#pragma GCC unroll 4
  for (int half = kCount / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return reduce_by_halves<T>(sums[0]);
}

template <class T, Terms terms>
void sum_blocks(std::int64_t steps, std::int64_t block, T const* a, T const* b, Vec<T> const& times, T* sums) {
  for (std::int64_t first = 0; first < steps; first += block) {
    auto const count = steps - first < block ? steps - first : block;
    *sums++ = sum_of_block<T, terms>(count, a + first, b + (terms == Terms::both ? first : 0), times);
  }
}

template <class T>
void dot_blocks(std::int64_t steps, std::int64_t block, T const* a, T const* b, T const* times, T* sums) {
  T number;
  __builtin_memcpy(&number, times, sizeof(T));
  auto const in_lanes = broadcast<T>(number);
  if (b != nullptr) {
    sum_blocks<T, Terms::both>(steps, block, a, b, in_lanes, sums);
  } else if (number == T(1)) {
    sum_blocks<T, Terms::one>(steps, block, a, a, in_lanes, sums);
  } else {
    sum_blocks<T, Terms::times>(steps, block, a, a, in_lanes, sums);
  }
}

template <class T>
constexpr DotKernel<T> kDot = {.blocks = &dot_blocks<T>};

}  // namespace
}  // namespace cute_py::cpu
