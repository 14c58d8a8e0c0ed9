// The micro-kernels of float and double, included behind register_tile.inl.

namespace {

constexpr int kNrComplex = kTile.nr_complex();

// Four products for each two numbers, in this order. Calls put(j, v, re, im) for every two vectors of the tile.
template <class T, class Put>
CUTE_PY_INLINE void multiply_complex_and_put(std::int64_t k, T const* a, T const* b, Put const& put) {
  using Vector = typename VectorOf<T>::Type;
  constexpr int kAhead = 8;  // steps of k
  Vector re[kNrComplex][kVectors] = {};
  Vector im[kNrComplex][kVectors] = {};
  for (std::int64_t p = 0; p < k; ++p) {
    Vector a_re[kVectors];
    Vector a_im[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      a_re[v] = reinterpret_cast<Vector const*>(a)[v];
      a_im[v] = reinterpret_cast<Vector const*>(a)[kVectors + v];
    }
#pragma GCC unroll 8
    for (int byte = 0; byte < 2 * kVectors * kTile.vector_bytes; byte += kBytesOfLine) {
      __builtin_prefetch(reinterpret_cast<char const*>(a + kAhead * 2 * kMr<T>) + byte);
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
  using Vector = typename VectorOf<T>::Type;
  auto* const tile = reinterpret_cast<Vector*>(acc);
  multiply_complex_and_put(k, a, b, [&](int j, int v, Vector const& re, Vector const& im) CUTE_PY_INLINE_LAMBDA {
    tile[j * kVectors + v] = re;
    tile[(kNrComplex + j) * kVectors + v] = im;
  });
}

template <class T>
void multiply_complex_into(std::int64_t k, T const* a, T const* b, bool first, T* d, std::int64_t const* d_columns) {
  using Vector = typename VectorOf<T>::Type;
  auto const put = [&](int j, int v, Vector const& re, Vector const& im) CUTE_PY_INLINE_LAMBDA {
    T* const to = d + 2 * (d_columns[j] + v * kLanes<T>);
    loose(to) = in_turns<T, false>(re, im);
    loose(to + kLanes<T>) = in_turns<T, true>(re, im);
  };
  if (first) {
    multiply_complex_and_put(k, a, b, put);
  } else {
    multiply_complex_and_put(k, a, b, [&](int j, int v, Vector const& re, Vector const& im) CUTE_PY_INLINE_LAMBDA {
      T const* const from = d + 2 * (d_columns[j] + v * kLanes<T>);
      Vector const x = loose(from);
      Vector const y = loose(from + kLanes<T>);
      put(j, v, re + every_second<T, 0>(x, y), im + every_second<T, 1>(x, y));
    });
  }
}

// `vectors` of rows, the last with `last` of them, and so many columns, of which `wanted` are.
template <class T, int vectors, int columns, bool whole>
void multiply_part(std::int64_t k, T const* a, std::int64_t a_step, std::int64_t last, T const* b,
                   std::int64_t b_column, std::int64_t b_step, std::int64_t wanted, T alpha, T* d,
                   std::int64_t d_column) {
  using Vector = typename VectorOf<T>::Type;
  typedef T LooseElement __attribute__((aligned(1), may_alias));
  Vector c[columns][vectors] = {};
  LooseElement const* from[columns];
#pragma GCC unroll 16
  for (int j = 0; j < columns; ++j) {
    from[j] = reinterpret_cast<LooseElement const*>(b + (j < wanted ? j : wanted - 1) * b_column);
  }
  for (std::int64_t p = 0; p < k; ++p) {
    Vector column[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      T const* const at = a + p * a_step + v * kLanes<T>;
      if (whole || v + 1 < vectors) {
        column[v] = loose(at);
      } else {
        column[v] = load_first(at, last);
      }
    }
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j) {
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v)
        c[j][v] = multiply_add<T>(column[v], broadcast<T>(from[j][p * b_step]), c[j][v]);
    }
  }
#pragma GCC unroll 16
  for (int j = 0; j < columns; ++j) {
    if (j >= wanted) break;
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      T* const to = d + j * d_column + v * kLanes<T>;
      if (whole || v + 1 < vectors) {
        loose(to) = alpha * c[j][v];
      } else {
        store_first(to, last, alpha * c[j][v]);
      }
    }
  }
}

// As many vectors at a time as there are rows for, until all are done.
template <class T, int columns, int vectors = kTile.vectors_of(columns)>
void multiply_columns(std::int64_t k, T const* a, std::int64_t a_step, std::int64_t rows, T const* b,
                      std::int64_t b_column, std::int64_t b_step, std::int64_t wanted, T alpha, T* d,
                      std::int64_t d_column) {
  constexpr std::int64_t kRows = vectors * kLanes<T>;
  while (rows >= kRows) {
    multiply_part<T, vectors, columns, true>(k, a, a_step, kLanes<T>, b, b_column, b_step, wanted, alpha, d, d_column);
    a += kRows;
    d += kRows;
    rows -= kRows;
  }
  if (rows == 0) return;
  if (rows > kRows - kLanes<T>) {
    auto const last = rows - (kRows - kLanes<T>);
    multiply_part<T, vectors, columns, false>(k, a, a_step, last, b, b_column, b_step, wanted, alpha, d, d_column);
  } else if constexpr (vectors > 1) {
    constexpr int kFewer = vectors == 3 ? 2 : vectors / 2;
    multiply_columns<T, columns, kFewer>(k, a, a_step, rows, b, b_column, b_step, wanted, alpha, d, d_column);
  }
}

template <class T>
void multiply_in_place(std::int64_t k, T const* a, std::int64_t a_step, std::int64_t rows, T const* b,
                       std::int64_t b_column, std::int64_t b_step, std::int64_t columns, T alpha, T* d,
                       std::int64_t d_column) {
  using Multiply = decltype(&multiply_columns<T, 1>);
  static constexpr Multiply kOne = &multiply_columns<T, 1>;
  static constexpr Multiply kEven[] = {&multiply_columns<T, 2>, &multiply_columns<T, 4>,
#if defined(__AVX2__)
                                       &multiply_columns<T, 6>,
#endif
#if defined(__AVX512F__)
                                       &multiply_columns<T, 8>, &multiply_columns<T, 10>, &multiply_columns<T, 12>,
                                       &multiply_columns<T, 14>
#endif
  };
  static_assert(2 * sizeof kEven / sizeof *kEven == kTile.wide);
  auto const multiply = columns == 1 ? kOne : kEven[(columns - 1) / 2];
  multiply(k, a, a_step, rows, b, b_column, b_step, columns, alpha, d, d_column);
}

// Vectors of rows side by side: while the sums of one wait for each other the next block of another is brought into
// registers.
template <class T, int columns, int count, class Rows>
void multiply_rows_part(std::int64_t k, Rows const (&rows)[count], T const* b, std::int64_t b_column,
                        std::int64_t b_step, std::int64_t wanted, std::int64_t rows_wanted, T alpha, T* d,
                        std::int64_t d_column) {
  using Vector = typename VectorOf<T>::Type;
  typedef T LooseElement __attribute__((aligned(1), may_alias));
  Vector c[count][columns] = {};
  LooseElement const* from[columns];
#pragma GCC unroll 8
  for (int j = 0; j < columns; ++j) {
    from[j] = reinterpret_cast<LooseElement const*>(b + (j < wanted ? j : wanted - 1) * b_column);
  }
  // The steps from p0 on, of rows that begin there.
  auto const add = [&](auto const& rows_there, std::int64_t p0, std::int64_t steps) CUTE_PY_INLINE_LAMBDA {
    std::int64_t p = 0;
    for (; p + kBlock<T> <= steps; p += kBlock<T>) {
#pragma GCC unroll 4
      for (int v = 0; v < count; ++v) {
        auto const from_p = rows_from(rows_there[v], p);
        if (p % kOfLine<T> == 0) prefetch_rows<T>(from_p, 0);
        Vector x[kBlock<T>];
        transpose_block<T>(from_p, 0, x);
#pragma GCC unroll 4
        for (int i = 0; i < kBlock<T>; ++i) {
#pragma GCC unroll 8
          for (int j = 0; j < columns; ++j)
            c[v][j] = multiply_add<T>(x[i], broadcast<T>(from[j][(p0 + p + i) * b_step]), c[v][j]);
        }
      }
    }
    if (p == steps) return;
#pragma GCC unroll 4
    for (int v = 0; v < count; ++v) {
      Vector x[kBlock<T>];
      transpose_rest<T>(rows_from(rows_there[v], p), 0, steps - p, x);
      for (int i = 0; i < steps - p; ++i) {
#pragma GCC unroll 8
        for (int j = 0; j < columns; ++j)
          c[v][j] = multiply_add<T>(x[i], broadcast<T>(from[j][(p0 + p + i) * b_step]), c[v][j]);
      }
    }
  };
  if (are_in_the_way<T>(rows[0][1] - rows[0][0], count * kLanes<T>)) {
    NearRows<T, count * kLanes<T>> near;
    EvenRows<T> near_rows[count];
    for (int v = 0; v < count; ++v) near_rows[v] = rows_behind(near.rows(), v * kLanes<T>);
    for (std::int64_t p = 0; p < k; p += near.kSteps) {
      auto const steps = k - p < near.kSteps ? k - p : near.kSteps;
      near.bring(rows[0], p, steps);  // which the others follow
      add(near_rows, p, steps);
    }
  } else {
    add(rows, 0, k);
  }
#pragma GCC unroll 4
  for (int v = 0; v < count; ++v) {
    if (v * kLanes<T> >= rows_wanted) break;
#pragma GCC unroll 8
    for (int j = 0; j < columns; ++j) {
      if (j >= wanted) break;
      T* const to = d + j * d_column + v * kLanes<T>;
      if (rows_wanted - v * kLanes<T> >= kLanes<T>) {
        loose(to) = alpha * c[v][j];
      } else {
        store_first(to, rows_wanted - v * kLanes<T>, alpha * c[v][j]);
      }
    }
  }
}

template <class T, int columns, int count>
void multiply_vectors_of_rows(std::int64_t k, T const* a, std::int64_t a_row, std::int64_t rows, T const* b,
                              std::int64_t b_column, std::int64_t b_step, std::int64_t wanted, T alpha, T* d,
                              std::int64_t d_column) {
  constexpr int kRows = count * kLanes<T>;
  if (rows == kRows) {
    EvenRows<T> all[count];
    for (int v = 0; v < count; ++v) all[v] = {a + v * kLanes<T> * a_row, a_row};
    multiply_rows_part<T, columns>(k, all, b, b_column, b_step, wanted, rows, alpha, d, d_column);
    return;
  }
  // Rows that do not exist are like the last that does.
  T const* starts[kRows];
  for (int i = 0; i < kRows; ++i) starts[i] = a + (i < rows ? i : rows - 1) * a_row;
  T const* const* all[count];
  for (int v = 0; v < count; ++v) all[v] = starts + v * kLanes<T>;
  multiply_rows_part<T, columns>(k, all, b, b_column, b_step, wanted, rows, alpha, d, d_column);
}

template <class T, int columns = 1>
void multiply_rows(std::int64_t k, T const* a, std::int64_t a_row, std::int64_t rows, T const* b, std::int64_t b_column,
                   std::int64_t b_step, std::int64_t wanted, T alpha, T* d, std::int64_t d_column) {
  if constexpr (columns < kTile.few) {
    if (wanted > columns) {
      constexpr int kNext = columns == 1 ? 2 : columns + 2;
      multiply_rows<T, kNext>(k, a, a_row, rows, b, b_column, b_step, wanted, alpha, d, d_column);
      return;
    }
  }
  auto const multiply = [&](auto run) { run(k, a, a_row, rows, b, b_column, b_step, wanted, alpha, d, d_column); };
  constexpr int kMost = kTile.vectors_along_k(columns);
  if (rows <= kLanes<T>) {
    multiply(&multiply_vectors_of_rows<T, columns, 1>);
  } else if (kMost == 2 || rows <= 2 * kLanes<T>) {
    multiply(&multiply_vectors_of_rows<T, columns, 2>);
  } else {
    multiply(&multiply_vectors_of_rows<T, columns, kMost>);
  }
}

}  // namespace

template <>
MicroKernel<float> micro_kernel<float, kIsa>() {
  return {kMr<float>,
          kNr,
          kNrComplex,
          &multiply<float>,
          &multiply_into<float>,
          &multiply_complex<float>,
          &multiply_complex_into<float>,
          &multiply_in_place<float>,
          &multiply_rows<float>,
          &add<float>,
          &store<float>};
}

template <>
MicroKernel<double> micro_kernel<double, kIsa>() {
  return {kMr<double>,
          kNr,
          kNrComplex,
          &multiply<double>,
          &multiply_into<double>,
          &multiply_complex<double>,
          &multiply_complex_into<double>,
          &multiply_in_place<double>,
          &multiply_rows<double>,
          &add<double>,
          &store<double>};
}
