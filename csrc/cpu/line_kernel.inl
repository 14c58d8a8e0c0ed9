// The loops over lines, included behind vectors.inl, which says what may not be in here.

namespace {

template <class T, bool varies>
auto element_of(T const* data) {
  if constexpr (varies) {
    return loose(data);
  } else {
    typedef T LooseElement __attribute__((aligned(1), may_alias));
    return broadcast<T>(*reinterpret_cast<LooseElement const*>(data));
  }
}

// So many vectors of a line, the last one with `last` elements if they are not whole.
template <class T, int vectors, bool a_varies, bool b_varies, bool whole>
CUTE_PY_INLINE void multiply_vectors(std::int64_t last, std::int64_t steps, T const* a, std::int64_t a_step, T const* b,
                                     std::int64_t b_step, T* acc, bool first) {
  auto const load = [&](T const* at, auto varies) {
    if constexpr (whole || !varies) {
      return element_of<T, varies>(at);
    } else {
      return load_first(at, last);
    }
  };
  typename VectorOf<T>::Type c[vectors] = {};
  if (!first) {
    for (int v = 0; v < vectors; ++v) c[v] = load(acc + v * kLanes<T>, std::true_type{});
  }
  for (std::int64_t p = 0; p < steps; ++p) {
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) {
      c[v] =
          multiply_add<T>(load(a + p * a_step + (a_varies ? v * kLanes<T> : 0), std::bool_constant<a_varies>{}),
                          load(b + p * b_step + (b_varies ? v * kLanes<T> : 0), std::bool_constant<b_varies>{}), c[v]);
    }
  }
  for (int v = 0; v < vectors; ++v) {
    if constexpr (whole) {
      loose(acc + v * kLanes<T>) = c[v];
    } else {
      store_first(acc + v * kLanes<T>, last, c[v]);
    }
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

// The sums of a short line stay in registers for all steps: so many vectors of them.
constexpr int kVectorsOfShortLine = 8;

template <class T, bool a_varies, int vectors, bool whole>
void multiply_short_line(std::int64_t last, std::int64_t steps, LineFactor<T> const& a, LineFactor<T> const& b, T* acc,
                         bool first) {
  LineFactor<T> const& line = a_varies ? a : b;
  LineFactor<T> const& number = a_varies ? b : a;
  auto const load = [&](T const* at, int v) CUTE_PY_INLINE_LAMBDA {
    return whole || v + 1 < vectors ? element_of<T, true>(at + v * kLanes<T>) : load_first(at + v * kLanes<T>, last);
  };
  typename VectorOf<T>::Type c[vectors] = {};
  if (!first) {
    for (int v = 0; v < vectors; ++v) c[v] = load(acc, v);
  }
  for (std::int64_t p = 0; p < steps; ++p) {
    auto const x = element_of<T, false>(number.data + p * number.step);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) c[v] = multiply_add<T>(load(line.data + p * line.step, v), x, c[v]);
  }
  for (int v = 0; v < vectors; ++v) {
    if (whole || v + 1 < vectors) {
      loose(acc + v * kLanes<T>) = c[v];
    } else {
      store_first(acc + v * kLanes<T>, last, c[v]);
    }
  }
}

template <class T, bool a_varies, int vectors = 1>
void multiply_short(std::int64_t count, std::int64_t steps, LineFactor<T> const& a, LineFactor<T> const& b, T* acc,
                    bool first) {
  if constexpr (vectors < kVectorsOfShortLine) {
    if (count > vectors * kLanes<T>) return multiply_short<T, a_varies, vectors + 1>(count, steps, a, b, acc, first);
  }
  auto const last = count - (vectors - 1) * kLanes<T>;
  if (last == kLanes<T>) {
    multiply_short_line<T, a_varies, vectors, true>(last, steps, a, b, acc, first);
  } else {
    multiply_short_line<T, a_varies, vectors, false>(last, steps, a, b, acc, first);
  }
}

// Of one factor that goes along a long line a few steps at a time, all of them to the line's end: few places of memory
// are read at a time, and the sums stay in the first-level cache.
template <class T, bool a_varies, bool b_varies>
void multiply_line(std::int64_t count, std::int64_t steps, LineFactor<T> a, LineFactor<T> b, T* acc, bool first) {
  constexpr std::int64_t kTogether = 8;
  if constexpr (a_varies != b_varies) {
    if (count <= kVectorsOfShortLine * kLanes<T>) return multiply_short<T, a_varies>(count, steps, a, b, acc, first);
    for (; steps > kTogether; steps -= kTogether) {
      multiply_steps<T, a_varies, b_varies>(count, kTogether, a, b, acc, first);
      first = false;
      a.data += kTogether * a.step;
      b.data += kTogether * b.step;
    }
  }
  multiply_steps<T, a_varies, b_varies>(count, steps, a, b, acc, first);
}

template <class T>
void line_multiply(std::int64_t count, std::int64_t steps, LineFactor<T> a, LineFactor<T> b, T* acc, bool first) {
  if (a.varies && b.varies) {
    multiply_line<T, true, true>(count, steps, a, b, acc, first);
  } else if (a.varies) {
    multiply_line<T, true, false>(count, steps, a, b, acc, first);
  } else if (b.varies) {
    multiply_line<T, false, true>(count, steps, a, b, acc, first);
  } else {
    // A compiler would multiply before it makes a vector of the product, and round it.
    typedef T LooseElement __attribute__((aligned(1), may_alias));
    auto const* const x = reinterpret_cast<LooseElement const*>(a.data);
    auto const* const y = reinterpret_cast<LooseElement const*>(b.data);
    for (std::int64_t i = 0; i < count; ++i) {
      T c = first ? T(0) : acc[i];
      for (std::int64_t p = 0; p < steps; ++p) c = multiply_add<T>(x[p * a.step], y[p * b.step], c);
      acc[i] = c;
    }
  }
}

template <class T>
void line_multiply_complex(std::int64_t count, std::int64_t steps, LineFactor<T> a, bool conj_a, LineFactor<T> b,
                           bool conj_b, T* acc, bool first) {
  typedef T LooseElement __attribute__((aligned(1), may_alias));
  if (first) {
    for (std::int64_t i = 0; i < 2 * count; ++i) acc[i] = 0;
  }
  T const sign_a = conj_a ? T(-1) : T(1);
  T const sign_b = conj_b ? T(-1) : T(1);
  std::int64_t const of_a = a.varies ? 2 : 0;
  std::int64_t const of_b = b.varies ? 2 : 0;
  for (std::int64_t p = 0; p < steps; ++p) {
    auto const* x = reinterpret_cast<LooseElement const*>(a.data + 2 * p * a.step);
    auto const* y = reinterpret_cast<LooseElement const*>(b.data + 2 * p * b.step);
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

// So many bytes of each panel, known when this is compiled: what moves them is few instructions. Steps are often a page
// or more apart, so no processor sees where they go.
template <class T, int bytes>
void copy_panels(std::int64_t panels, std::int64_t step_count, T const* from, std::int64_t const* steps, T* out,
                 std::int64_t panel) {
  constexpr std::int64_t kAhead = 8;
  constexpr std::int64_t kCount = bytes / static_cast<int>(sizeof(T));
  constexpr int kWhole = bytes / kTile.vector_bytes;
  constexpr int kRest = bytes % kTile.vector_bytes;
  for (std::int64_t p = 0; p < step_count; ++p) {
    T const* x = from + steps[p];
    T* y = out + p * kCount;
    if (p + kAhead < step_count) {
      auto const* const ahead = reinterpret_cast<char const*>(from + steps[p + kAhead]);
      for (std::int64_t byte = 0; byte < panels * bytes; byte += kBytesOfLine) __builtin_prefetch(ahead + byte);
    }
    for (std::int64_t q = 0; q < panels; ++q, x += kCount, y += panel) {
#pragma GCC unroll 4
      for (int v = 0; v < kWhole; ++v) {
        typename VectorOf<T>::Type const vector = loose(x + v * kLanes<T>);
        loose(y + v * kLanes<T>) = vector;
      }
      __builtin_memcpy(y + kWhole * kLanes<T>, x + kWhole * kLanes<T>, kRest);
    }
  }
}

template <class T>
void line_copy(std::int64_t count, std::int64_t panels, std::int64_t step_count, T const* from,
               std::int64_t const* steps, T* out, std::int64_t panel) {
  constexpr int kSize = sizeof(T);
  auto const bytes = count * kSize;
  if (bytes == kTile.mr(kSize) * kSize) {
    copy_panels<T, kTile.mr(kSize) * kSize>(panels, step_count, from, steps, out, panel);
  } else if (bytes == kTile.nr * kSize) {
    copy_panels<T, kTile.nr * kSize>(panels, step_count, from, steps, out, panel);
  } else {
    copy_panels<T, kTile.nr_complex() * 8>(panels, step_count, from, steps, out, panel);
  }
}

// acc(lane) += sum_p a[lane][p] * b[lane][p], or of a shared row, for the lanes of some vectors: while the sums of one
// wait for each other the next block of another is brought into registers.
template <class T, bool b_varies, int vectors, class Rows>
void multiply_rows_of(std::int64_t steps, Rows const& a, Rows const& b, LineFactor<T> const& shared, T* acc, bool first,
                      NextOfRows const& next) {
  using Vector = typename VectorOf<T>::Type;
  Vector c[vectors] = {};
  if (!first) {
    for (int v = 0; v < vectors; ++v) c[v] = loose(acc + v * kLanes<T>);
  }
  // When a line of each row begins, what is read later is asked for: of rows so short that the next ones fit into the
  // nearest cache beside them so many lines as they lie, of others row by row.
  auto const lines_of = [&](auto const& rows) -> std::int64_t {
    if constexpr (std::is_same_v<Rows, EvenRows<T>>) {
      bool const follow = next.of_rows_behind && follow_closely<T>(rows.stride, vectors * kLanes<T>);
      if (follow) return kLanes<T> * rows.stride / ((steps + kOfLine<T> - 1) / kOfLine<T> * kOfLine<T>)+1;
    }
    return 0;
  };
  std::int64_t const lines_a = lines_of(a);
  std::int64_t const lines_b = lines_of(b);
  auto const ask = [&](auto const& rows, auto const& from_p, std::int64_t place, std::int64_t lines)
                       CUTE_PY_INLINE_LAMBDA {
                         if constexpr (std::is_same_v<Rows, EvenRows<T>>) {
                           auto const behind = vectors * kLanes<T> * rows.stride;
                           if (lines > 0) {
                             T const* const line = rows.first + behind + place * lines;
                             for (std::int64_t i = 0; i < lines; ++i) __builtin_prefetch(line + i * kOfLine<T>);
                             return;
                           }
                           if (next.is_far) prefetch_from_far<T>(from_p, next.by + (next.of_rows_behind ? behind : 0));
                         }
                         prefetch_rows<T>(from_p, 0);
                       };
  auto const columns = [&](auto const& rows, int v, std::int64_t p, std::int64_t count, std::int64_t lines, Vector* x)
                           CUTE_PY_INLINE_LAMBDA {
                             auto const from_p = rows_from(rows_behind(rows, v * kLanes<T>), p);
                             if (count == kBlock<T>) {
                               if (p % kOfLine<T> == 0) ask(rows, from_p, p * vectors + v * kOfLine<T>, lines);
                               transpose_block<T>(from_p, 0, x);
                             } else {
                               transpose_rest<T>(from_p, 0, count, x);
                             }
                           };
  auto const add = [&](std::int64_t p, std::int64_t count) CUTE_PY_INLINE_LAMBDA {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      Vector x[kBlock<T>];
      Vector y[kBlock<T>];
      columns(a, v, p, count, lines_a, x);
      if constexpr (b_varies) columns(b, v, p, count, lines_b, y);
#pragma GCC unroll 4
      for (int i = 0; i < kBlock<T>; ++i) {
        if (i >= count) break;
        if constexpr (b_varies) {
          c[v] = multiply_add<T>(x[i], y[i], c[v]);
        } else {
          c[v] = multiply_add<T>(x[i], element_of<T, false>(shared.data + (p + i) * shared.step), c[v]);
        }
      }
    }
  };
  std::int64_t p = 0;
  for (; p + kBlock<T> <= steps; p += kBlock<T>) add(p, kBlock<T>);
  if (p < steps) add(p, steps - p);
  for (int v = 0; v < vectors; ++v) loose(acc + v * kLanes<T>) = c[v];
}

template <class T>
bool are_even(T const* const* rows, int count) {
  for (int i = 2; i < count; ++i) {
    if (rows[i] - rows[i - 1] != rows[1] - rows[0]) return false;
  }
  return true;
}

// The same of rows that are in each other's way.
template <class T, bool b_varies, int vectors>
void multiply_near_rows(std::int64_t steps, T const* const* a, T const* const* b, LineFactor<T> shared, T* acc,
                        bool first) {
  using Near = NearRows<T, vectors * kLanes<T>, (b_varies ? 4 : 8) << 10>;
  Near near_a;
  Near near_b;
  for (std::int64_t p = 0; p < steps; p += Near::kSteps) {
    auto const count = steps - p < Near::kSteps ? steps - p : Near::kSteps;
    near_a.bring(a, p, count);
    if constexpr (b_varies) near_b.bring(b, p, count);
    multiply_rows_of<T, b_varies, vectors>(count, near_a.rows(), near_b.rows(), shared, acc, first && p == 0, {});
    shared.data += count * shared.step;
  }
}

// Rows that are equally far apart need no pointers, of which there are more than registers.
template <class T, int vectors>
void multiply_vectors_of_lanes(std::int64_t steps, T const* const* a, T const* const* b, LineFactor<T> const& shared,
                               T* acc, bool first, NextOfRows const& next) {
  constexpr int kCount = vectors * kLanes<T>;
  bool const even = are_even(a, kCount) && (b == nullptr || are_even(b, kCount));
  bool const in_the_way =
      are_in_the_way<T>(a[1] - a[0], kCount) || (b != nullptr && are_in_the_way<T>(b[1] - b[0], kCount));
  if (in_the_way && !next.is_far && b != nullptr) {
    multiply_near_rows<T, true, vectors>(steps, a, b, shared, acc, first);
  } else if (in_the_way && !next.is_far) {
    multiply_near_rows<T, false, vectors>(steps, a, a, shared, acc, first);
  } else if (even && b != nullptr) {
    EvenRows<T> const rows_a{a[0], a[1] - a[0]};
    EvenRows<T> const rows_b{b[0], b[1] - b[0]};
    multiply_rows_of<T, true, vectors>(steps, rows_a, rows_b, shared, acc, first, next);
  } else if (even) {
    EvenRows<T> const rows{a[0], a[1] - a[0]};
    multiply_rows_of<T, false, vectors>(steps, rows, rows, shared, acc, first, next);
  } else if (b != nullptr) {
    multiply_rows_of<T, true, vectors>(steps, a, b, shared, acc, first, next);
  } else {
    multiply_rows_of<T, false, vectors>(steps, a, a, shared, acc, first, next);
  }
}

// How the products of a sum are formed.
enum class Terms { one, both, times };

// The sum of the first lanes of a vector: the first half and the second are added until one is left.
template <class T, int lanes>
CUTE_PY_INLINE T sum_of_lanes(typename VectorOf<T>::Type const& x) {
  if constexpr (lanes == 1) {
    return x[0];
  } else {
    typename MaskOf<T>::Type mask;
#pragma GCC unroll 16
    for (int i = 0; i < kLanes<T>; ++i) mask[i] = (i + lanes / 2) % kLanes<T>;
    return sum_of_lanes<T, lanes / 2>(x + __builtin_shuffle(x, mask));
  }
}

// The sum of a block: see LineKernel::sum_blocks.
template <class T, Terms terms>
CUTE_PY_INLINE T sum_of_block(std::int64_t steps, T const* a, T const* b, typename VectorOf<T>::Type const& times) {
  using Vector = typename VectorOf<T>::Type;
  constexpr int kPartial = 256 / static_cast<int>(sizeof(T));
  constexpr int kCount = kPartial / kLanes<T>;
  Vector sums[kCount] = {};
  auto const add = [&](int i, Vector const& x, Vector const& y) CUTE_PY_INLINE_LAMBDA {
    sums[i] = terms == Terms::one ? sums[i] + x : multiply_add<T>(x, y, sums[i]);
  };
  auto const add_whole = [&](int i, std::int64_t p) CUTE_PY_INLINE_LAMBDA {
    Vector const x = loose(a + p);
    Vector const y = terms == Terms::both ? Vector(loose(b + p)) : times;
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
      Vector const x = load_first(a + p, steps - p);
      if constexpr (terms == Terms::one) {
        add(i, x, x);
      } else {
        auto const* const second = terms == Terms::both ? b + p : reinterpret_cast<T const*>(&times);
        add(i, x, load_first(second, steps - p));
      }
    }
    p += kLanes<T>;
  }
#pragma GCC unroll 4
  for (int half = kCount / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sum_of_lanes<T, kLanes<T>>(sums[0]);
}

template <class T, Terms terms>
void sum_blocks_of(std::int64_t steps, std::int64_t block, T const* a, T const* b,
                   typename VectorOf<T>::Type const& times, T* sums) {
  for (std::int64_t first = 0; first < steps; first += block) {
    auto const count = steps - first < block ? steps - first : block;
    *sums++ = sum_of_block<T, terms>(count, a + first, b + (terms == Terms::both ? first : 0), times);
  }
}

template <class T>
void line_sum_blocks(std::int64_t steps, std::int64_t block, T const* a, T const* b, T const* times, T* sums) {
  T number;
  __builtin_memcpy(&number, times, sizeof(T));
  auto const in_lanes = broadcast<T>(number);
  if (b != nullptr) {
    sum_blocks_of<T, Terms::both>(steps, block, a, b, in_lanes, sums);
  } else if (number == T(1)) {
    sum_blocks_of<T, Terms::one>(steps, block, a, a, in_lanes, sums);
  } else {
    sum_blocks_of<T, Terms::times>(steps, block, a, a, in_lanes, sums);
  }
}

template <class T>
void line_multiply_rows(std::int64_t steps, T const* const* a, T const* const* b, LineFactor<T> shared, T* acc,
                        bool first, int vectors, NextOfRows next) {
  if (vectors == 4) {
    multiply_vectors_of_lanes<T, 4>(steps, a, b, shared, acc, first, next);
  } else if (vectors == 2) {
    multiply_vectors_of_lanes<T, 2>(steps, a, b, shared, acc, first, next);
  } else {
    multiply_vectors_of_lanes<T, 1>(steps, a, b, shared, acc, first, next);
  }
}

// Where the elements of a vector along i are: all the same, next to one another, apart, or apart but next to those of
// the vectors along j.
enum class Access { same, next, apart, across };

// Rows that do not exist are like the last that does.
template <class T>
struct ClampedRows {
  T const* first;
  std::int64_t stride;
  std::int64_t last;

  T const* operator[](int row) const { return first + (row < last ? row : last) * stride; }
};

// The vectors of `count` elements at `width` places of j.
template <class T, Access access, int width, bool whole>
CUTE_PY_INLINE void load_elements(T const* at, ElementFactor const& of, std::int64_t count,
                                  typename VectorOf<T>::Type* x) {
  typedef T LooseElement __attribute__((aligned(1), may_alias));
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
      x[j] = element_of<T, false>(from);
    } else if constexpr (access == Access::next) {
      if constexpr (whole) {
        x[j] = loose(from);
      } else {
        x[j] = load_first(from, count);
      }
    } else {
      typename VectorOf<T>::Type vector = {};
#pragma GCC unroll 16
      for (int lane = 0; lane < kLanes<T>; ++lane) {
        vector[lane] = *reinterpret_cast<LooseElement const*>(from + (whole || lane < count ? lane : count - 1) * of.i);
      }
      x[j] = vector;
    }
  }
}

template <class T, Access a_access, Access b_access, int width, bool whole, class Steps>
CUTE_PY_INLINE void multiply_elements(std::int64_t count, Steps steps, T const* a, ElementFactor const& of_a,
                                      T const* b, ElementFactor const& of_b, T alpha, T* d, std::int64_t d_j) {
  typename VectorOf<T>::Type c[width] = {};
  for (std::int64_t p = 0; p < steps; ++p) {
    typename VectorOf<T>::Type x[width];
    typename VectorOf<T>::Type y[width];
    load_elements<T, a_access, width, whole>(a + p * of_a.k, of_a, count, x);
    load_elements<T, b_access, width, whole>(b + p * of_b.k, of_b, count, y);
#pragma GCC unroll 4
    for (int j = 0; j < width; ++j) c[j] = multiply_add<T>(x[j], y[j], c[j]);
  }
#pragma GCC unroll 4
  for (int j = 0; j < width; ++j) {
    if constexpr (whole) {
      loose(d + j * d_j) = alpha * c[j];
    } else {
      store_first(d + j * d_j, count, alpha * c[j]);
    }
  }
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

template <class T, Access a_access, Access b_access>
void multiply_all_elements(std::int64_t count_i, std::int64_t count_j, std::int64_t steps, T const* a,
                           ElementFactor const& of_a, T const* b, ElementFactor const& of_b, T alpha, T* d,
                           std::int64_t d_j) {
  // Short lines of products are read and written as they lie in memory, one after the other. Of long ones memory brings
  // several at a time sooner.
  constexpr bool is_across = a_access == Access::across || b_access == Access::across;
  constexpr std::int64_t kLongLine = 4096 / sizeof(T);
  bool const together = is_across || steps > 1 || count_i >= kLongLine;
  constexpr int kWidth = kBlock<T>;
  std::int64_t j = 0;
  auto const multiply = [&](auto width, auto count) {
    multiply_line_of_elements<T, a_access, b_access, width>(count_i, count, a + j * of_a.j, of_a, b + j * of_b.j, of_b,
                                                            alpha, d + j * d_j, d_j);
  };
  auto const multiply_all = [&](auto count) {
    for (; together && j + kWidth <= count_j; j += kWidth) multiply(std::integral_constant<int, kWidth>{}, count);
    for (; j < count_j; ++j) multiply(std::integral_constant<int, 1>{}, count);
  };
  if (steps == 1) {
    multiply_all(std::integral_constant<std::int64_t, 1>{});
  } else {
    multiply_all(steps);
  }
}

Access access_of(ElementFactor const& x) {
  return x.i == 0 ? Access::same : x.i == 1 ? Access::next : x.j == 1 ? Access::across : Access::apart;
}

// The factors of a product may change places: half of the pairs are enough.
template <class T, Access a_access>
void line_elements_of(std::int64_t count_i, std::int64_t count_j, std::int64_t steps, T const* a,
                      ElementFactor const& of_a, T const* b, ElementFactor const& of_b, T alpha, T* d,
                      std::int64_t d_j) {
  auto const run = [&](auto multiply) { multiply(count_i, count_j, steps, a, of_a, b, of_b, alpha, d, d_j); };
  auto const b_access = access_of(of_b);
  if (b_access == Access::same) {
    run(&multiply_all_elements<T, a_access, Access::same>);
  } else if constexpr (a_access != Access::same) {
    if (b_access == Access::next) {
      run(&multiply_all_elements<T, a_access, Access::next>);
    } else if constexpr (a_access != Access::next) {
      if (b_access == Access::apart) {
        run(&multiply_all_elements<T, a_access, Access::apart>);
      } else if constexpr (a_access != Access::apart) {
        run(&multiply_all_elements<T, a_access, Access::across>);
      }
    }
  }
}

template <class T>
void line_elements(std::int64_t count_i, std::int64_t count_j, std::int64_t steps, T const* a,
                   ElementFactor const& of_a, T const* b, ElementFactor const& of_b, T alpha, T* d, std::int64_t d_j) {
  auto const a_access = access_of(of_a);
  if (a_access < access_of(of_b)) {
    line_elements(count_i, count_j, steps, b, of_b, a, of_a, alpha, d, d_j);
  } else if (a_access == Access::same) {
    line_elements_of<T, Access::same>(count_i, count_j, steps, a, of_a, b, of_b, alpha, d, d_j);
  } else if (a_access == Access::next) {
    line_elements_of<T, Access::next>(count_i, count_j, steps, a, of_a, b, of_b, alpha, d, d_j);
  } else if (a_access == Access::apart) {
    line_elements_of<T, Access::apart>(count_i, count_j, steps, a, of_a, b, of_b, alpha, d, d_j);
  } else {
    line_elements_of<T, Access::across>(count_i, count_j, steps, a, of_a, b, of_b, alpha, d, d_j);
  }
}

template <class T>
void line_transpose(T const* const* rows, std::int64_t steps, T* out, std::int64_t out_step) {
  auto const put = [&](std::int64_t p, typename VectorOf<T>::Type const* x, int count) CUTE_PY_INLINE_LAMBDA {
#pragma GCC unroll 4
    for (int i = 0; i < kBlock<T>; ++i) {
      if (i >= count) break;
      loose(out + (p + i) * out_step) = x[i];
    }
  };
  if (!are_in_the_way<T>(rows[1] - rows[0], kLanes<T>)) return for_transposed<T>(rows, steps, put);
  using Near = NearRows<T, kLanes<T>>;
  Near near;
  for (std::int64_t p = 0; p < steps; p += Near::kSteps) {
    auto const count = steps - p < Near::kSteps ? steps - p : Near::kSteps;
    near.bring(rows, p, count);
    for_transposed<T>(near.rows(), count, put);
    out += count * out_step;
  }
}

template <class T>
void line_split(std::int64_t count, T const* from, bool negate, T* re, T* im) {
  T const sign = negate ? T(-1) : T(1);
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) {
    typename VectorOf<T>::Type const x = loose(from + 2 * i);
    typename VectorOf<T>::Type const y = loose(from + 2 * i + kLanes<T>);
    loose(re + i) = every_second<T, 0>(x, y);
    loose(im + i) = sign * every_second<T, 1>(x, y);
  }
  typedef T LooseElement __attribute__((aligned(1), may_alias));
  auto const* const x = reinterpret_cast<LooseElement const*>(from);
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
    typename VectorOf<T>::Type const x = loose(re + i);
    typename VectorOf<T>::Type const y = loose(im + i);
    auto const scaled_re = scaled(x, -y);
    auto const scaled_im = scaled(y, x);
    loose(d + 2 * i) = in_turns<T, false>(scaled_re, scaled_im);
    loose(d + 2 * i + kLanes<T>) = in_turns<T, true>(scaled_re, scaled_im);
  }
  for (; i < count; ++i) {
    T const parts[2] = {scaled(re[i], -im[i]), scaled(im[i], re[i])};
    __builtin_memcpy(d + 2 * i, parts, sizeof(parts));
  }
}

template <class T>
void line_join(std::int64_t count, T const* alpha, T const* re, T const* im, T* d) {
  if (alpha == nullptr) {
    join_line<T, By::nothing>(count, alpha, re, im, d);
  } else if (alpha[1] == 0) {  // of infinity, 0 times it is no number
    join_line<T, By::real_number>(count, alpha, re, im, d);
  } else {
    join_line<T, By::complex_number>(count, alpha, re, im, d);
  }
}

template <class T>
void line_add_parts(std::int64_t count, T const* d, T* re, T* im) {
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) {
    typename VectorOf<T>::Type const x = loose(d + 2 * i);
    typename VectorOf<T>::Type const y = loose(d + 2 * i + kLanes<T>);
    loose(re + i) += every_second<T, 0>(x, y);
    loose(im + i) += every_second<T, 1>(x, y);
  }
  for (; i < count; ++i) {
    T parts[2];
    __builtin_memcpy(parts, d + 2 * i, sizeof(parts));
    re[i] += parts[0];
    im[i] += parts[1];
  }
}

// A vector past the caches; `to` is aligned to it.
template <class Vector, class T>
void store_past_caches(T* to, Vector const& x) {
#if defined(__AVX512F__)
  __builtin_ia32_movntdq512(reinterpret_cast<long long __attribute__((vector_size(64)))*>(to),
                            reinterpret_cast<long long __attribute__((vector_size(64))) const&>(x));
#elif defined(__AVX__)
  __builtin_ia32_movntdq256(reinterpret_cast<long long __attribute__((vector_size(32)))*>(to),
                            reinterpret_cast<long long __attribute__((vector_size(32))) const&>(x));
#elif defined(__SSE2__)
  __builtin_ia32_movntdq(reinterpret_cast<long long __attribute__((vector_size(16)))*>(to),
                         reinterpret_cast<long long __attribute__((vector_size(16))) const&>(x));
#else
  loose(to) = x;
#endif
}

template <class T>
void line_stream(std::int64_t count, T const* from, T* to) {
  std::int64_t const past = reinterpret_cast<std::uintptr_t>(to) % kBytesOfLine;
  std::int64_t const head = (kBytesOfLine - past) % kBytesOfLine / static_cast<std::int64_t>(sizeof(T));
  if (past % sizeof(T) != 0 || count < head + kOfLine<T>) {
    __builtin_memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
    return;
  }
  copy_few(head, from, to);
  std::int64_t i = head;
  while (i + kOfLine<T> <= count) {
    for (int v = 0; v < kBytesOfLine / kTile.vector_bytes; ++v, i += kLanes<T>) {
      typename VectorOf<T>::Type const vector = loose(from + i);
      store_past_caches(to + i, vector);
    }
  }
  copy_few(count - i, from + i, to + i);
}

void line_stream_end() {
#ifdef __SSE2__
  __builtin_ia32_sfence();
#endif
}

template <class T>
void line_add(std::int64_t count, T const* y, T* x) {
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) loose(x + i) += loose(y + i);
  typedef T LooseElement __attribute__((aligned(1), may_alias));
  for (; i < count; ++i) x[i] += reinterpret_cast<LooseElement const*>(y)[i];
}

template <class T>
void line_gather(std::int64_t count, T const* acc, SumOf<T>* sums, SumOf<T>* lost, bool first) {
  if (first) {
    for (std::int64_t i = 0; i < count; ++i) sums[i] = static_cast<SumOf<T>>(acc[i]);
    if (lost == nullptr) return;
    for (std::int64_t i = 0; i < count; ++i) lost[i] = 0;
  } else if (lost == nullptr) {
    for (std::int64_t i = 0; i < count; ++i) sums[i] += static_cast<SumOf<T>>(acc[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      SumOf<T> const added = static_cast<SumOf<T>>(acc[i]);
      SumOf<T> const sum = sums[i] + added;
      SumOf<T> const seen = sum - sums[i];
      lost[i] += (sums[i] - (sum - seen)) + (added - seen);
      sums[i] = sum;
    }
  }
}

template <class T>
void line_settle(std::int64_t count, SumOf<T> const* sums, SumOf<T> const* lost, T* acc) {
  if (lost == nullptr) {
    for (std::int64_t i = 0; i < count; ++i) acc[i] = static_cast<T>(sums[i]);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    SumOf<T> const sum = sums[i] + lost[i];
    acc[i] = static_cast<T>(sum == sum ? sum : sums[i]);  // what infinity loses is no number
  }
}

// Of 0!, 1!, 2!, ...
// Of e^r = sum_i c_i r^i for |r| <= ln 2 / 2: of float the last four fitted, of double those of Taylor's series.
template <class T>
struct ExpCoefficients {
  static constexpr int kDegree = 6;
  float value[kDegree + 1] = {1.0f, 1.0f, 0.5f, 0.16666533f, 0.041667238f, 0.0083675142f, 0.0013863753f};
};
template <>
struct ExpCoefficients<double> {
  static constexpr int kDegree = 13;
  double value[kDegree + 1] = {1};

  constexpr ExpCoefficients() {
    for (int i = 1; i <= kDegree; ++i) value[i] = value[i - 1] / i;
  }
};

// x * 2^n for whole n, rounded once.
template <class T>
CUTE_PY_INLINE typename VectorOf<T>::Type times_power_of_two(typename VectorOf<T>::Type const& x,
                                                             typename VectorOf<T>::Type const& n) {
  using Vector = typename VectorOf<T>::Type;
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vector>(_mm512_scalef_ps(reinterpret_cast<__m512>(x), reinterpret_cast<__m512>(n)));
  } else {
    return reinterpret_cast<Vector>(_mm512_scalef_pd(reinterpret_cast<__m512d>(x), reinterpret_cast<__m512d>(n)));
  }
#else
  // Two factors, neither of which overflows before the result does.
  using Index = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef Index Integers __attribute__((vector_size(kTile.vector_bytes)));
  constexpr int kMantissa = sizeof(T) == 4 ? 23 : 52;
  constexpr Index kBias = sizeof(T) == 4 ? 127 : 1023;
  Integers const whole = __builtin_convertvector(n, Integers);
  Integers const half = whole >> 1;
  auto const power = [](Integers const& exponent) { return reinterpret_cast<Vector>((exponent + kBias) << kMantissa); };
  return x * power(half) * power(whole - half);
#endif
}

// x, or the bound that it is beyond. NaN stays.
template <class T>
CUTE_PY_INLINE typename VectorOf<T>::Type within(typename VectorOf<T>::Type const& x, T low, T high) {
  using Vector = typename VectorOf<T>::Type;
  Vector const zero = {};
  Vector const least = zero + low;
  Vector const most = zero + high;
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    auto const from_low = _mm512_max_ps(reinterpret_cast<__m512>(least), reinterpret_cast<__m512>(x));
    return reinterpret_cast<Vector>(_mm512_min_ps(reinterpret_cast<__m512>(most), from_low));
  } else {
    auto const from_low = _mm512_max_pd(reinterpret_cast<__m512d>(least), reinterpret_cast<__m512d>(x));
    return reinterpret_cast<Vector>(_mm512_min_pd(reinterpret_cast<__m512d>(most), from_low));
  }
#else
  Vector const from_low = x < least ? least : x;
  return from_low > most ? most : from_low;
#endif
}

// e^x by x = n ln 2 + r, a polynomial in r, and 2^n. Below the least normal number it stays there: a processor takes
// ten times as long for denormal ones.
template <class T>
CUTE_PY_INLINE typename VectorOf<T>::Type exp_of(typename VectorOf<T>::Type x) {
  using Vector = typename VectorOf<T>::Type;
  constexpr bool kFloat = sizeof(T) == 4;
  constexpr T kLow = kFloat ? T(-87) : T(-708);
  constexpr T kHigh = kFloat ? T(89) : T(710);
  constexpr T kRound = kFloat ? T(12582912) : T(6755399441055744);  // 1.5 * 2^mantissa: what is added to it is rounded
  constexpr T kHighPart = kFloat ? T(0.693359375) : T(0.693147180369123816490);
  constexpr T kLowPart = kFloat ? T(-2.12194440e-4) : T(1.90821492927058770002e-10);
  Vector const zero = {};
  x = within<T>(x, kLow, kHigh);
  Vector const n = multiply_add<T>(x, zero + T(1.44269504088896340736), zero + kRound) - kRound;
  Vector const r = multiply_add<T>(n, zero - kLowPart, multiply_add<T>(n, zero - kHighPart, x));
  constexpr ExpCoefficients<T> kOf{};
  Vector y = zero + kOf.value[kOf.kDegree];
#pragma GCC unroll 16
  for (int i = kOf.kDegree - 1; i >= 0; --i) y = multiply_add<T>(y, r, zero + kOf.value[i]);
  return times_power_of_two<T>(y, n);
}

// 1 - erf(z) for z >= 0, as t * exp(-z^2 + p(t)) with t = 1 / (1 + z / 2). p is fitted to it.
typename VectorOf<float>::Type erfc_of(typename VectorOf<float>::Type z) {
  using Vector = typename VectorOf<float>::Type;
  constexpr float kCoefficient[] = {-1.265482275e+00f, 9.993480783e-01f, 3.803541216e-01f,  6.523265134e-02f,
                                    -9.025566019e-02f, 9.432143033e-02f, -9.097406772e-01f, 1.318652953e+00f,
                                    -7.501815790e-01f, 1.577510140e-01f};
  Vector const zero = {};
  z = z > zero + 9.0f ? zero + 9.0f : z;  // beyond, 1 - erf is less than 1e-36, and its powers would be denormal
  Vector const t = 1.0f / (1.0f + 0.5f * z);
  Vector p = zero + kCoefficient[9];
#pragma GCC unroll 16
  for (int i = 8; i >= 0; --i) p = multiply_add<float>(p, t, zero + kCoefficient[i]);
  return t * exp_of<float>(multiply_add<float>(-z, z, p));
}

// The lowest number for minus infinity, which times 0 is no number.
template <class T>
CUTE_PY_INLINE typename VectorOf<T>::Type above_infinity(typename VectorOf<T>::Type const& x) {
  constexpr T kLowest = sizeof(T) == 4 ? T(-__FLT_MAX__) : T(-__DBL_MAX__);
  typename VectorOf<T>::Type const lowest = typename VectorOf<T>::Type{} + kLowest;
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<typename VectorOf<T>::Type>(
        _mm512_max_ps(reinterpret_cast<__m512>(lowest), reinterpret_cast<__m512>(x)));
  } else {
    return reinterpret_cast<typename VectorOf<T>::Type>(
        _mm512_max_pd(reinterpret_cast<__m512d>(lowest), reinterpret_cast<__m512d>(x)));
  }
#else
  return x < lowest ? lowest : x;
#endif
}

// -|x|
template <class T>
CUTE_PY_INLINE typename VectorOf<T>::Type minus_magnitude(typename VectorOf<T>::Type const& x) {
  using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  typedef Word Words __attribute__((vector_size(kTile.vector_bytes)));
  constexpr Word kSign = Word{1} << (8 * sizeof(T) - 1);
  return reinterpret_cast<typename VectorOf<T>::Type>(reinterpret_cast<Words>(x) | kSign);
}

// 1 / (1 + e^-x), which far below zero is e^x / (1 + e^x), and 0 where e^x would be denormal.
template <class T>
CUTE_PY_INLINE typename VectorOf<T>::Type sigmoid_of(typename VectorOf<T>::Type const& x) {
  using Vector = typename VectorOf<T>::Type;
  constexpr T kLow = sizeof(T) == 4 ? T(-87) : T(-708);
  Vector const zero = {};
  Vector const power = exp_of<T>(minus_magnitude<T>(x));
  Vector const of_x = x < zero + kLow ? zero : power;
  return (x < zero ? of_x : zero + T(1)) / (T(1) + power);
}

template <class T, Activation activation>
typename VectorOf<T>::Type activated(typename VectorOf<T>::Type x) {
  using Vector = typename VectorOf<T>::Type;
  Vector const zero = {};
  if constexpr (activation == Activation::relu) {
    return x < zero ? zero : x;  // NaN stays
  } else if constexpr (activation == Activation::sigmoid) {
    return sigmoid_of<T>(x);
  } else if constexpr (activation == Activation::silu) {
    return above_infinity<T>(x) * sigmoid_of<T>(x);
  } else if constexpr (activation == Activation::gelu_tanh) {
    // (1 + tanh(u)) / 2 is the sigmoid of 2u.
    constexpr T kTwo = T(2) * T(0.79788456080286535588);
    return above_infinity<T>(x) * sigmoid_of<T>(kTwo * multiply_add<T>(T(0.044715) * x * x, x, x));
  } else {
    Vector const z = x * T(0.70710678118654752440);
    Vector const tail = erfc_of(z < zero ? -z : z);
    Vector const half = T(0.5) * above_infinity<T>(x);
    return half * (x < zero - T(12.7) ? zero
                   : z < zero         ? tail
                                      : T(2) - tail);  // from there on the tail no longer shrinks
  }
}

template <class T, Activation activation>
bool activate_line(std::int64_t count, T* x) {
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) loose(x + i) = activated<T, activation>(loose(x + i));
  if (i < count) store_first(x + i, count - i, activated<T, activation>(load_first(x + i, count - i)));
  return true;
}

template <class T>
bool line_activate(Activation activation, std::int64_t count, T* x) {
  switch (activation) {
    case Activation::none:
      return true;
    case Activation::relu:
      return activate_line<T, Activation::relu>(count, x);
    case Activation::sigmoid:
      return activate_line<T, Activation::sigmoid>(count, x);
    case Activation::silu:
      return activate_line<T, Activation::silu>(count, x);
    case Activation::gelu_tanh:
      return activate_line<T, Activation::gelu_tanh>(count, x);
    case Activation::gelu:
      if constexpr (sizeof(T) == 4) return activate_line<T, Activation::gelu>(count, x);
  }
  return false;
}

template <class T, Activation activation>
bool finish_columns(std::int64_t rows, std::int64_t columns, T alpha, T const* acc, std::int64_t acc_column,
                    BiasOfTile<T> const& bias, T* d, std::int64_t const* d_columns) {
  using Vector = typename VectorOf<T>::Type;
  bool const has_bias = bias.data != nullptr;
  auto const finished = [&](Vector x, Vector of_bias) CUTE_PY_INLINE_LAMBDA {
    x = alpha * x;
    if (has_bias) x = x + of_bias;
    if constexpr (activation == Activation::none) {
      return x;
    } else {
      return activated<T, activation>(x);
    }
  };
  for (std::int64_t j = 0; j < columns; ++j) {
    T const* const from = acc + j * acc_column;
    T* const to = d + d_columns[j];
    T const* const line = has_bias ? bias.data + bias.columns[j] : nullptr;
    T number = 0;
    if (has_bias && !bias.varies) __builtin_memcpy(&number, line, sizeof(T));
    Vector const same = broadcast<T>(number);
    bool const has_line = has_bias && bias.varies;
    std::int64_t i = 0;
    for (; i + kLanes<T> <= rows; i += kLanes<T>) {
      Vector of_bias = same;
      if (has_line) of_bias = loose(line + i);
      loose(to + i) = finished(loose(from + i), of_bias);
    }
    if (i == rows) continue;
    Vector of_bias = same;
    if (has_line) of_bias = load_first(line + i, rows - i);
    store_first(to + i, rows - i, finished(load_first(from + i, rows - i), of_bias));
  }
  return true;
}

template <class T>
bool line_finish(Activation activation, std::int64_t rows, std::int64_t columns, T alpha, T const* acc,
                 std::int64_t acc_column, BiasOfTile<T> const& bias, T* d, std::int64_t const* d_columns) {
  auto const finish = [&](auto of) {
    return finish_columns<T, decltype(of)::value>(rows, columns, alpha, acc, acc_column, bias, d, d_columns);
  };
  switch (activation) {
    case Activation::none:
      return finish(std::integral_constant<Activation, Activation::none>{});
    case Activation::relu:
      return finish(std::integral_constant<Activation, Activation::relu>{});
    case Activation::sigmoid:
      return finish(std::integral_constant<Activation, Activation::sigmoid>{});
    case Activation::silu:
      return finish(std::integral_constant<Activation, Activation::silu>{});
    case Activation::gelu_tanh:
      return finish(std::integral_constant<Activation, Activation::gelu_tanh>{});
    case Activation::gelu:
      if constexpr (sizeof(T) == 4) return finish(std::integral_constant<Activation, Activation::gelu>{});
  }
  return false;
}

// Rounds of exchanges put a row's elements side by side, with room for as many as the next power of two; a shuffle
// closes the gaps. What a store leaves behind its rows is written again by the next.
template <class T, int columns>
void interleave_columns(std::int64_t rows, T alpha, T const* acc, std::int64_t acc_column, T* d) {
  using Vector = typename VectorOf<T>::Type;
  constexpr int kPlaces = columns <= 2 ? 2 : columns <= 4 ? 4 : 8;
  if constexpr (kPlaces <= kLanes<T>) {
    constexpr int kRows = kLanes<T> / kPlaces;  // of a vector
    typename MaskOf<T>::Type close;
    for (int i = 0; i < kLanes<T>; ++i) close[i] = i < kRows * columns ? i / columns * kPlaces + i % columns : 0;
    for (std::int64_t i = 0; i < rows; i += kLanes<T>) {
      Vector x[kPlaces] = {};
#pragma GCC unroll 8
      for (int j = 0; j < columns; ++j) {
        T const* const from = acc + j * acc_column + i;
        x[j] = alpha * (rows - i >= kLanes<T> ? Vector(loose(from)) : load_first(from, rows - i));
      }
#pragma GCC unroll 3
      for (int round = 1; round < kPlaces; round *= 2) {
        Vector y[kPlaces];
#pragma GCC unroll 4
        for (int j = 0; j < kPlaces / 2; ++j) {
          y[2 * j] = in_turns<T, false>(x[j], x[j + kPlaces / 2]);
          y[2 * j + 1] = in_turns<T, true>(x[j], x[j + kPlaces / 2]);
        }
#pragma GCC unroll 8
        for (int j = 0; j < kPlaces; ++j) x[j] = y[j];
      }
#pragma GCC unroll 8
      for (int j = 0; j < kPlaces; ++j) {
        auto const row = i + j * kRows;
        if (row >= rows) break;
        Vector const closed = columns == kPlaces ? x[j] : __builtin_shuffle(x[j], close);
        auto const left = (rows - row) * columns;
        if (left >= kLanes<T>) {
          loose(d + row * columns) = closed;
        } else {
          store_first(d + row * columns, left < kRows * columns ? left : kRows * columns, closed);
        }
      }
    }
  }
}

template <class T, int columns = 2>
bool line_interleave(std::int64_t rows, std::int64_t wanted, T alpha, T const* acc, std::int64_t acc_column, T* d) {
  if constexpr (columns > kMostInterleaved || columns > kLanes<T>) {
    return false;
  } else {
    if (wanted > columns) return line_interleave<T, columns + 1>(rows, wanted, alpha, acc, acc_column, d);
    if (wanted < columns) return false;
    interleave_columns<T, columns>(rows, alpha, acc, acc_column, d);
    return true;
  }
}

template <class T>
void line_scale(std::int64_t count, T alpha, T const* acc, T beta, T const* c, T* d) {
  typedef T LooseElement __attribute__((aligned(1), may_alias));
  auto const* const other = reinterpret_cast<LooseElement const*>(c);
  auto* const to = reinterpret_cast<LooseElement*>(d);
  if (beta == 0) {
    std::int64_t i = 0;
    for (; i + kLanes<T> <= count; i += kLanes<T>) loose(d + i) = alpha * loose(acc + i);
    if (i < count) store_first(d + i, count - i, alpha * load_first(acc + i, count - i));
  } else {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) to[i] = sum(alpha * acc[i], beta, other[i]);
  }
}

// As many integers as a vector has floats.
struct Integers {
  typedef std::int32_t Words __attribute__((vector_size(kTile.vector_bytes), may_alias));
  typedef std::uint32_t Unsigned __attribute__((vector_size(kTile.vector_bytes), may_alias));  // what wraps around
  typedef std::uint16_t Halves __attribute__((vector_size(kTile.vector_bytes / 2), may_alias));
  typedef std::uint16_t LooseHalves __attribute__((vector_size(kTile.vector_bytes / 2), aligned(1), may_alias));
};

// Numbers of 16 bits. What is no number becomes 0x7fff, as everywhere.
template <DType type>
CUTE_PY_INLINE typename Integers::Halves narrowed(typename VectorOf<float>::Type x) {
  using Words = typename Integers::Words;
  using Unsigned = typename Integers::Unsigned;
  constexpr std::int32_t kInfinity = 0x7f800000;
  Unsigned const bits = reinterpret_cast<Unsigned const&>(x);
  Unsigned const positive = bits & 0x7fffffff;
  Words const magnitude = reinterpret_cast<Words const&>(positive);
  Words result;
  if constexpr (type == DType::bf16) {
    Unsigned const nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    result = reinterpret_cast<Words const&>(nearest);
  } else {
    constexpr std::int32_t kLeastNormal = 113 << 23;  // 2^-14
    constexpr std::int32_t kPast = 143 << 23;         // 2^16
    constexpr std::int32_t kHalf = 126 << 23;  // 0.5: an element's least difference is the last bit of what is next
    Unsigned const nearest = (positive - (112 << 23) + 0xfff + (positive >> 13 & 1)) >> 13;
    Words const normal = reinterpret_cast<Words const&>(nearest);
    auto const shifted = reinterpret_cast<typename VectorOf<float>::Type const&>(magnitude) + 0.5f;
    Words const denormal = reinterpret_cast<Words const&>(shifted) - kHalf;
    result = magnitude < kLeastNormal ? denormal : magnitude < kPast ? normal : Words{} + 0x7c00;
    Unsigned const sign = bits >> 16 & 0x8000;
    result |= reinterpret_cast<Words const&>(sign);
  }
  result = magnitude > kInfinity ? Words{} + 0x7fff : result;
  return __builtin_convertvector(result, typename Integers::Halves);
}

template <DType type>
CUTE_PY_INLINE typename VectorOf<float>::Type widened(typename Integers::Halves x) {
  using Vector = typename VectorOf<float>::Type;
#if defined(__AVX512F__)
  auto const& halves = reinterpret_cast<__m256i const&>(x);
  if constexpr (type == DType::f16) return reinterpret_cast<Vector>(_mm512_cvtph_ps(halves));
  return reinterpret_cast<Vector>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
#endif
  using Words = typename Integers::Words;
  using Unsigned = typename Integers::Unsigned;
  Unsigned const bits = __builtin_convertvector(x, Unsigned);
  if constexpr (type == DType::bf16) {
    Unsigned const result = bits << 16;
    return reinterpret_cast<Vector const&>(result);
  } else {
    constexpr float kScale = 5192296858534827628530496329220096.0f;  // 2^112, between the exponents of both
    Unsigned const positive = bits & 0x7fff;
    Words const magnitude = reinterpret_cast<Words const&>(positive);
    Unsigned const shifted = positive << 13;
    Vector const scaled = reinterpret_cast<Vector const&>(shifted) * kScale;
    Unsigned const sign = (bits & 0x8000) << 16;
    Words result = reinterpret_cast<Words const&>(scaled) | reinterpret_cast<Words const&>(sign);
    result |= magnitude < 0x7c00 ? Words{} : Words{} + 0x7f800000;
    return reinterpret_cast<Vector const&>(result);
  }
}

template <DType type>
void narrow_line(std::int64_t count, float const* from, std::uint16_t* to) {
  constexpr int kAtOnce = kLanes<float>;
  std::int64_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce) {
    *reinterpret_cast<typename Integers::LooseHalves*>(to + i) = narrowed<type>(loose(from + i));
  }
  if (i == count) return;
  auto const rest = narrowed<type>(load_first(from + i, count - i));
  __builtin_memcpy(to + i, &rest, (count - i) * sizeof(std::uint16_t));
}

template <DType type>
void widen_line(std::int64_t count, std::uint16_t const* from, float* to) {
  constexpr int kAtOnce = kLanes<float>;
  std::int64_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce) {
    loose(to + i) = widened<type>(*reinterpret_cast<typename Integers::LooseHalves const*>(from + i));
  }
  if (i == count) return;
  typename Integers::Halves rest = {};
  __builtin_memcpy(&rest, from + i, (count - i) * sizeof(std::uint16_t));
  store_first(to + i, count - i, widened<type>(rest));
}

bool line_narrow(DType type, std::int64_t count, float const* from, void* to) {
  auto* const halves = static_cast<std::uint16_t*>(to);
  if (type == DType::f16) narrow_line<DType::f16>(count, from, halves);
  if (type == DType::bf16) narrow_line<DType::bf16>(count, from, halves);
  return type == DType::f16 || type == DType::bf16;
}

bool line_widen(DType type, std::int64_t count, void const* from, float* to) {
  auto const* const halves = static_cast<std::uint16_t const*>(from);
  if (type == DType::f16) widen_line<DType::f16>(count, halves, to);
  if (type == DType::bf16) widen_line<DType::bf16>(count, halves, to);
  return type == DType::f16 || type == DType::bf16;
}

}  // namespace

template <>
LineKernel<float> line_kernel<float, kIsa>() {
  return {kLanes<float>,
          &line_multiply<float>,
          &line_multiply_complex<float>,
          &line_multiply_rows<float>,
          &line_sum_blocks<float>,
          &line_elements<float>,
          &line_copy<float>,
          &line_transpose<float>,
          &line_split<float>,
          &line_join<float>,
          &line_add_parts<float>,
          &line_stream<float>,
          &line_stream_end,
          &line_add<float>,
          &line_gather<float>,
          &line_settle<float>,
          &line_activate<float>,
          &line_finish<float>,
          &line_interleave<float>,
          &line_scale<float>,
          &line_narrow,
          &line_widen};
}

template <>
LineKernel<double> line_kernel<double, kIsa>() {
  return {kLanes<double>,
          &line_multiply<double>,
          &line_multiply_complex<double>,
          &line_multiply_rows<double>,
          &line_sum_blocks<double>,
          &line_elements<double>,
          &line_copy<double>,
          &line_transpose<double>,
          &line_split<double>,
          &line_join<double>,
          &line_add_parts<double>,
          &line_stream<double>,
          &line_stream_end,
          &line_add<double>,
          &line_gather<double>,
          &line_settle<double>,
          &line_activate<double>,
          &line_finish<double>,
          &line_interleave<double>,
          &line_scale<double>,
          nullptr,
          nullptr};
}

// Unsigned, so that sums wrap round instead of overflowing; the bits are those of int32.
template <>
LineKernel<std::uint32_t> line_kernel<std::uint32_t, kIsa>() {
  return {kLanes<std::uint32_t>,
          &line_multiply<std::uint32_t>,
          nullptr,
          &line_multiply_rows<std::uint32_t>,
          nullptr,
          nullptr,
          &line_copy<std::uint32_t>,
          &line_transpose<std::uint32_t>,
          nullptr,
          nullptr,
          nullptr,
          &line_stream<std::uint32_t>,
          &line_stream_end,
          &line_add<std::uint32_t>,
          &line_gather<std::uint32_t>,
          &line_settle<std::uint32_t>,
          nullptr,
          nullptr,
          nullptr,
          nullptr,
          nullptr,
          nullptr};
}
