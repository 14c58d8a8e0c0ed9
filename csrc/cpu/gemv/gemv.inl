// gemv: acc(i) += sum_p a(i,p) * b(i,p), p ascending, in one accumulator for each i
//
// Where one factor is a vector along k, or both have i: a matrix times a vector, rows times rows. Every number of the
// larger factor is used once, so that what counts is how it is read. Two ways, by how that lies:
//
//   lines   i is contiguous                              rows   k is; lanes   are rows, transposed in registers
//           acc  +=  column p  *  b(p)                          a(0,p) a(0,p+1) a(0,p+2) ...   lane 0
//           |....|   |....|       .                             a(1,p) a(1,p+1) a(1,p+2) ...   lane 1
//
// Strides:  along i 1 or 0 (lines), of rows any (rows); along k any (lines), 1 (rows)
// Order:    p ascending, fused multiply-adds: an element's bits are those of all other kernels
// When:     arithmetic intensity is low: no factor is used often enough to be packed
//
// Included by each instruction set's translation unit; simd.inl says what may not be in here.
#include "cpu/gemv/gemv.hpp"
#include "cpu/rows.inl"

namespace cute_py::cpu {
namespace {

// ---- Lines

template <class T, bool varies>
CUTE_PY_INLINE Vec<T> load_factor(T const* data) {
  if constexpr (varies) {
    return load(data);
  } else {
    return load_broadcast(data);
  }
}

// So many vectors of a line, the last one with `last` elements if they are not whole.
template <class T, int vectors, bool a_varies, bool b_varies, bool whole>
CUTE_PY_INLINE void multiply_vectors(std::int64_t last, std::int64_t steps, T const* a, std::int64_t a_step, T const* b,
                                     std::int64_t b_step, T* acc, bool first) {
  auto const load_at = [&](T const* at, auto varies) {
    if constexpr (whole || !varies) {
      return load_factor<T, varies>(at);
    } else {
      return load_partial(at, last);
    }
  };
  Vec<T> c[vectors] = {};
  if (!first) {
    for (int v = 0; v < vectors; ++v) c[v] = load_at(acc + v * kLanes<T>, std::true_type{});
  }
  for (std::int64_t p = 0; p < steps; ++p) {
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) {
      c[v] = multiply_add<T>(load_at(a + p * a_step + (a_varies ? v * kLanes<T> : 0), std::bool_constant<a_varies>{}),
                             load_at(b + p * b_step + (b_varies ? v * kLanes<T> : 0), std::bool_constant<b_varies>{}),
                             c[v]);
    }
  }
  for (int v = 0; v < vectors; ++v) {
    store_some(acc + v * kLanes<T>, whole, last, c[v]);
  }
}

template <class T, bool a_varies, bool b_varies>
CUTE_PY_INLINE void multiply_steps(std::int64_t count, std::int64_t steps, LineFactor<T> const& a,
                                   LineFactor<T> const& b, T* acc, bool first) {
  constexpr int kVectors = 4;
  auto const multiply = [&](std::int64_t i, auto vectors, auto whole) {
    multiply_vectors<T, vectors, a_varies, b_varies, whole>(count - i, steps, a_varies ? a.data + i : a.data, a.step,
                                                            b_varies ? b.data + i : b.data, b.step, acc + i, first);
  };
  std::int64_t i = 0;
  for (; i + kVectors * kLanes<T> <= count; i += kVectors * kLanes<T>) {
    multiply(i, std::integral_constant<int, kVectors>{}, std::true_type{});
  }
  for (; i + kLanes<T> <= count; i += kLanes<T>) multiply(i, std::integral_constant<int, 1>{}, std::true_type{});
  if (i < count) multiply(i, std::integral_constant<int, 1>{}, std::false_type{});
}

// Short lines: the sums of up to so many vectors stay in registers for all steps.
constexpr int kVectorsOfShortLine = 8;

template <class T, bool a_varies, int vectors, bool whole>
void multiply_short_line_of(std::int64_t last, std::int64_t steps, LineFactor<T> const& a, LineFactor<T> const& b,
                            T* acc, bool first) {
  LineFactor<T> const& line = a_varies ? a : b;
  LineFactor<T> const& number = a_varies ? b : a;
  auto const load_at = [&](T const* at, int v) CUTE_PY_INLINE_LAMBDA {
    return load_some(at + v * kLanes<T>, whole || v + 1 < vectors, last);
  };
  Vec<T> c[vectors] = {};
  if (!first) {
    for (int v = 0; v < vectors; ++v) c[v] = load_at(acc, v);
  }
  for (std::int64_t p = 0; p < steps; ++p) {
    auto const x = load_broadcast(number.data + p * number.step);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) c[v] = multiply_add<T>(load_at(line.data + p * line.step, v), x, c[v]);
  }
  for (int v = 0; v < vectors; ++v) {
    store_some(acc + v * kLanes<T>, whole || v + 1 < vectors, last, c[v]);
  }
}

template <class T, bool a_varies, int vectors = 1>
void multiply_short_line(std::int64_t count, std::int64_t steps, LineFactor<T> const& a, LineFactor<T> const& b, T* acc,
                         bool first) {
  if constexpr (vectors < kVectorsOfShortLine) {
    if (count > vectors * kLanes<T>) {
      return multiply_short_line<T, a_varies, vectors + 1>(count, steps, a, b, acc, first);
    }
  }
  auto const last = count - (vectors - 1) * kLanes<T>;
  if (last == kLanes<T>) {
    multiply_short_line_of<T, a_varies, vectors, true>(last, steps, a, b, acc, first);
  } else {
    multiply_short_line_of<T, a_varies, vectors, false>(last, steps, a, b, acc, first);
  }
}

// Long lines: of one factor that goes along the line a few columns at a time, all of them to the line's end. Memory is
// read at few places at a time, and the sums stay in L1.
template <class T, bool a_varies, bool b_varies>
void multiply_line(std::int64_t count, std::int64_t steps, LineFactor<T> a, LineFactor<T> b, T* acc, bool first) {
  constexpr std::int64_t kColumnsAtOnce = 8;
  if constexpr (a_varies != b_varies) {
    if (count <= kVectorsOfShortLine * kLanes<T>) {
      return multiply_short_line<T, a_varies>(count, steps, a, b, acc, first);
    }
    for (; steps > kColumnsAtOnce; steps -= kColumnsAtOnce) {
      multiply_steps<T, a_varies, b_varies>(count, kColumnsAtOnce, a, b, acc, first);
      first = false;
      a.data += kColumnsAtOnce * a.step;
      b.data += kColumnsAtOnce * b.step;
    }
  }
  multiply_steps<T, a_varies, b_varies>(count, steps, a, b, acc, first);
}

template <class T>
void gemv_lines(std::int64_t count, std::int64_t steps, LineFactor<T> a, LineFactor<T> b, T* acc, bool first) {
  if (a.varies && b.varies) {
    multiply_line<T, true, true>(count, steps, a, b, acc, first);
  } else if (a.varies) {
    multiply_line<T, true, false>(count, steps, a, b, acc, first);
  } else if (b.varies) {
    multiply_line<T, false, true>(count, steps, a, b, acc, first);
  } else {
    // A compiler would multiply before it makes a vector of the product, and round it.
    auto const* const x = reinterpret_cast<LooseElement<T> const*>(a.data);
    auto const* const y = reinterpret_cast<LooseElement<T> const*>(b.data);
    for (std::int64_t i = 0; i < count; ++i) {
      T c = first ? T(0) : acc[i];
      for (std::int64_t p = 0; p < steps; ++p) c = multiply_add<T>(x[p * a.step], y[p * b.step], c);
      acc[i] = c;
    }
  }
}

template <class T>
void complex_gemv_lines(std::int64_t count, std::int64_t steps, LineFactor<T> a, bool conj_a, LineFactor<T> b,
                        bool conj_b, T* acc, bool first) {
  if (first) {
    for (std::int64_t i = 0; i < 2 * count; ++i) acc[i] = 0;
  }
  T const sign_a = conj_a ? T(-1) : T(1);
  T const sign_b = conj_b ? T(-1) : T(1);
  std::int64_t const of_a = a.varies ? 2 : 0;
  std::int64_t const of_b = b.varies ? 2 : 0;
  for (std::int64_t p = 0; p < steps; ++p) {
    auto const* x = reinterpret_cast<LooseElement<T> const*>(a.data + 2 * p * a.step);
    auto const* y = reinterpret_cast<LooseElement<T> const*>(b.data + 2 * p * b.step);
    for (std::int64_t i = 0; i < count; ++i) {
      T const a_re = x[of_a * i];
      T const a_im = sign_a * x[of_a * i + 1];
      T const b_re = y[of_b * i];
      T const b_im = sign_b * y[of_b * i + 1];
      T const re = acc[2 * i];
      T const im = acc[2 * i + 1];
      acc[2 * i] = multiply_add<T>(-a_im, b_im, multiply_add<T>(a_re, b_re, re));
      acc[2 * i + 1] = multiply_add<T>(a_re, b_im, multiply_add<T>(a_im, b_re, im));
    }
  }
}

// ---- Rows

// Of the lanes of several vectors: while the sums of one wait for each other the next block of another is
// brought into registers.
template <class T, bool b_varies, int vectors, class Rows>
void multiply_rows_of(std::int64_t steps, Rows const& a, Rows const& b, LineFactor<T> const& shared, T* acc, bool first,
                      RowsAhead const& ahead) {
  Vec<T> c[vectors] = {};
  if (!first) {
    for (int v = 0; v < vectors; ++v) c[v] = load(acc + v * kLanes<T>);
  }
  RowPrefetch<T, vectors, Rows> const prefetch_a(a, ahead, steps);
  RowPrefetch<T, vectors, Rows> const prefetch_b(b, ahead, steps);
  auto const columns = [&](auto const& rows, int v, std::int64_t p, std::int64_t count, auto const& prefetch, Vec<T>* x)
                           CUTE_PY_INLINE_LAMBDA {
                             auto const from_p = rows_from(rows_behind(rows, v * kLanes<T>), p);
                             if (count == kBlock<T>) {
                               if (p % kLine<T> == 0) prefetch(from_p, p * vectors + v * kLine<T>);
                               transpose_block<T>(from_p, 0, x);
                             } else {
                               transpose_tail<T>(from_p, 0, count, x);
                             }
                           };
  auto const add = [&](std::int64_t p, std::int64_t count) CUTE_PY_INLINE_LAMBDA {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      Vec<T> x[kBlock<T>];
      Vec<T> y[kBlock<T>];
      columns(a, v, p, count, prefetch_a, x);
      if constexpr (b_varies) columns(b, v, p, count, prefetch_b, y);
#pragma GCC unroll 4
      for (int i = 0; i < kBlock<T>; ++i) {
        if (i >= count) break;
        if constexpr (b_varies) {
          c[v] = multiply_add<T>(x[i], y[i], c[v]);
        } else {
          c[v] = multiply_add<T>(x[i], load_broadcast(shared.data + (p + i) * shared.step), c[v]);
        }
      }
    }
  };
  std::int64_t p = 0;
  for (; p + kBlock<T> <= steps; p += kBlock<T>) add(p, kBlock<T>);
  if (p < steps) add(p, steps - p);
  for (int v = 0; v < vectors; ++v) store(acc + v * kLanes<T>, c[v]);
}

// The same of packed rows.
template <class T, bool b_varies, int vectors>
void multiply_packed_rows(std::int64_t steps, T const* const* a, T const* const* b, LineFactor<T> shared, T* acc,
                          bool first) {
  using Packed = PackedRows<T, vectors * kLanes<T>, (b_varies ? 4 : 8) << 10>;
  Packed packed_a;
  Packed packed_b;
  for_packed(packed_a, a, steps,
             [&](EvenRows<T> const& rows, std::int64_t p, std::int64_t count) CUTE_PY_INLINE_LAMBDA {
               if constexpr (b_varies) packed_b.pack(b, p, count);
               multiply_rows_of<T, b_varies, vectors>(count, rows, packed_b.rows(), shared, acc, first && p == 0, {});
               shared.data += count * shared.step;
             });
}

template <class T, int vectors>
void multiply_vectors_of_rows(std::int64_t steps, T const* const* a, T const* const* b, LineFactor<T> const& shared,
                              T* acc, bool first, RowsAhead const& ahead) {
  constexpr int kCount = vectors * kLanes<T>;
  bool const even = are_even(a, kCount) && (b == nullptr || are_even(b, kCount));
  bool const packs = !ahead.is_far && (has_conflict_misses<T>(a[1] - a[0], kCount) ||
                                       (b != nullptr && has_conflict_misses<T>(b[1] - b[0], kCount)));
  if (packs && b != nullptr) {
    multiply_packed_rows<T, true, vectors>(steps, a, b, shared, acc, first);
  } else if (packs) {
    multiply_packed_rows<T, false, vectors>(steps, a, a, shared, acc, first);
  } else if (even && b != nullptr) {
    EvenRows<T> const rows_a{a[0], a[1] - a[0]};
    EvenRows<T> const rows_b{b[0], b[1] - b[0]};
    multiply_rows_of<T, true, vectors>(steps, rows_a, rows_b, shared, acc, first, ahead);
  } else if (even) {
    EvenRows<T> const rows{a[0], a[1] - a[0]};
    multiply_rows_of<T, false, vectors>(steps, rows, rows, shared, acc, first, ahead);
  } else if (b != nullptr) {
    multiply_rows_of<T, true, vectors>(steps, a, b, shared, acc, first, ahead);
  } else {
    multiply_rows_of<T, false, vectors>(steps, a, a, shared, acc, first, ahead);
  }
}

template <class T>
void gemv_rows(std::int64_t steps, T const* const* a, T const* const* b, LineFactor<T> shared, T* acc, bool first,
               int vectors, RowsAhead ahead) {
  if (vectors == 4) {
    multiply_vectors_of_rows<T, 4>(steps, a, b, shared, acc, first, ahead);
  } else if (vectors == 2) {
    multiply_vectors_of_rows<T, 2>(steps, a, b, shared, acc, first, ahead);
  } else {
    multiply_vectors_of_rows<T, 1>(steps, a, b, shared, acc, first, ahead);
  }
}

template <class T>
constexpr GemvKernel<T> kGemv = {.lanes = kLanes<T>, .lines = &gemv_lines<T>, .rows = &gemv_rows<T>};

template <class T>
constexpr ComplexGemvKernel<T> kComplexGemv = {.lines = &complex_gemv_lines<T>};

}  // namespace
}  // namespace cute_py::cpu
