// SIMD: vectors of float, double and 32-bit words, one set of names for SSE2, AVX2, AVX-512 and NEON
//
// A small header of ours over GCC's vector extensions. A translation unit for one instruction set defines kIsa and
// includes this file. All that is written for a processor's instructions is here: no other file of csrc/cpu asks which
// processor it is compiled for.
//
// Why not std::experimental::simd, or a library: such a unit is compiled with flags that other machines may not have.
// Inline functions of a header are merged by the linker across translation units, so that it might pick a copy with
// AVX-512 for a processor without. So everything in here has internal linkage, and nothing comes from a header with
// inline functions but the compiler's own intrinsics.
//
//   load, store                  a vector at any address     load_partial, store_partial   its first lanes, a tail
//   broadcast, load_broadcast    one number in every lane    gather                        elements a stride apart
//   multiply_add                 fused, if it can            reduce_by_halves              one number of all lanes
//   transpose_block              squares of 16 bytes         interleave, every_second      complex numbers, columns
//   store_non_temporal           a non-temporal store        widened, narrowed             float16 and bfloat16
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cstdint>
#include <type_traits>

#include "base/dtype.hpp"
#include "cpu/gemm/register_tile.hpp"

// What keeps vectors in registers only where it is inlined.
#define CUTE_PY_INLINE __attribute__((always_inline)) inline
#define CUTE_PY_INLINE_LAMBDA __attribute__((always_inline))

namespace cute_py::cpu {
namespace {

constexpr RegisterTile kTile = register_tile(kIsa);
constexpr int kVectorBytes = kTile.vector_bytes;
constexpr std::int64_t kBytesOfLine = 64;  // of a cache

template <class T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kVectorBytes), may_alias));
  typedef T Loose __attribute__((vector_size(kVectorBytes), aligned(1), may_alias));  // at any address
  typedef T LooseElement __attribute__((aligned(1), may_alias));
  using Index = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef Index Integers __attribute__((vector_size(kVectorBytes)));  // as many, also a shuffle's numbers of lanes
};
template <class T>
using Vec = typename VectorOf<T>::Type;
template <class T>
using Lanes = typename VectorOf<T>::Integers;
template <class T>
using LooseElement = typename VectorOf<T>::LooseElement;

template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
template <class T>
constexpr std::int64_t kLine = kBytesOfLine / static_cast<std::int64_t>(sizeof(T));  // elements of a cache line

// ---- Loads and stores

template <class T>
CUTE_PY_INLINE Vec<T> load(T const* data) {
  return *reinterpret_cast<typename VectorOf<T>::Loose const*>(data);
}

template <class T>
CUTE_PY_INLINE void store(T* data, Vec<T> const& x) {
  *reinterpret_cast<typename VectorOf<T>::Loose*>(data) = x;
}

// x in every lane.
template <class T>
CUTE_PY_INLINE Vec<T> broadcast(T x) {
  Vec<T> const zero = {};
  return x - zero;
}

template <class T>
CUTE_PY_INLINE Vec<T> load_broadcast(T const* data) {
  return broadcast<T>(*reinterpret_cast<LooseElement<T> const*>(data));
}

// A tail: the first `count` elements of a vector, fewer than all, and zeros. Nothing behind them is read. Element by
// element they would go through memory, where a processor waits for them to be put together.
template <class T>
Vec<T> load_partial(T const* data, std::int64_t count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    auto const mask = static_cast<__mmask16>((1u << count) - 1);
    return reinterpret_cast<Vec<T>>(_mm512_maskz_loadu_ps(mask, data));
  } else {
    auto const mask = static_cast<__mmask8>((1u << count) - 1);
    return reinterpret_cast<Vec<T>>(_mm512_maskz_loadu_pd(mask, data));
  }
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4) {
    auto const lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    auto const mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes);
    return reinterpret_cast<Vec<T>>(_mm256_maskload_ps(reinterpret_cast<float const*>(data), mask));
  } else {
    auto const mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
    return reinterpret_cast<Vec<T>>(_mm256_maskload_pd(data, mask));
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
  return reinterpret_cast<Vec<T>>(words == 1   ? one(x)
                                  : words == 2 ? two(x)
                                  : words == 3 ? _mm_movelh_ps(two(x), one(x + 2))
                                               : _mm_setzero_ps());
#elif defined(__aarch64__)
  auto const* const x = reinterpret_cast<std::uint32_t const*>(data);
  auto const words = count * (sizeof(T) / 4);
  auto const none = vdupq_n_u32(0);
  return (Vec<T>)(words == 1   ? vld1q_lane_u32(x, none, 0)
                  : words == 2 ? vcombine_u32(vld1_u32(x), vget_low_u32(none))
                  : words == 3 ? vld1q_lane_u32(x + 2, vcombine_u32(vld1_u32(x), vget_low_u32(none)), 2)
                               : none);
#else
  Vec<T> vector = {};
  for (std::int64_t i = 0; i < count; ++i) vector[i] = reinterpret_cast<LooseElement<T> const*>(data)[i];
  return vector;
#endif
}

// Writes the first `count` elements of a vector, fewer than all.
template <class T>
void store_partial(T* data, std::int64_t count, Vec<T> const& x) {
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
#elif defined(__aarch64__)
  auto* to = reinterpret_cast<std::uint32_t*>(data);
  auto const words = count * (sizeof(T) / 4);
  auto rest = vget_low_u32((uint32x4_t)x);
  if (words & 2) {
    vst1_u32(to, rest);
    rest = vget_high_u32((uint32x4_t)x);
    to += 2;
  }
  if (words & 1) vst1_lane_u32(to, rest, 0);
#else
  for (std::int64_t i = 0; i < count; ++i) reinterpret_cast<LooseElement<T>*>(data)[i] = x[i];
#endif
}

// A vector that is whole, or else its first `count` elements.
template <class T>
CUTE_PY_INLINE Vec<T> load_some(T const* data, bool is_whole, std::int64_t count) {
  return is_whole ? load(data) : load_partial(data, count);
}

template <class T>
CUTE_PY_INLINE void store_some(T* data, bool is_whole, std::int64_t count, Vec<T> const& x) {
  if (is_whole) {
    store(data, x);
  } else {
    store_partial(data, count, x);
  }
}

// A non-temporal store: a vector that nobody reads soon, without its cache line being read first; `to` is aligned to
// it. Before others may see it, fence_non_temporal() has to be called.
template <class T>
CUTE_PY_INLINE void store_non_temporal(T* to, Vec<T> const& x) {
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
  store(to, x);
#endif
}

inline void fence_non_temporal() {
#ifdef __SSE2__
  __builtin_ia32_sfence();
#endif
}

// The elements at from[0], from[stride] and so on; from the `count`th on the last that there is.
template <class T, bool whole>
CUTE_PY_INLINE Vec<T> gather(T const* from, std::int64_t stride, std::int64_t count) {
  Vec<T> vector = {};
#pragma GCC unroll 16
  for (int lane = 0; lane < kLanes<T>; ++lane) {
    vector[lane] =
        *reinterpret_cast<LooseElement<T> const*>(from + (whole || lane < count ? lane : count - 1) * stride);
  }
  return vector;
}

// ---- Arithmetic

// x * y + z, rounded once (fused) if the processor can: not with SSE2. Spelt out, and compilers are told to leave sums
// of products alone: they would fuse them in some loops and not in others, and all kernels are to give the same bits.
template <class T>
CUTE_PY_INLINE Vec<T> multiply_add(Vec<T> const& x, Vec<T> const& y, Vec<T> const& z) {
  if constexpr (std::is_integral_v<T>) {
    return x * y + z;
#if defined(__AVX512F__)
  } else if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vec<T>>(
        _mm512_fmadd_ps(reinterpret_cast<__m512>(x), reinterpret_cast<__m512>(y), reinterpret_cast<__m512>(z)));
  } else {
    return reinterpret_cast<Vec<T>>(
        _mm512_fmadd_pd(reinterpret_cast<__m512d>(x), reinterpret_cast<__m512d>(y), reinterpret_cast<__m512d>(z)));
#elif defined(__FMA__)
  } else if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vec<T>>(
        _mm256_fmadd_ps(reinterpret_cast<__m256>(x), reinterpret_cast<__m256>(y), reinterpret_cast<__m256>(z)));
  } else {
    return reinterpret_cast<Vec<T>>(
        _mm256_fmadd_pd(reinterpret_cast<__m256d>(x), reinterpret_cast<__m256d>(y), reinterpret_cast<__m256d>(z)));
#elif defined(__aarch64__)
  } else if constexpr (sizeof(T) == 4) {
    return (Vec<T>)vfmaq_f32((float32x4_t)z, (float32x4_t)x, (float32x4_t)y);
  } else {
    return (Vec<T>)vfmaq_f64((float64x2_t)z, (float64x2_t)x, (float64x2_t)y);
#else
  } else {
    return x * y + z;
#endif
  }
}

// z - x * y in the same way. Negating x first takes registers and time.
template <class T>
CUTE_PY_INLINE Vec<T> multiply_subtract(Vec<T> const& x, Vec<T> const& y, Vec<T> const& z) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vec<T>>(
        _mm512_fnmadd_ps(reinterpret_cast<__m512>(x), reinterpret_cast<__m512>(y), reinterpret_cast<__m512>(z)));
  } else {
    return reinterpret_cast<Vec<T>>(
        _mm512_fnmadd_pd(reinterpret_cast<__m512d>(x), reinterpret_cast<__m512d>(y), reinterpret_cast<__m512d>(z)));
  }
#elif defined(__FMA__)
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vec<T>>(
        _mm256_fnmadd_ps(reinterpret_cast<__m256>(x), reinterpret_cast<__m256>(y), reinterpret_cast<__m256>(z)));
  } else {
    return reinterpret_cast<Vec<T>>(
        _mm256_fnmadd_pd(reinterpret_cast<__m256d>(x), reinterpret_cast<__m256d>(y), reinterpret_cast<__m256d>(z)));
  }
#elif defined(__aarch64__)
  if constexpr (sizeof(T) == 4) {
    return (Vec<T>)vfmsq_f32((float32x4_t)z, (float32x4_t)x, (float32x4_t)y);
  } else {
    return (Vec<T>)vfmsq_f64((float64x2_t)z, (float64x2_t)x, (float64x2_t)y);
  }
#else
  return multiply_add<T>(Vec<T>(-x), y, z);
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

// product + beta * c, rounded once also where the processor has no such instruction and this is slow: numeric::axpby
// does the same for the elements that are not written by vectors.
inline float add_scaled(float product, float beta, float c) { return __builtin_fmaf(beta, c, product); }
inline double add_scaled(double product, double beta, double c) { return __builtin_fma(beta, c, product); }
inline std::uint32_t add_scaled(std::uint32_t product, std::uint32_t beta, std::uint32_t c) {
  return product + beta * c;
}

// How many steps of k a 32-bit word of int8 holds, in the order in which they follow: four bytes, or two numbers of 16
// bits.
#if defined(__AVX512VNNI__)
constexpr int kStepsOfWord = 4;
#elif defined(__SSE2__)
constexpr int kStepsOfWord = 2;
#else
constexpr int kStepsOfWord = 1;
#endif

// sums + the products of all steps of the words x and y. Where a word has four steps, those of x are not negative.
CUTE_PY_INLINE Vec<std::uint32_t> add_word_products(Vec<std::uint32_t> const& x, Vec<std::uint32_t> const& y,
                                                    Vec<std::uint32_t> const& sums) {
#if defined(__AVX512VNNI__)
  return reinterpret_cast<Vec<std::uint32_t>>(
      _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums), reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(y)));
#elif defined(__AVX512BW__)
  return sums + reinterpret_cast<Vec<std::uint32_t>>(
                    _mm512_madd_epi16(reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(y)));
#elif defined(__AVX2__)
  return sums + reinterpret_cast<Vec<std::uint32_t>>(
                    _mm256_madd_epi16(reinterpret_cast<__m256i>(x), reinterpret_cast<__m256i>(y)));
#elif defined(__SSE2__)
  return sums + reinterpret_cast<Vec<std::uint32_t>>(
                    _mm_madd_epi16(reinterpret_cast<__m128i>(x), reinterpret_cast<__m128i>(y)));
#else
  return x * y + sums;
#endif
}

// 128 times the sum of each of eight columns of bytes: the zero-point correction of words with four steps, see
// gemm/micro_kernel.inl.
#if defined(__AVX512VNNI__)
struct ZeroPointSums {
  __m256i columns = _mm256_setzero_si256();

  CUTE_PY_INLINE void add(std::uint32_t const* b) {
    __m256i const zero_point = _mm256_set1_epi8(-128);  // 128, without a sign
    columns = _mm256_dpbusd_epi32(columns, zero_point, _mm256_loadu_si256(reinterpret_cast<__m256i const*>(b)));
  }
  CUTE_PY_INLINE std::uint32_t of_column(int j) const {
    typedef std::uint32_t Columns __attribute__((vector_size(32), may_alias));
    return reinterpret_cast<Columns>(columns)[j];
  }
};
#else
struct ZeroPointSums {
  CUTE_PY_INLINE void add(std::uint32_t const*) {}
  CUTE_PY_INLINE std::uint32_t of_column(int) const { return 0; }
};
#endif

// The larger, or the smaller, of the bound and x; x where that is NaN.
template <class T>
CUTE_PY_INLINE Vec<T> at_least(Vec<T> const& bound, Vec<T> const& x) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vec<T>>(_mm512_max_ps(reinterpret_cast<__m512>(bound), reinterpret_cast<__m512>(x)));
  } else {
    return reinterpret_cast<Vec<T>>(_mm512_max_pd(reinterpret_cast<__m512d>(bound), reinterpret_cast<__m512d>(x)));
  }
#else
  return x < bound ? bound : x;
#endif
}
template <class T>
CUTE_PY_INLINE Vec<T> at_most(Vec<T> const& bound, Vec<T> const& x) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vec<T>>(_mm512_min_ps(reinterpret_cast<__m512>(bound), reinterpret_cast<__m512>(x)));
  } else {
    return reinterpret_cast<Vec<T>>(_mm512_min_pd(reinterpret_cast<__m512d>(bound), reinterpret_cast<__m512d>(x)));
  }
#else
  return x > bound ? bound : x;
#endif
}

// x * 2^n for whole n, rounded once.
template <class T>
CUTE_PY_INLINE Vec<T> times_power_of_two(Vec<T> const& x, Vec<T> const& n) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Vec<T>>(_mm512_scalef_ps(reinterpret_cast<__m512>(x), reinterpret_cast<__m512>(n)));
  } else {
    return reinterpret_cast<Vec<T>>(_mm512_scalef_pd(reinterpret_cast<__m512d>(x), reinterpret_cast<__m512d>(n)));
  }
#else
  // Two factors, neither of which overflows before the result does.
  using Index = typename VectorOf<T>::Index;
  constexpr int kMantissa = sizeof(T) == 4 ? 23 : 52;
  constexpr Index kBias = sizeof(T) == 4 ? 127 : 1023;
  Lanes<T> const whole = __builtin_convertvector(n, Lanes<T>);
  Lanes<T> const half = whole >> 1;
  auto const power = [](Lanes<T> const& exponent) { return reinterpret_cast<Vec<T>>((exponent + kBias) << kMantissa); };
  return x * power(half) * power(whole - half);
#endif
}

// -|x|
template <class T>
CUTE_PY_INLINE Vec<T> minus_magnitude(Vec<T> const& x) {
  using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  typedef Word Words __attribute__((vector_size(kVectorBytes)));
  constexpr Word kSign = Word{1} << (8 * sizeof(T) - 1);
  return reinterpret_cast<Vec<T>>(reinterpret_cast<Words>(x) | kSign);
}

// The sum of the first lanes of a vector: the first half and the second are added until one is left.
template <class T, int lanes = kLanes<T>>
CUTE_PY_INLINE T reduce_by_halves(Vec<T> const& x) {
  if constexpr (lanes == 1) {
    return x[0];
  } else {
    Lanes<T> mask;
#pragma GCC unroll 16
    for (int i = 0; i < kLanes<T>; ++i) mask[i] = (i + lanes / 2) % kLanes<T>;
    return reduce_by_halves<T, lanes / 2>(x + __builtin_shuffle(x, mask));
  }
}

// ---- Shuffles

// Every second element of two vectors, from the first or the second on.
template <class T, int first>
CUTE_PY_INLINE Vec<T> every_second(Vec<T> const& x, Vec<T> const& y) {
  Lanes<T> mask;
  for (int i = 0; i < kLanes<T>; ++i) mask[i] = 2 * i + first;
  return __builtin_shuffle(x, y, mask);
}

// The elements of the lower or the higher halves of x and y, in turns.
template <class T, bool high>
CUTE_PY_INLINE Vec<T> interleave(Vec<T> const& x, Vec<T> const& y) {
  Lanes<T> mask;
  for (int i = 0; i < kLanes<T>; ++i) mask[i] = (high ? kLanes<T> / 2 : 0) + i / 2 + (i % 2 ? kLanes<T> : 0);
  return __builtin_shuffle(x, y, mask);
}

// Elements i of each piece of `places` lanes for i < `wanted`, side by side; what lies behind is of no use.
template <class T, int places, int wanted>
CUTE_PY_INLINE Vec<T> close_gaps(Vec<T> const& x) {
  if constexpr (wanted == places) return x;
  constexpr int kPieces = kLanes<T> / places;
  Lanes<T> mask;
  for (int i = 0; i < kLanes<T>; ++i) mask[i] = i < kPieces * wanted ? i / wanted * places + i % wanted : 0;
  return __builtin_shuffle(x, mask);
}

// ---- Transposes of squares
//
//   row r:  r0 r1 r2 r3    becomes    column c:  0c 1c 2c 3c | 4c 5c 6c 7c | ...
//
// A vector is made of blocks of 16 bytes, which processors can exchange elements in without moving them far. Block b of
// vector c takes column c of the rows kBlock * b, kBlock * b + 1 and so on. docs/cpu.md has pictures.

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
struct FirstOfBlocks {
  explicit FirstOfBlocks(int bytes_) : bytes(bytes_) {}
  int bytes;
};
#endif

// A block of each of the rows row, row + kBlock, row + 2 * kBlock and so on: as many as a vector has such blocks.
template <class T, class Rows, class Load>
CUTE_PY_INLINE Vec<T> load_blocks(Rows const& rows, int row, std::int64_t p, [[maybe_unused]] Load const& load_block) {
#if defined(__AVX__)
  auto const block = [&](int i) { return load_block(reinterpret_cast<float const*>(rows[row + i * kBlock<T>] + p)); };
#endif
#if defined(__AVX512F__)
  __m512 x = _mm512_castps128_ps512(block(0));
  // Out of memory a broadcast under a mask takes no shuffle.
  x = _mm512_mask_broadcast_f32x4(x, 0x00f0, block(1));
  x = _mm512_mask_broadcast_f32x4(x, 0x0f00, block(2));
  x = _mm512_mask_broadcast_f32x4(x, 0xf000, block(3));
  return reinterpret_cast<Vec<T>>(x);
#elif defined(__AVX__)
  return reinterpret_cast<Vec<T>>(_mm256_insertf128_ps(_mm256_castps128_ps256(block(0)), block(1), 1));
#else
  static_assert(kVectorBytes == 16);
  if constexpr (std::is_same_v<Load, FirstOfBlocks>) {
    return load_partial(rows[row] + p, load_block.bytes / static_cast<int>(sizeof(T)));
  } else {
    return load(rows[row] + p);
  }
#endif
}

// The elements of the lower or the higher halves of the blocks of x and y, in turns.
template <class T, bool high>
CUTE_PY_INLINE Vec<T> interleave_in_blocks(Vec<T> const& x, Vec<T> const& y) {
  Lanes<T> mask;
  for (int i = 0; i < kLanes<T>; ++i) {
    int const in_block = i % kBlock<T>;
    mask[i] = i - in_block + in_block / 2 + (high ? kBlock<T> / 2 : 0) + (in_block % 2 ? kLanes<T> : 0);
  }
  return __builtin_shuffle(x, y, mask);
}

// columns[i] = the elements at p + i of as many rows as a vector has lanes, i < kBlock. Each round moves one bit of an
// element's row behind its column: after as many rounds as a column has bits they have changed places.
template <class T, class Rows, class Load = WholeBlocks>
CUTE_PY_INLINE void transpose_block(Rows const& rows, std::int64_t p, Vec<T>* columns, Load const& load_block = {}) {
  constexpr int kCount = kBlock<T>;
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) columns[i] = load_blocks<T>(rows, i, p, load_block);
#pragma GCC unroll 4
  for (int round = 1; round < kCount; round *= 2) {
    Vec<T> y[kCount];
#pragma GCC unroll 4
    for (int i = 0; i < kCount / 2; ++i) {
      y[2 * i] = interleave_in_blocks<T, false>(columns[i], columns[i + kCount / 2]);
      y[2 * i + 1] = interleave_in_blocks<T, true>(columns[i], columns[i + kCount / 2]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) columns[i] = y[i];
  }
}

// The same of a tail of the rows, `count` columns, less than a block.
template <class T, class Rows>
CUTE_PY_INLINE void transpose_tail(Rows const& rows, std::int64_t p, std::int64_t count, Vec<T>* columns) {
  transpose_block<T>(rows, p, columns, FirstOfBlocks(static_cast<int>(count) * static_cast<int>(sizeof(T))));
}

// ---- Conversions of 16-bit numbers

// As many integers as a vector has floats.
struct Integers {
  typedef std::int32_t Words __attribute__((vector_size(kVectorBytes), may_alias));
  typedef std::uint32_t Unsigned __attribute__((vector_size(kVectorBytes), may_alias));  // what wraps around
  typedef std::uint16_t Halves __attribute__((vector_size(kVectorBytes / 2), may_alias));
  typedef std::uint16_t LooseHalves __attribute__((vector_size(kVectorBytes / 2), aligned(1), may_alias));
};

// float16 or bfloat16, rounded to nearest, ties to even. NaN becomes 0x7fff, as everywhere.
template <DType type>
CUTE_PY_INLINE Integers::Halves narrowed(Vec<float> x) {
  using Words = Integers::Words;
  using Unsigned = Integers::Unsigned;
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
    auto const shifted = reinterpret_cast<Vec<float> const&>(magnitude) + 0.5f;
    Words const denormal = reinterpret_cast<Words const&>(shifted) - kHalf;
    result = magnitude < kLeastNormal ? denormal : magnitude < kPast ? normal : Words{} + 0x7c00;
    Unsigned const sign = bits >> 16 & 0x8000;
    result |= reinterpret_cast<Words const&>(sign);
  }
  result = magnitude > kInfinity ? Words{} + 0x7fff : result;
  return __builtin_convertvector(result, Integers::Halves);
}

template <DType type>
CUTE_PY_INLINE Vec<float> widened(Integers::Halves x) {
#if defined(__AVX512F__)
  auto const& halves = reinterpret_cast<__m256i const&>(x);
  if constexpr (type == DType::f16) return reinterpret_cast<Vec<float>>(_mm512_cvtph_ps(halves));
  return reinterpret_cast<Vec<float>>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
#endif
  using Words = Integers::Words;
  using Unsigned = Integers::Unsigned;
  Unsigned const bits = __builtin_convertvector(x, Unsigned);
  if constexpr (type == DType::bf16) {
    Unsigned const result = bits << 16;
    return reinterpret_cast<Vec<float> const&>(result);
  } else {
    constexpr float kScale = 5192296858534827628530496329220096.0f;  // 2^112, between the exponents of both
    Unsigned const positive = bits & 0x7fff;
    Words const magnitude = reinterpret_cast<Words const&>(positive);
    Unsigned const shifted = positive << 13;
    Vec<float> const scaled = reinterpret_cast<Vec<float> const&>(shifted) * kScale;
    Unsigned const sign = (bits & 0x8000) << 16;
    Words result = reinterpret_cast<Words const&>(scaled) | reinterpret_cast<Words const&>(sign);
    result |= magnitude < 0x7c00 ? Words{} : Words{} + 0x7f800000;
    return reinterpret_cast<Vec<float> const&>(result);
  }
}

}  // namespace
}  // namespace cute_py::cpu
