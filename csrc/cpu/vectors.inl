// Vectors, loads and stores, and transposes in registers, included by one source file per instruction set after it
// defines kIsa, and before the kernels.
//
// Those files are compiled with flags that other machines may not have. So everything in here has internal linkage and
// nothing comes from a header with inline functions: the linker must never pick such a copy for the rest of the
// program.

namespace {

constexpr RegisterTile kTile = register_tile(kIsa);

template <class T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kTile.vector_bytes), may_alias));
};

// A vector at any address.
template <class T>
struct LooseVector {
  typedef T Type __attribute__((vector_size(kTile.vector_bytes), aligned(1), may_alias));
};

template <class T>
constexpr int kLanes = kTile.vector_bytes / static_cast<int>(sizeof(T));

template <class T>
typename LooseVector<T>::Type const& loose(T const* data) {
  return *reinterpret_cast<typename LooseVector<T>::Type const*>(data);
}

template <class T>
typename LooseVector<T>::Type& loose(T* data) {
  return *reinterpret_cast<typename LooseVector<T>::Type*>(data);
}

// The numbers of elements, for a shuffle.
template <class T>
struct MaskOf {
  using Index = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef Index Type __attribute__((vector_size(kTile.vector_bytes)));
};

// What keeps vectors in registers only where it is inlined.
#define CUTE_PY_INLINE __attribute__((always_inline)) inline
#define CUTE_PY_INLINE_LAMBDA __attribute__((always_inline))

// x in every lane.
template <class T>
CUTE_PY_INLINE typename VectorOf<T>::Type broadcast(T x) {
  typename VectorOf<T>::Type const zero = {};
  return x - zero;
}

// x * y + z, rounded once if the processor can. Spelt out, and compilers are told to leave sums of products alone: they
// would fuse them in some loops and not in others, and all kernels are to give the same bits.
template <class T>
CUTE_PY_INLINE typename VectorOf<T>::Type multiply_add(typename VectorOf<T>::Type const& x,
                                                       typename VectorOf<T>::Type const& y,
                                                       typename VectorOf<T>::Type const& z) {
  using Vector = typename VectorOf<T>::Type;
  if constexpr (std::is_integral_v<T>) {
    return x * y + z;
#if defined(__AVX512F__)
  } else if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vector>(
        _mm512_fmadd_ps(reinterpret_cast<__m512>(x), reinterpret_cast<__m512>(y), reinterpret_cast<__m512>(z)));
  } else {
    return reinterpret_cast<Vector>(
        _mm512_fmadd_pd(reinterpret_cast<__m512d>(x), reinterpret_cast<__m512d>(y), reinterpret_cast<__m512d>(z)));
#elif defined(__FMA__)
  } else if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vector>(
        _mm256_fmadd_ps(reinterpret_cast<__m256>(x), reinterpret_cast<__m256>(y), reinterpret_cast<__m256>(z)));
  } else {
    return reinterpret_cast<Vector>(
        _mm256_fmadd_pd(reinterpret_cast<__m256d>(x), reinterpret_cast<__m256d>(y), reinterpret_cast<__m256d>(z)));
#elif defined(__aarch64__)
  } else if constexpr (sizeof(T) == 4) {
    return (Vector)vfmaq_f32((float32x4_t)z, (float32x4_t)x, (float32x4_t)y);
  } else {
    return (Vector)vfmaq_f64((float64x2_t)z, (float64x2_t)x, (float64x2_t)y);
#else
  } else {
    return x * y + z;
#endif
  }
}

// z - x * y in the same way. Negating x first takes registers and time.
template <class T>
CUTE_PY_INLINE typename VectorOf<T>::Type multiply_subtract(typename VectorOf<T>::Type const& x,
                                                            typename VectorOf<T>::Type const& y,
                                                            typename VectorOf<T>::Type const& z) {
  using Vector = typename VectorOf<T>::Type;
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vector>(
        _mm512_fnmadd_ps(reinterpret_cast<__m512>(x), reinterpret_cast<__m512>(y), reinterpret_cast<__m512>(z)));
  } else {
    return reinterpret_cast<Vector>(
        _mm512_fnmadd_pd(reinterpret_cast<__m512d>(x), reinterpret_cast<__m512d>(y), reinterpret_cast<__m512d>(z)));
  }
#elif defined(__FMA__)
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vector>(
        _mm256_fnmadd_ps(reinterpret_cast<__m256>(x), reinterpret_cast<__m256>(y), reinterpret_cast<__m256>(z)));
  } else {
    return reinterpret_cast<Vector>(
        _mm256_fnmadd_pd(reinterpret_cast<__m256d>(x), reinterpret_cast<__m256d>(y), reinterpret_cast<__m256d>(z)));
  }
#else
  return multiply_add<T>(Vector(-x), y, z);
#endif
}

// The same of numbers.
template <class T>
T multiply_add(T x, T y, T z) {
#if defined(__FMA__) || defined(__aarch64__)
  if constexpr (sizeof(T) == 8) return __builtin_fma(x, y, z);
  if constexpr (std::is_same_v<T, float>) return __builtin_fmaf(x, y, z);
#endif
  return x * y + z;
}

// The first `count` elements of a vector, fewer than all, and zeros. Element by element they would go through memory,
// where a processor waits for them to be put together.
template <class T>
typename VectorOf<T>::Type load_first(T const* data, std::int64_t count) {
  using Vector = typename VectorOf<T>::Type;
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    auto const mask = static_cast<__mmask16>((1u << count) - 1);
    return reinterpret_cast<Vector>(_mm512_maskz_loadu_ps(mask, data));
  } else {
    auto const mask = static_cast<__mmask8>((1u << count) - 1);
    return reinterpret_cast<Vector>(_mm512_maskz_loadu_pd(mask, data));
  }
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4) {
    auto const lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    auto const mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes);
    return reinterpret_cast<Vector>(_mm256_maskload_ps(reinterpret_cast<float const*>(data), mask));
  } else {
    auto const mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
    return reinterpret_cast<Vector>(_mm256_maskload_pd(data, mask));
  }
#elif defined(__SSE2__)
  auto const* const x = reinterpret_cast<float const*>(data);
  auto const one = [](float const* at) {
    float number;
    __builtin_memcpy(&number, at, sizeof(number));
    return _mm_set_ss(number);
  };
  auto const two = [](float const* at) {
    return _mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<__m128i_u const*>(at)));
  };
  auto const words = count * (sizeof(T) / 4);
  return reinterpret_cast<Vector>(words == 1   ? one(x)
                                  : words == 2 ? two(x)
                                  : words == 3 ? _mm_movelh_ps(two(x), one(x + 2))
                                               : _mm_setzero_ps());
#else
  Vector vector = {};
  typedef T LooseElement __attribute__((aligned(1), may_alias));
  for (std::int64_t i = 0; i < count; ++i) vector[i] = reinterpret_cast<LooseElement const*>(data)[i];
  return vector;
#endif
}

// Writes the first `count` elements of a vector, fewer than all.
template <class T>
void store_first(T* data, std::int64_t count, typename VectorOf<T>::Type const& x) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_ps(data, static_cast<__mmask16>((1u << count) - 1), reinterpret_cast<__m512>(x));
  } else {
    _mm512_mask_storeu_pd(data, static_cast<__mmask8>((1u << count) - 1), reinterpret_cast<__m512d>(x));
  }
#elif defined(__SSE2__)
  auto* to = reinterpret_cast<float*>(data);
  auto const words = count * static_cast<std::int64_t>(sizeof(T) / 4);
#if defined(__AVX2__)
  __m128 rest = _mm256_castps256_ps128(reinterpret_cast<__m256>(x));
  if (words & 4) {
    _mm_storeu_ps(to, rest);
    rest = _mm256_extractf128_ps(reinterpret_cast<__m256>(x), 1);
    to += 4;
  }
#else
  __m128 rest = reinterpret_cast<__m128>(x);
#endif
  if (words & 2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(to), rest);
    rest = _mm_movehl_ps(rest, rest);
    to += 2;
  }
  float const number = _mm_cvtss_f32(rest);
  if (words & 1) __builtin_memcpy(to, &number, sizeof(number));
#else
  typedef T LooseElement __attribute__((aligned(1), may_alias));
  for (std::int64_t i = 0; i < count; ++i) reinterpret_cast<LooseElement*>(data)[i] = x[i];
#endif
}

// Fewer elements than a cache has in a line.
template <class T>
void copy_few(std::int64_t count, T const* from, T* to) {
  auto const* x = reinterpret_cast<char const*>(from);
  auto* y = reinterpret_cast<char*>(to);
  auto const bytes = count * static_cast<std::int64_t>(sizeof(T));
  if (bytes & 32) __builtin_memcpy(y, x, 32), y += 32, x += 32;
  if (bytes & 16) __builtin_memcpy(y, x, 16), y += 16, x += 16;
  if (bytes & 8) __builtin_memcpy(y, x, 8), y += 8, x += 8;
  if (bytes & 4) __builtin_memcpy(y, x, 4);
}

// Where rows of elements are: equally far apart, or wherever pointers say.
template <class T>
struct EvenRows {
  T const* first;
  std::int64_t stride;

  T const* operator[](int row) const { return first + row * stride; }
};

// The same rows from p on. A compiler would rather keep an address for each row, more than there are registers, than
// add multiples of a stride.
template <class T>
CUTE_PY_INLINE EvenRows<T> rows_from(EvenRows<T> const& rows, std::int64_t p) {
  T const* first = rows.first + p;
  asm("" : "+r"(first));
  return {first, rows.stride};
}

template <class T>
struct PointedRows {
  T const* const* rows;
  std::int64_t p;

  T const* operator[](int row) const { return rows[row] + p; }
};

template <class T>
CUTE_PY_INLINE PointedRows<T> rows_from(T const* const* rows, std::int64_t p) {
  return {rows, p};
}

// The rows from one on.
template <class T>
CUTE_PY_INLINE EvenRows<T> rows_behind(EvenRows<T> const& rows, int count) {
  return {rows.first + count * rows.stride, rows.stride};
}
template <class T>
CUTE_PY_INLINE T const* const* rows_behind(T const* const* rows, int count) {
  return rows + count;
}

// A vector is made of blocks of 16 bytes, which processors can exchange elements in without moving them far.
template <class T>
constexpr int kBlock = 16 / static_cast<int>(sizeof(T));

#if defined(__AVX__)
struct WholeBlocks {
  __m128 operator()(float const* from) const { return _mm_loadu_ps(from); }
};

// The first elements of blocks, zeros behind them: nothing else is read.
struct FirstOfBlocks {
#if defined(__AVX512F__)
  explicit FirstOfBlocks(int bytes) : mask(static_cast<__mmask8>((1 << bytes / 4) - 1)) {}
  __m128 operator()(float const* from) const { return _mm_maskz_loadu_ps(mask, from); }

  __mmask8 mask;
#else
  explicit FirstOfBlocks(int bytes) : mask(_mm_cmpgt_epi32(_mm_set1_epi32(bytes / 4), _mm_setr_epi32(0, 1, 2, 3))) {}
  __m128 operator()(float const* from) const { return _mm_maskload_ps(from, mask); }

  __m128i mask;
#endif
};
#else
struct WholeBlocks {};
#endif

// A block of each of the rows row, row + kBlock, row + 2 * kBlock and so on: as many as a vector has such blocks.
template <class T, class Rows, class Load>
CUTE_PY_INLINE typename VectorOf<T>::Type load_blocks(Rows const& rows, int row, std::int64_t p,
                                                      [[maybe_unused]] Load const& load) {
#if defined(__AVX__)
  auto const block = [&](int i) { return load(reinterpret_cast<float const*>(rows[row + i * kBlock<T>] + p)); };
#endif
#if defined(__AVX512F__)
  __m512 x = _mm512_castps128_ps512(block(0));
  // Out of memory a broadcast under a mask takes no shuffle.
  x = _mm512_mask_broadcast_f32x4(x, 0x00f0, block(1));
  x = _mm512_mask_broadcast_f32x4(x, 0x0f00, block(2));
  x = _mm512_mask_broadcast_f32x4(x, 0xf000, block(3));
  return reinterpret_cast<typename VectorOf<T>::Type>(x);
#elif defined(__AVX__)
  return reinterpret_cast<typename VectorOf<T>::Type>(
      _mm256_insertf128_ps(_mm256_castps128_ps256(block(0)), block(1), 1));
#else
  static_assert(kTile.vector_bytes == 16);
  return loose(rows[row] + p);
#endif
}

// The elements of the lower or the higher halves of the blocks of x and y, in turns.
template <class T, bool high>
CUTE_PY_INLINE auto interleave(typename VectorOf<T>::Type const& x, typename VectorOf<T>::Type const& y) {
  typename MaskOf<T>::Type mask;
  for (int i = 0; i < kLanes<T>; ++i) {
    int const in_block = i % kBlock<T>;
    mask[i] = i - in_block + in_block / 2 + (high ? kBlock<T> / 2 : 0) + (in_block % 2 ? kLanes<T> : 0);
  }
  return __builtin_shuffle(x, y, mask);
}

// Every second element of two vectors, from the first or the second on.
template <class T, int first>
CUTE_PY_INLINE typename VectorOf<T>::Type every_second(typename VectorOf<T>::Type const& x,
                                                       typename VectorOf<T>::Type const& y) {
  typename MaskOf<T>::Type mask;
  for (int i = 0; i < kLanes<T>; ++i) mask[i] = 2 * i + first;
  return __builtin_shuffle(x, y, mask);
}

// The elements of the lower or the higher halves of x and y, in turns.
template <class T, bool high>
CUTE_PY_INLINE typename VectorOf<T>::Type in_turns(typename VectorOf<T>::Type const& x,
                                                   typename VectorOf<T>::Type const& y) {
  typename MaskOf<T>::Type mask;
  for (int i = 0; i < kLanes<T>; ++i) mask[i] = (high ? kLanes<T> / 2 : 0) + i / 2 + (i % 2 ? kLanes<T> : 0);
  return __builtin_shuffle(x, y, mask);
}

// columns[i] = the elements at p + i of as many rows as a vector has lanes, i < kBlock. Each round moves one bit of an
// element's row behind its column: after as many rounds as a column has bits they have changed places.
template <class T, class Rows, class Load = WholeBlocks>
CUTE_PY_INLINE void transpose_block(Rows const& rows, std::int64_t p, typename VectorOf<T>::Type* columns,
                                    Load const& load = {}) {
  constexpr int kCount = kBlock<T>;
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) columns[i] = load_blocks<T>(rows, i, p, load);
#pragma GCC unroll 4
  for (int round = 1; round < kCount; round *= 2) {
    typename VectorOf<T>::Type y[kCount];
#pragma GCC unroll 4
    for (int i = 0; i < kCount / 2; ++i) {
      y[2 * i] = interleave<T, false>(columns[i], columns[i + kCount / 2]);
      y[2 * i + 1] = interleave<T, true>(columns[i], columns[i + kCount / 2]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) columns[i] = y[i];
  }
}

// The same of the rest of some rows, `count` columns, less than a block.
template <class T, class Rows>
CUTE_PY_INLINE void transpose_rest(Rows const& rows, std::int64_t p, std::int64_t count,
                                   typename VectorOf<T>::Type* columns) {
  auto const bytes = static_cast<int>(count) * static_cast<int>(sizeof(T));
#if defined(__AVX__)
  transpose_block<T>(rows, p, columns, FirstOfBlocks(bytes));
#else
  // Copied to where a block of each can be read.
  alignas(64) T data[kLanes<T> * kBlock<T>] = {};
  T const* starts[kLanes<T>];
  for (int i = 0; i < kLanes<T>; ++i) {
    starts[i] = data + i * kBlock<T>;
    auto const* from = reinterpret_cast<char const*>(rows[i] + p);
    auto* to = reinterpret_cast<char*>(data + i * kBlock<T>);
    if (bytes & 8) __builtin_memcpy(to, from, 8), to += 8, from += 8;
    if (bytes & 4) __builtin_memcpy(to, from, 4);
  }
  transpose_block<T>(starts, 0, columns);
#endif
}

constexpr std::int64_t kBytesOfLine = 64;
template <class T>
constexpr std::int64_t kOfLine = kBytesOfLine / static_cast<std::int64_t>(sizeof(T));

// Asks for what some rows have a few lines behind p: rows are too many for a processor to see where they go.
template <class T, class Rows>
CUTE_PY_INLINE void prefetch_rows(Rows const& rows, std::int64_t p) {
  constexpr std::int64_t kAhead = 2 * kOfLine<T>;
#pragma GCC unroll 16
  for (int i = 0; i < kLanes<T>; ++i) __builtin_prefetch(rows[i] + p + kAhead);
}

// Are so many rows, this far apart, in each other's way in a nearest cache? It looks for what is 4 KB apart in the same
// set, which commonly has eight places; that many lines of rows that are read side by side can stay.
template <class T>
constexpr bool are_in_the_way(std::int64_t stride, int rows) {
  constexpr std::int64_t kRepeats = 4096;
  constexpr int kTooMany = 16;
  return stride != 0 && rows >= kTooMany &&
         stride * static_cast<std::int64_t>(sizeof(T)) % (kTooMany * kRepeats / rows) == 0;
}

// Some steps of k of each of some rows, one row after the other: what is in the way of others is read once, and no
// piece of it again.
// They lie on the stack, so they are few: a thread may have no more than 64 KB.
template <class T, int rows_, std::int64_t kBytes = 8 << 10>
struct NearRows {
  static constexpr std::int64_t kSteps = kBytes / rows_ / static_cast<std::int64_t>(sizeof(T));
  static constexpr int kAhead = 2;

  alignas(64) T data[rows_ * kSteps];

  // Those from p on. What comes some rows later is asked for.
  template <class Rows>
  void bring(Rows const& rows, std::int64_t p, std::int64_t steps) {
    for (int row = 0; row < rows_; ++row) {
      T const* const from = rows[row] + p;
      T* const to = data + row * kSteps;
      T const* const ahead = row + kAhead < rows_ ? rows[row + kAhead] + p : rows[row + kAhead - rows_] + p + kSteps;
      std::int64_t i = 0;
      for (; i + kLanes<T> <= steps; i += kLanes<T>) {
        __builtin_prefetch(ahead + i);
        loose(to + i) = loose(from + i);
      }
      if (i < steps) store_first(to + i, steps - i, load_first(from + i, steps - i));
    }
  }

  EvenRows<T> rows() const { return {data, kSteps}; }
};

// Are so many rows, and as many behind them, a small part of a nearest cache?
template <class T>
constexpr bool follow_closely(std::int64_t stride, int rows) {
  constexpr std::int64_t kMost = 16 << 10;
  return stride > 0 && stride * rows * static_cast<std::int64_t>(sizeof(T)) <= kMost;
}

// Asks a further cache for a line of each of some rows, so many elements from where they are read.
template <class T>
CUTE_PY_INLINE void prefetch_from_far(EvenRows<T> const& rows, std::int64_t by) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes<T>; ++i) __builtin_prefetch(rows[i] + by, 0, 2);
}

// Calls use(p, columns, count) for blocks of columns p, p + 1, ... of as many rows as a vector has lanes, up to `steps`
// columns.
template <class T, class Rows, class Use>
CUTE_PY_INLINE void for_transposed(Rows const& rows, std::int64_t steps, Use const& use) {
  typename VectorOf<T>::Type columns[kBlock<T>];
  std::int64_t p = 0;
  for (; p + kBlock<T> <= steps; p += kBlock<T>) {
    if (p % kOfLine<T> == 0) prefetch_rows<T>(rows, p);
    transpose_block<T>(rows, p, columns);
    use(p, columns, kBlock<T>);
  }
  if (p == steps) return;
  transpose_rest<T>(rows, p, steps - p, columns);
  use(p, columns, static_cast<int>(steps - p));
}

}  // namespace
