// elementwise: d(i,j) = alpha * sum_p a(i,j,p) * b(i,j,p) for rectangles along two modes, written where they belong
//
// i is the mode in which d is dense. How a factor lies along i decides how a vector of it is loaded:
//
//   same     stride 0: one number in all lanes (a broadcast)
//   next     stride 1: a vector where it lies
//   across   any stride, but 1 along j: squares are transposed in registers, kBlock columns j at a time
//   apart    anything else: gathered lane by lane
//
// Strides:  d 1 along i, any along j; the factors any along i, j and p
// Order:    p ascending, fused multiply-adds: the bits of all other kernels
// When:     no reduction (outer products, broadcasts), or K too short for sums to be worth a line of their own
#include "cpu/elementwise/elementwise.hpp"
#include "cpu/rows.inl"

namespace cute_py::cpu {
namespace {

enum class Access { same, next, apart, across };

Access access_of(ElementFactor const& x) {
  return x.i == 0 ? Access::same : x.i == 1 ? Access::next : x.j == 1 ? Access::across : Access::apart;
}

// The vectors of `count` elements at `width` places of j.
template <class T, Access access, int width, bool whole>
CUTE_PY_INLINE void load_elements(T const* at, ElementFactor const& of, std::int64_t count, Vec<T>* x) {
  if constexpr (access == Access::across && width > 1) {
    if constexpr (whole) {
      transpose_block<T>(EvenRows<T>{at, of.i}, 0, x);
    } else {
      transpose_block<T>(ClampedRows<T>{at, of.i, count - 1}, 0, x);
    }
    return;
  }
#pragma GCC unroll 4
  for (int j = 0; j < width; ++j) {
    T const* const from = at + j * of.j;
    if constexpr (access == Access::same) {
      x[j] = load_broadcast(from);
    } else if constexpr (access == Access::next) {
      x[j] = load_some(from, whole, count);
    } else {
      x[j] = gather<T, whole>(from, of.i, count);
    }
  }
}

template <class T, Access a_access, Access b_access, int width, bool whole, class Steps>
CUTE_PY_INLINE void multiply_elements(std::int64_t count, Steps steps, T const* a, ElementFactor const& of_a,
                                      T const* b, ElementFactor const& of_b, T alpha, T* d, std::int64_t d_j) {
  Vec<T> c[width] = {};
  for (std::int64_t p = 0; p < steps; ++p) {
    Vec<T> x[width];
    Vec<T> y[width];
    load_elements<T, a_access, width, whole>(a + p * of_a.k, of_a, count, x);
    load_elements<T, b_access, width, whole>(b + p * of_b.k, of_b, count, y);
#pragma GCC unroll 4
    for (int j = 0; j < width; ++j) c[j] = multiply_add<T>(x[j], y[j], c[j]);
  }
#pragma GCC unroll 4
  for (int j = 0; j < width; ++j) store_some(d + j * d_j, whole, count, alpha * c[j]);
}

// `Steps`: their number, or a type that knows that there is one.
template <class T, Access a_access, Access b_access, int width, class Steps>
CUTE_PY_INLINE void multiply_line_of_elements(std::int64_t count_i, Steps steps, T const* a, ElementFactor const& of_a,
                                              T const* b, ElementFactor const& of_b, T alpha, T* d, std::int64_t d_j) {
  std::int64_t i = 0;
#pragma GCC unroll 4
  for (; i + kLanes<T> <= count_i; i += kLanes<T>) {
    multiply_elements<T, a_access, b_access, width, true>(kLanes<T>, steps, a + i * of_a.i, of_a, b + i * of_b.i, of_b,
                                                          alpha, d + i, d_j);
  }
  if (i == count_i) return;
  multiply_elements<T, a_access, b_access, width, false>(count_i - i, steps, a + i * of_a.i, of_a, b + i * of_b.i, of_b,
                                                         alpha, d + i, d_j);
}

// Stream order: short lines of single products are read and written as they lie in memory, one after the other. Of long
// lines, of 4 KB and more, several go side by side, which memory brings sooner. Measured
// (docs/perf-notes.md): `ij,j->ij` of 31500x86 float64 3.1 to 1.7 ms.
template <class T>
constexpr bool is_in_stream_order(bool is_across, std::int64_t steps, std::int64_t count_i) {
  constexpr std::int64_t kLongLine = 4096 / sizeof(T);
  return !is_across && steps <= 1 && count_i < kLongLine;
}

template <class T, Access a_access, Access b_access>
void multiply_rectangle_of(std::int64_t count_i, std::int64_t count_j, std::int64_t steps, T const* a,
                           ElementFactor const& of_a, T const* b, ElementFactor const& of_b, T alpha, T* d,
                           std::int64_t d_j) {
  constexpr bool kIsAcross = a_access == Access::across || b_access == Access::across;
  bool const side_by_side = !is_in_stream_order<T>(kIsAcross, steps, count_i);
  constexpr int kWidth = kBlock<T>;
  std::int64_t j = 0;
  auto const multiply = [&](auto width, auto count) {
    multiply_line_of_elements<T, a_access, b_access, width>(count_i, count, a + j * of_a.j, of_a, b + j * of_b.j, of_b,
                                                            alpha, d + j * d_j, d_j);
  };
  auto const multiply_all = [&](auto count) {
    for (; side_by_side && j + kWidth <= count_j; j += kWidth) multiply(std::integral_constant<int, kWidth>{}, count);
    for (; j < count_j; ++j) multiply(std::integral_constant<int, 1>{}, count);
  };
  if (steps == 1) {
    multiply_all(std::integral_constant<std::int64_t, 1>{});
  } else {
    multiply_all(steps);
  }
}

// Calls use(std::integral_constant of it), for one that is not before `least`.
template <Access least, class Use>
CUTE_PY_INLINE void with_access(Access access, Use const& use) {
  if constexpr (least == Access::across) {
    use(std::integral_constant<Access, least>{});
  } else {
    if (access == least) return use(std::integral_constant<Access, least>{});
    with_access<static_cast<Access>(static_cast<int>(least) + 1)>(access, use);
  }
}

// The factors of a product may change places: half of the pairs of accesses are enough.
template <class T>
void multiply_rectangle(std::int64_t count_i, std::int64_t count_j, std::int64_t steps, T const* a,
                        ElementFactor const& of_a, T const* b, ElementFactor const& of_b, T alpha, T* d,
                        std::int64_t d_j) {
  auto const access_a = access_of(of_a);
  auto const access_b = access_of(of_b);
  if (access_a < access_b) return multiply_rectangle(count_i, count_j, steps, b, of_b, a, of_a, alpha, d, d_j);
  with_access<Access::same>(access_b, [&](auto least) {
    with_access<least>(access_a, [&](auto most) {
      multiply_rectangle_of<T, most, least>(count_i, count_j, steps, a, of_a, b, of_b, alpha, d, d_j);
    });
  });
}

}  // namespace
}  // namespace cute_py::cpu
