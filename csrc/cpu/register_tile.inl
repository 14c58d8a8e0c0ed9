// What a register tile does, whatever it consists of, included behind vectors.inl, which says what may not be in here.

namespace {

constexpr int kVectors = kTile.vectors;
constexpr int kNr = kTile.nr;

template <class T>
constexpr int kMr = kTile.mr(sizeof(T));

// How many steps of k a word of int8 holds, in the order in which they follow: four bytes, or two numbers of 16 bits.
#if defined(__AVX512VNNI__)
constexpr int kStepsOfWord = 4;
#elif defined(__SSE2__)
constexpr int kStepsOfWord = 2;
#else
constexpr int kStepsOfWord = 1;
#endif

// sums + x * y; of words the products of all their steps. Where a word has four of them, those of x are not negative.
template <class T>
CUTE_PY_INLINE typename VectorOf<T>::Type add_products(typename VectorOf<T>::Type const& x,
                                                       typename VectorOf<T>::Type const& y,
                                                       typename VectorOf<T>::Type const& sums) {
  if constexpr (std::is_same_v<T, std::uint32_t>) {
    using Vector = typename VectorOf<T>::Type;
#if defined(__AVX512VNNI__)
    return reinterpret_cast<Vector>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums), reinterpret_cast<__m512i>(x),
                                                        reinterpret_cast<__m512i>(y)));
#elif defined(__AVX512BW__)
    return sums +
           reinterpret_cast<Vector>(_mm512_madd_epi16(reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(y)));
#elif defined(__AVX2__)
    return sums +
           reinterpret_cast<Vector>(_mm256_madd_epi16(reinterpret_cast<__m256i>(x), reinterpret_cast<__m256i>(y)));
#elif defined(__SSE2__)
    return sums + reinterpret_cast<Vector>(_mm_madd_epi16(reinterpret_cast<__m128i>(x), reinterpret_cast<__m128i>(y)));
#else
    return x * y + sums;
#endif
  } else {
    return multiply_add<T>(x, y, sums);
  }
}

// What is to be added to the sums of each column, because one factor's numbers have been made larger by so much that
// none is negative: nothing, but where words have four steps.
template <class T>
struct Excess {
  CUTE_PY_INLINE void see(T const*) {}
  CUTE_PY_INLINE typename VectorOf<T>::Type remove(int, typename VectorOf<T>::Type const& sums) const { return sums; }
};

#if defined(__AVX512VNNI__)
template <>
struct Excess<std::uint32_t> {
  static_assert(kNr == 8);
  __m256i columns = _mm256_setzero_si256();

  CUTE_PY_INLINE void see(std::uint32_t const* b) {
    __m256i const kAdded = _mm256_set1_epi8(-128);  // 128, without a sign
    columns = _mm256_dpbusd_epi32(columns, kAdded, _mm256_loadu_si256(reinterpret_cast<__m256i const*>(b)));
  }
  CUTE_PY_INLINE VectorOf<std::uint32_t>::Type remove(int j, VectorOf<std::uint32_t>::Type const& sums) const {
    typedef std::uint32_t Columns __attribute__((vector_size(32), may_alias));
    return sums - broadcast(reinterpret_cast<Columns>(columns)[j]);
  }
};
#endif

// Calls put(j, v, sums) for every vector of the tile.
template <class T, class Put>
CUTE_PY_INLINE void multiply_and_put(std::int64_t k, T const* a, T const* b, Put const& put) {
  using Vector = typename VectorOf<T>::Type;
  constexpr int kAhead = 8;  // steps of k
  Vector c[kNr][kVectors] = {};
  Excess<T> excess;
  for (std::int64_t p = 0; p < k; ++p) {
    excess.see(b);
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
        c[j][v] = add_products<T>(column[v], broadcast(b[j]), c[j][v]);
      }
    }
    a += kMr<T>;
    b += kNr;
  }
#pragma GCC unroll 16
  for (int j = 0; j < kNr; ++j) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) put(j, v, excess.remove(j, c[j][v]));
  }
}

template <class T>
void multiply(std::int64_t k, T const* a, T const* b, T* acc) {
  using Vector = typename VectorOf<T>::Type;
  auto* const tile = reinterpret_cast<Vector*>(acc);
  multiply_and_put(k, a, b, [&](int j, int v, Vector const& x) CUTE_PY_INLINE_LAMBDA { tile[j * kVectors + v] = x; });
}

template <class T>
void multiply_into(std::int64_t k, T const* a, T const* b, bool first, T alpha, T* d, std::int64_t const* d_columns) {
  using Vector = typename VectorOf<T>::Type;
  if (first) {
    multiply_and_put(k, a, b, [&](int j, int v, Vector const& x) CUTE_PY_INLINE_LAMBDA {
      loose(d + d_columns[j] + v * kLanes<T>) = alpha * x;
    });
  } else {
    multiply_and_put(k, a, b, [&](int j, int v, Vector const& x) CUTE_PY_INLINE_LAMBDA {
      T* const to = d + d_columns[j] + v * kLanes<T>;
      Vector const sum = x + loose(to);
      loose(to) = alpha * sum;
    });
  }
}

// Rounded once, also where the processor has no such instruction and this is slow: numeric::axpby does the same for the
// elements that are not written here.
float sum(float product, float beta, float c) { return __builtin_fmaf(beta, c, product); }
double sum(double product, double beta, double c) { return __builtin_fma(beta, c, product); }
std::uint32_t sum(std::uint32_t product, std::uint32_t beta, std::uint32_t c) { return product + beta * c; }

template <class T>
void store(T alpha, T const* acc, std::int64_t acc_column, T beta, T const* c, std::int64_t const* c_columns, T* d,
           std::int64_t const* d_columns, std::int64_t rows, std::int64_t columns) {
  typedef T LooseElement __attribute__((aligned(1), may_alias));
  for (std::int64_t j = 0; j < columns; ++j) {
    T const* const from = acc + j * acc_column;
    T* const to = d + d_columns[j];
    if (beta == 0) {
      for (std::int64_t i = 0; i < rows; i += kLanes<T>) {
        typename VectorOf<T>::Type const x = alpha * *reinterpret_cast<typename VectorOf<T>::Type const*>(from + i);
        if (rows - i >= kLanes<T>) {
          loose(to + i) = x;
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
