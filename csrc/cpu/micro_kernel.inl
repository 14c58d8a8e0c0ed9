// The body of a micro-kernel, included by one source file per instruction set after it defines kIsa.
//
// Those files are compiled with flags that other machines may not have. So everything in here has internal linkage and
// nothing comes from a header with inline functions: the linker must never pick such a copy for the rest of the
// program.

namespace {

constexpr RegisterTile kTile = register_tile(kIsa);
constexpr int kVectors = kTile.vectors;
constexpr int kNr = kTile.nr;

template <class T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kTile.vector_bytes), may_alias));
};

template <class T>
constexpr int kMr = kTile.mr(sizeof(T));

template <class T>
void multiply(std::int64_t k, T const* a, T const* b, T* acc) {
  using Vector = typename VectorOf<T>::Type;
  constexpr int kAhead = 8;  // steps of k
  constexpr int kBytesOfLine = 64;
  Vector c[kNr][kVectors] = {};
  for (std::int64_t p = 0; p < k; ++p) {
    Vector column[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      column[v] = reinterpret_cast<Vector const*>(a)[v];
    }
#pragma GCC unroll 4
    for (int byte = 0; byte < kVectors * kTile.vector_bytes; byte += kBytesOfLine) {
      __builtin_prefetch(reinterpret_cast<char const*>(a + kAhead * kMr<T>) + byte);
    }
#pragma GCC unroll 16
    for (int j = 0; j < kNr; ++j) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        c[j][v] += column[v] * b[j];
      }
    }
    a += kMr<T>;
    b += kNr;
  }
  auto* const tile = reinterpret_cast<Vector*>(acc);
#pragma GCC unroll 16
  for (int j = 0; j < kNr; ++j) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) tile[j * kVectors + v] = c[j][v];
  }
}

// The first `count` elements of a vector, and zeros.
template <class T>
typename VectorOf<T>::Type load_first(T const* data, std::int64_t count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    auto const mask = static_cast<__mmask16>((1u << count) - 1);
    return reinterpret_cast<typename VectorOf<T>::Type>(_mm512_maskz_loadu_ps(mask, data));
  } else {
    auto const mask = static_cast<__mmask8>((1u << count) - 1);
    return reinterpret_cast<typename VectorOf<T>::Type>(_mm512_maskz_loadu_pd(mask, data));
  }
#else
  typename VectorOf<T>::Type vector = {};
  typedef T LooseElement __attribute__((aligned(1), may_alias));
  for (std::int64_t i = 0; i < count; ++i) vector[i] = reinterpret_cast<LooseElement const*>(data)[i];
  return vector;
#endif
}

// A vector at any address.
template <class T>
struct LooseVector {
  typedef T Type __attribute__((vector_size(kTile.vector_bytes), aligned(1), may_alias));
};

template <class T>
constexpr int kLanes = kTile.vector_bytes / static_cast<int>(sizeof(T));

// `vectors` of rows, the last with `last` of them, and so many columns. Columns that are too many repeat the last.
template <class T, int vectors, int columns, bool whole>
void multiply_part(std::int64_t k, T const* a, std::int64_t a_step, std::int64_t last, T const* b,
                   std::int64_t b_column, std::int64_t b_step, std::int64_t wanted, T* acc) {
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
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      T const* const at = a + p * a_step + v * kLanes<T>;
      if (whole || v + 1 < vectors) {
        column[v] = *reinterpret_cast<typename LooseVector<T>::Type const*>(at);
      } else {
        column[v] = load_first(at, last);
      }
    }
#pragma GCC unroll 16
    for (int j = 0; j < columns; ++j) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) c[j][v] += column[v] * from[j][p * b_step];
    }
  }
#pragma GCC unroll 16
  for (int j = 0; j < columns; ++j) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      *reinterpret_cast<Vector*>(acc + j * kMr<T> + v * kLanes<T>) = c[j][v];
    }
  }
}

template <class T, int vectors, bool whole, int columns = 2>
void multiply_columns(std::int64_t k, T const* a, std::int64_t a_step, std::int64_t last, T const* b,
                      std::int64_t b_column, std::int64_t b_step, std::int64_t wanted, T* acc) {
  if constexpr (columns < kNr) {
    if (wanted > columns) {
      multiply_columns<T, vectors, whole, columns + 2>(k, a, a_step, last, b, b_column, b_step, wanted, acc);
      return;
    }
  }
  multiply_part<T, vectors, columns, whole>(k, a, a_step, last, b, b_column, b_step, wanted, acc);
}

template <class T>
void multiply_in_place(std::int64_t k, T const* a, std::int64_t a_step, std::int64_t rows, T const* b,
                       std::int64_t b_column, std::int64_t b_step, std::int64_t columns, T* acc) {
  static_assert(kVectors == 2 && kNr % 2 == 0);
  if (rows == kMr<T>) {
    multiply_columns<T, 2, true>(k, a, a_step, kLanes<T>, b, b_column, b_step, columns, acc);
  } else if (rows > kLanes<T>) {
    multiply_columns<T, 2, false>(k, a, a_step, rows - kLanes<T>, b, b_column, b_step, columns, acc);
  } else {
    multiply_columns<T, 1, false>(k, a, a_step, rows, b, b_column, b_step, columns, acc);
  }
}

// Rounded once, also where the processor has no such instruction and this is slow: numeric::axpby does the same for the
// elements that are not written here.
float sum(float product, float beta, float c) { return __builtin_fmaf(beta, c, product); }
double sum(double product, double beta, double c) { return __builtin_fma(beta, c, product); }

// Writes the first `count` elements of a vector.
template <class T>
void store_first(T* data, std::int64_t count, typename VectorOf<T>::Type const& x) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_ps(data, static_cast<__mmask16>((1u << count) - 1), reinterpret_cast<__m512>(x));
  } else {
    _mm512_mask_storeu_pd(data, static_cast<__mmask8>((1u << count) - 1), reinterpret_cast<__m512d>(x));
  }
#else
  typedef T LooseElement __attribute__((aligned(1), may_alias));
  for (std::int64_t i = 0; i < count; ++i) reinterpret_cast<LooseElement*>(data)[i] = x[i];
#endif
}

template <class T>
void store(T alpha, T const* acc, T beta, T const* c, std::int64_t const* c_columns, T* d,
           std::int64_t const* d_columns, std::int64_t rows, std::int64_t columns) {
  typedef T LooseElement __attribute__((aligned(1), may_alias));
  for (std::int64_t j = 0; j < columns; ++j) {
    T const* const from = acc + j * kMr<T>;
    T* const to = d + d_columns[j];
    if (beta == 0) {
      for (std::int64_t i = 0; i < rows; i += kLanes<T>) {
        typename LooseVector<T>::Type const x = alpha * *reinterpret_cast<typename VectorOf<T>::Type const*>(from + i);
        if (rows - i >= kLanes<T>) {
          *reinterpret_cast<typename LooseVector<T>::Type*>(to + i) = x;
        } else {
          store_first(to + i, rows - i, x);
        }
      }
    } else {
      auto const* const other = reinterpret_cast<LooseElement const*>(c + c_columns[j]);
      auto* const result = reinterpret_cast<LooseElement*>(to);
#pragma GCC ivdep
      for (std::int64_t i = 0; i < rows; ++i) result[i] = sum(alpha * from[i], beta, other[i]);
    }
  }
}

template <class T>
void add(T const* d, std::int64_t const* d_columns, std::int64_t rows, std::int64_t columns, T* acc) {
  for (std::int64_t j = 0; j < columns; ++j) {
    T const* const from = d + d_columns[j];
    for (std::int64_t i = 0; i < rows; i += kLanes<T>) {
      auto* const to = reinterpret_cast<typename VectorOf<T>::Type*>(acc + j * kMr<T> + i);
      if (rows - i >= kLanes<T>) {
        *to += *reinterpret_cast<typename LooseVector<T>::Type const*>(from + i);
      } else {
        *to += load_first(from + i, rows - i);
      }
    }
  }
}

}  // namespace

template <>
MicroKernel<float> micro_kernel<float, kIsa>() {
  return {kMr<float>, kNr, &multiply<float>, &multiply_in_place<float>, &add<float>, &store<float>};
}

template <>
MicroKernel<double> micro_kernel<double, kIsa>() {
  return {kMr<double>, kNr, &multiply<double>, &multiply_in_place<double>, &add<double>, &store<double>};
}

// Unsigned, so that sums wrap round instead of overflowing; the bits are those of int32.
template <>
MicroKernel<std::uint32_t> micro_kernel<std::uint32_t, kIsa>() {
  return {kMr<std::uint32_t>, kNr, &multiply<std::uint32_t>, nullptr, nullptr, nullptr};
}
