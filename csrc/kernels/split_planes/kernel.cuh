// Planes (row,k,plane) of an operand (row,k): residues of whole numbers modulo several moduli, or numbers of 16 bits; and
// the exponent of each row
//
// After:     permute, which moves elements as they are; Ozaki scheme II
// Requires:  any strides; K <= 2^17 for residues
// Numerics:  a row is scaled by a power of two. For residues so that whole numbers near it have a norm of at most
//            SplitShape::norm, found from sums of squares that are added in one order, whatever the strides; for numbers of
//            16 bits so that the largest is from 2^14 to 2^15. A row with infinity or NaN gets zeros, and kNotFinite
// Smem:      partial sums of squares; words of all planes on their way from rows to lines
// Threads:   along K or along the rows, whichever the operand is contiguous along
#pragma once

#include <cute/tensor.hpp>

#include "kernels/common/aligned_array.hpp"
#include "kernels/common/namespace.hpp"
#include "kernels/common/remainder.hpp"
#include "kernels/split_planes/config.hpp"

namespace cute_py::kernels::cutlass_scheduled {

// A small whole number, as a float.
CUTE_DEVICE float as_float(float x) { return x; }
CUTE_DEVICE float as_float(double x) {
#if defined(__CUDA_ARCH__)
  constexpr int kBits = 0x4b400000;  // of kRounder<float>
  return __int_as_float(__double2loint(x + kRounder<double>) + kBits) - kRounder<float>;
#else
  return static_cast<float>(x);
#endif
}

// A small whole number modulo another: its last eight bits are what an int8 has.
CUTE_DEVICE std::uint32_t bits_of_remainder(float x, ResidueConstants const& c) {
  return numeric::bits_of(remainder_of(x, c.modulus, c.inverse) + kRounder<float>);
}

// Two numbers of 16 bits, rounded to nearest, by one instruction.
CUTE_DEVICE void narrow_two(float x, float y, cutlass::half_t& to_x, cutlass::half_t& to_y) {
#if defined(__CUDA_ARCH__)
  std::uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
  to_x = cutlass::half_t::bitcast(static_cast<std::uint16_t>(both));
  to_y = cutlass::half_t::bitcast(static_cast<std::uint16_t>(both >> 16));
#else
  to_x = cutlass::half_t(x);
  to_y = cutlass::half_t(y);
#endif
}
CUTE_DEVICE void narrow_two(float x, float y, cutlass::bfloat16_t& to_x, cutlass::bfloat16_t& to_y) {
#if defined(__CUDA_ARCH__)
  std::uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
  to_x = cutlass::bfloat16_t::bitcast(static_cast<std::uint16_t>(both));
  to_y = cutlass::bfloat16_t::bitcast(static_cast<std::uint16_t>(both >> 16));
#else
  to_x = cutlass::bfloat16_t(x);
  to_y = cutlass::bfloat16_t(y);
#endif
}

// The last eight bits of four numbers.
CUTE_DEVICE std::uint32_t last_bytes(std::uint32_t const (&x)[4]) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(__byte_perm(x[0], x[1], 0x0040), __byte_perm(x[2], x[3], 0x0040), 0x5410);
#else
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word |= (x[i] & 0xff) << (8 * i);
  return word;
#endif
}

// The exponent that brings the largest number of a row, given as the bits of its size, to 2^14 and more.
CUTE_DEVICE int exponent_of_largest(std::uint32_t bits) {
  constexpr std::uint32_t infinity = 0x7f800000;
  if (bits >= infinity) return kNotFinite;
  if (bits == 0) return 0;
  int exponent = static_cast<int>(bits >> 23) - 127;
  if (exponent == -127) {  // a subnormal number
    for (exponent = -126; (bits & 0x800000) == 0; bits <<= 1) --exponent;
  }
  return 14 - exponent;
}

template <class Config>
struct Splitter {
  using T = typename Config::Number;
  using Real = typename Config::Real;
  using Totals = numeric::Squares<Config::ranges>;
  using Storage = typename Config::SharedStorage;
  static constexpr int together = Config::together;

  SplitShape const& shape;
  T const* from;
  char* to;
  int* exponents;
  Storage& shared;

  // Four steps of a row; beyond K there is 0. `Vectors`: in accesses of 16 bytes.
  template <bool Vectors>
  CUTE_DEVICE void load(T const* row, int first_k, T (&x)[together]) const {
    if (first_k + together <= shape.steps && (Vectors || shape.k.rank == 1)) {
      load_all<Vectors>(row, first_k, x);
    } else {
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) x[i] = first_k + i < shape.steps ? row[shape.k.offset(first_k + i, 0)] : T(0);
    }
    if constexpr (Config::is_complex) {
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) x[i] = numeric::conjugate_if(shape.conjugate, x[i]);
    }
  }

  template <bool Vectors>
  CUTE_DEVICE void load_all(T const* row, int first_k, T (&x)[together]) const {
    if constexpr (Vectors) {
      constexpr int count = 16 / static_cast<int>(sizeof(T));
      CUTE_UNROLL
      for (int i = 0; i < together; i += count) {
        auto const vector = *reinterpret_cast<AlignedArray<T, count> const*>(row + shape.k.offset(first_k + i, 0));
        CUTE_UNROLL
        for (int v = 0; v < count; ++v) x[i + v] = vector.x[v];
      }
    } else {
      std::int64_t const step = shape.k.stride[0][0];
      T const* at = row + first_k * step;
      CUTE_UNROLL
      for (int i = 0; i < together; ++i, at += step) x[i] = *at;
    }
  }

  // Planes of 16 bits take the largest number of a row, residues its norm.
  CUTE_DEVICE void scan(T const (&x)[together], Totals& squares, std::uint32_t& largest) const {
    if constexpr (std::is_same_v<T, float>) {
      if (!shape.planes.has_residues()) {
        CUTE_UNROLL
        for (int i = 0; i < together; ++i) largest = cute::max(largest, numeric::bits_of(x[i]) & 0x7fffffff);
        return;
      }
    }
    CUTE_UNROLL
    for (int i = 0; i < together; ++i) {
      if constexpr (Config::is_complex) {
        squares.add(x[i].real());
        squares.add(x[i].imag());
      } else {
        squares.add(x[i]);
      }
    }
  }

  // Of the row whose partial sums are at(range,0) to at(range,15).
  template <class At>
  CUTE_DEVICE int exponent_of(At const& at) const {
    Totals totals;
    CUTE_UNROLL
    for (int range = 0; range < Config::ranges; ++range) {
      totals.sum[range] = numeric::sum_of<16>([&](int i) { return at(range, i); });
    }
    return numeric::exponent_of_norm(shape.norm, totals);
  }

  // Residues of four numbers, a word for each plane. `count` moduli, so that their constants need no registers.
  template <class Whole, int count, class Put>
  CUTE_DEVICE void residues(T const (&x)[together], numeric::RowScale<Real> const& scale, Put const& put) const {
    using std::rint;
    Whole re[together], im[together];
    CUTE_UNROLL
    for (int i = 0; i < together; ++i) {
      if constexpr (Config::is_complex) {
        re[i] = rint(scale(x[i].real()));
        im[i] = rint(scale(x[i].imag()));
      } else {
        re[i] = rint(scale(x[i]));
      }
    }
    CUTE_UNROLL
    for (int number = 0; number < count; ++number) {
      ResidueConstants const& c = shape.residue[number];
      std::uint32_t bits[2][together];
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) {
        float const a = as_float(remainder_of<Whole>(re[i], c.template modulus_as<Whole>(), c.template inverse_as<Whole>()));
        if constexpr (Config::is_complex) {
          using std::fma;
          float const b = as_float(remainder_of<Whole>(im[i], c.template modulus_as<Whole>(), c.template inverse_as<Whole>()));
          bits[0][i] = bits_of_remainder(fma(c.root, b, a), c);
          bits[1][i] = bits_of_remainder(fma(-c.root, b, a), c);
        } else {
          bits[0][i] = bits_of_remainder(a, c);
        }
      }
      if constexpr (Config::is_complex) {
        put(2 * number, last_bytes(bits[0]));
        put(2 * number + 1, last_bytes(bits[1]));
      } else {
        put(number, last_bytes(bits[0]));
      }
    }
  }

  // Planes of 16 bits: what rounding leaves of a number, times `scale`, is the next plane's. Rounded and not cut off: sums of
  // parts with one sign would grow, and a tensor core would cut them off.
  template <class Narrow, int planes, class Put>
  CUTE_DEVICE void narrow(T const (&x)[together], numeric::RowScale<Real> const& scale, float up, Put const& put) const {
    float rest[together];
    CUTE_UNROLL
    for (int i = 0; i < together; ++i) rest[i] = scale(x[i]);
    CUTE_UNROLL
    for (int plane = 0; plane < planes; ++plane) {
      AlignedArray<Narrow, together> high;
      CUTE_UNROLL
      for (int i = 0; i < together; i += 2) narrow_two(rest[i], rest[i + 1], high.x[i], high.x[i + 1]);
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) rest[i] = (rest[i] - static_cast<float>(high.x[i])) * up;
      put(plane, reinterpret_cast<std::uint64_t const&>(high));
    }
  }

  // Calls work(split, word) with a function that splits four numbers, and a word of a plane.
  template <class Work>
  CUTE_DEVICE void with_kind(Work const& work) const {
    auto const residues_of = [&](auto const& whole, auto count) {
      using Whole = std::decay_t<decltype(whole)>;
      work([&](auto const& x, auto const& scale, auto const& put) { residues<Whole, decltype(count)::value>(x, scale, put); },
           std::uint32_t{});
    };
    if constexpr (std::is_same_v<T, float>) {
      if (shape.planes.kind == PlaneKind::fp16) {
        return work([&](auto const& x, auto const& scale, auto const& put) { narrow<cutlass::half_t, 2>(x, scale, 2048.0f, put); },
                    std::uint64_t{});
      }
      if (shape.planes.kind == PlaneKind::bf16) {
        return work([&](auto const& x, auto const& scale, auto const& put) { narrow<cutlass::bfloat16_t, 3>(x, scale, 1.0f, put); },
                    std::uint64_t{});
      }
    }
    // Of float32 seven moduli have whole numbers of 27 bits.
    if constexpr (sizeof(Real) == 8) {
      if (shape.planes.count == kModuliOfFast<double>) return residues_of(double{}, cute::Int<kModuliOfFast<double>>{});
      residues_of(double{}, cute::Int<kModuliOfReproducible<double>>{});
    } else {
      if (shape.planes.count == kModuliOfFast<float>) return residues_of(float{}, cute::Int<kModuliOfFast<float>>{});
      residues_of(double{}, cute::Int<kModuliOfReproducible<float>>{});
    }
  }

  CUTE_DEVICE int words_of_line() const { return (shape.steps + together - 1) / together; }

  // The exponent of a row, given the place of its sums of squares by word % 32, and the largest of its numbers.
  template <class At>
  CUTE_DEVICE int exponent_of_row(At const& at, std::uint32_t largest) const {
    if (!shape.planes.has_residues()) return exponent_of_largest(largest);
    return exponent_of([&](int range, int i) { return at(range, i) + at(range, i + 16); });
  }

  // Some warps share a row. Squares of words are added in the order of words, for each word / 32 % warps and word % 32; then
  // over the warps; then as a tree.
  template <bool Vectors>
  CUTE_DEVICE void along_k() const {
    int const warps = 1 << shape.log2_warps;
    int const warp = threadIdx.x / 32;
    int const lane = threadIdx.x % 32;
    int const in_row = warp & (warps - 1);
    int const row = blockIdx.x * (Config::warps >> shape.log2_warps) + (warp >> shape.log2_warps);
    bool const exists = row < shape.rows;
    T const* const from_row = from + (exists ? shape.row.offset(row, 0) : 0);
    int const words = exists ? words_of_line() : 0;
    int const first_word = in_row * 32 + lane;
    int const step = warps * 32;
    Totals squares;
    std::uint32_t largest = 0;
    T x[together];
#ifdef __CUDACC__
#pragma unroll 4
#endif
    for (int word = first_word; word < words; word += step) {
      load<Vectors>(from_row, word * together, x);
      scan(x, squares, largest);
    }
    CUTE_UNROLL
    for (int range = 0; range < Config::ranges; ++range) shared.sums[range][warp][lane] = squares.sum[range];
    shared.largest[warp][lane] = largest;
    __syncthreads();  // sums become visible to the warps of a row
    if (in_row == 0) {
      for (int other = 1; other < warps; ++other) {
        CUTE_UNROLL
        for (int range = 0; range < Config::ranges; ++range) squares.sum[range] += shared.sums[range][warp + other][lane];
        largest = cute::max(largest, shared.largest[warp + other][lane]);
      }
      CUTE_UNROLL
      for (int range = 0; range < Config::ranges; ++range) shared.sums[range][warp][lane] = squares.sum[range];
      shared.largest[warp][lane] = largest;
    }
    __syncthreads();  // so do those of the row
    if (!exists) return;
    int const first_warp = warp - in_row;
    if (!shape.planes.has_residues()) {
      for (int i = 0; i < 32; ++i) largest = cute::max(largest, shared.largest[first_warp][i]);
    }
    int const exponent = exponent_of_row([&](int range, int i) { return shared.sums[range][first_warp][i]; }, largest);
    if (in_row == 0 && lane == 0) exponents[row] = exponent;
    numeric::RowScale<Real> const scale(exponent);
    with_kind([&](auto const& split, auto const& sample) {
      using Word = std::decay_t<decltype(sample)>;
      constexpr int bytes = sizeof(Word) / together;
      char* const line = to + row * shape.line * bytes;
      T next[together];
      load<Vectors>(from_row, first_word * together, next);
      for (int word = first_word; word < words; word += step) {
        CUTE_UNROLL
        for (int i = 0; i < together; ++i) x[i] = next[i];
        load<Vectors>(from_row, (word + step) * together, next);  // meanwhile
        split(x, scale, [&](int plane, Word const& w) {
          *reinterpret_cast<Word*>(line + (plane * shape.plane + word * together) * bytes) = w;
        });
      }
    });
  }

  // A thread has words of one row, and words go through shared memory, because they lie along K in a plane.
  CUTE_DEVICE void along_m() const {
    constexpr int rows = Config::rows_along_m;
    constexpr int chunk = Config::chunk;
    static_assert(chunk == 32 && rows * chunk == Config::threads);
    int const lane = threadIdx.x % rows;
    int const own_word = threadIdx.x / 32 + chunk / 2 * (threadIdx.x / rows % 2);  // of a chunk
    // CTAs that share rows have a part of their chunks each. All find the exponents.
    int const block = static_cast<int>(shape.parts.divide(blockIdx.x));
    int const part = static_cast<int>(blockIdx.x) - block * static_cast<int>(shape.parts.divisor);
    int const first_row = block * rows;
    int const row = first_row + lane;
    bool const exists = row < shape.rows;
    T const* const from_row = from + (exists ? shape.row.offset(row, 0) : 0);
    int const words = exists ? words_of_line() : 0;
    // In the same order: first the words that one of the other kernel's warps would have.
    Totals squares;
    std::uint32_t largest = 0;
    T x[together];
    for (int group = 0; group < 1 << shape.log2_warps; ++group) {
      Totals of_group;
#ifdef __CUDACC__
#pragma unroll 4
#endif
      for (int word = group * chunk + own_word; word < words; word += chunk << shape.log2_warps) {
        load<false>(from_row, word * together, x);
        scan(x, of_group, largest);
      }
      CUTE_UNROLL
      for (int range = 0; range < Config::ranges; ++range) squares.sum[range] += of_group.sum[range];
    }
    CUTE_UNROLL
    for (int range = 0; range < Config::ranges; ++range) shared.sums[range][lane][own_word] = squares.sum[range];
    shared.largest[lane][own_word] = largest;
    __syncthreads();  // sums become visible to the CTA
    if (!shape.planes.has_residues()) {
      for (int i = 0; i < chunk; ++i) largest = cute::max(largest, shared.largest[lane][i]);
    }
    int const exponent = exponent_of_row([&](int range, int i) { return shared.sums[range][lane][i]; }, largest);
    if (part == 0 && own_word == 0 && exists) exponents[row] = exponent;
    numeric::RowScale<Real> const scale(exists ? exponent : 0);
    with_kind([&](auto const& split, auto const& sample) {
      using Word = std::decay_t<decltype(sample)>;
      constexpr int bytes = sizeof(Word) / together;
      int const all_words = words_of_line();
      auto* const words_of_planes = reinterpret_cast<Word*>(shared.words);
      auto const place = [&](int plane, int row_of_tile, int word) {
        return (plane * rows + row_of_tile) * chunk + (word ^ row_of_tile);  // swizzled: rows are in different banks
      };
      int const begin = part * shape.words_of_part;
      int const end = cute::min(begin + shape.words_of_part, all_words);
      T next[together] = {};
      if (exists) load<false>(from_row, (begin + own_word) * together, next);
      for (int first = begin; first < end; first += chunk) {
        CUTE_UNROLL
        for (int i = 0; i < together; ++i) x[i] = next[i];
        if (exists) load<false>(from_row, (first + chunk + own_word) * together, next);  // meanwhile
        __syncthreads();  // the words of the chunk before have been read
        split(x, scale, [&](int plane, Word const& w) { words_of_planes[place(plane, lane, own_word)] = w; });
        __syncthreads();  // words become visible to the CTA
        // A warp has a row.
        int const word = threadIdx.x % chunk;
        int const row_of_tile = threadIdx.x / chunk;
        bool const writes = first_row + row_of_tile < shape.rows && first + word < all_words;
        char* const line = to + ((first_row + row_of_tile) * shape.line + (first + word) * together) * bytes;
#ifdef __CUDACC__
#pragma unroll 8
#endif
        for (int plane = 0; plane < shape.planes.planes(); ++plane) {
          Word const w = words_of_planes[place(plane, row_of_tile, word)];
          if (writes) *reinterpret_cast<Word*>(line + plane * shape.plane * bytes) = w;
        }
      }
    });
  }
};

template <class Config>
static __global__ __launch_bounds__(Config::threads, Config::ctas_per_multiprocessor)
void split_planes(CUTE_GRID_CONSTANT SplitShape const shape, typename Config::Number const* from, char* to, int* exponents)
{
  extern __shared__ __align__(16) unsigned char shared_memory[];
  auto& shared = *reinterpret_cast<typename Config::SharedStorage*>(shared_memory);
  Splitter<Config> const splitter{shape, from, to, exponents, shared};
  if (shape.along_k && shape.in_vectors) {
    splitter.template along_k<true>();
  } else if (shape.along_k) {
    splitter.template along_k<false>();
  } else {
    splitter.along_m();
  }
}

}  // namespace cute_py::kernels::cutlass_scheduled
