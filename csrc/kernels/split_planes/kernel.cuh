// Planes (row,k,plane) of an operand (row,k): residues of whole numbers modulo several moduli, or numbers of 16 bits; and
// the exponent of each row
//
// After:     permute, which moves elements as they are; Ozaki scheme II. Overlaps the split of the other factor (PDL)
// Requires:  any strides; K <= 2^17 for residues
// Numerics:  a row is scaled by a power of two. For residues so that whole numbers near it have a norm of at most
//            SplitShape::norm, found from sums of squares that are added in one order (OrderOfSquares), whatever the strides;
//            for numbers of 16 bits so that the largest is from 2^14 to 2^15. A row with infinity or NaN gets zeros, and
//            kNotFinite
// Smem:      an operand's first words of each thread, so that they are read once; sums of squares; words of all planes on their
//            way from rows to lines
// Threads:   along K or along the rows, whichever the operand is contiguous along. Along the rows a cluster shares K: each CTA
//            has some groups of OrderOfSquares, and sums are exchanged through distributed shared memory
#pragma once

#include <cute/tensor.hpp>

#include "kernels/common/aligned_array.hpp"
#include "kernels/common/dependent_launch.cuh"
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

// A whole number of up to 33 bits that is a float: high * 2^16 + low. What is left of it modulo p is that of
// high * (2^16 modulo p) + low, of 23 bits, so that float32 is enough.
struct Halves {
  float high;
  float low;
};
CUTE_DEVICE Halves halves_of(float x) {
  using std::fma;
  constexpr float unit = 0x1p16f;
  float const high = fma(x, 1 / unit, kRounder<float>) - kRounder<float>;
  return {high, fma(-high, unit, x)};
}

// What is left of a whole number modulo one of the moduli, as a float; of a large one a little more than half of it.
CUTE_DEVICE float rest_of(Halves const& x, ResidueConstants const& c) {
  using std::fma;
  return remainder_of(fma(x.high, c.of_halves, x.low), c.modulus, c.inverse);
}
template <class Whole>
CUTE_DEVICE float rest_of(Whole x, ResidueConstants const& c) {
  return as_float(remainder_of<Whole>(x, c.template modulus_as<Whole>(), c.template inverse_as<Whole>()));
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

  static constexpr int kept = Config::kept_words;
  static constexpr int batch = Config::words_in_flight;

  // Four steps of a row; beyond K there is 0. Predicated, not in branches, so that the loads of several words are in flight at a
  // time. `Vectors`: in accesses of 16 bytes, of which each exists as a whole.
  template <bool Vectors>
  CUTE_DEVICE void load(T const* row, int first_k, T (&x)[together]) const {
    if constexpr (Vectors) {
      constexpr int count = 16 / static_cast<int>(sizeof(T));
      CUTE_UNROLL
      for (int i = 0; i < together; i += count) {
        AlignedArray<T, count> vector{};
        if (first_k + i < shape.steps) {
          vector = *reinterpret_cast<AlignedArray<T, count> const*>(row + shape.k.offset(first_k + i, 0));
        }
        CUTE_UNROLL
        for (int v = 0; v < count; ++v) x[i + v] = vector.x[v];
      }
    } else if (shape.k.rank == 1) {
      std::int64_t const step = shape.k.stride[0][0];
      T const* at = row + first_k * step;
      CUTE_UNROLL
      for (int i = 0; i < together; ++i, at += step) x[i] = first_k + i < shape.steps ? *at : T(0);
    } else {
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) x[i] = first_k + i < shape.steps ? row[shape.k.offset(first_k + i, 0)] : T(0);
    }
  }

  // This thread's words in shared memory.
  CUTE_DEVICE auto& kept_word(int number) const { return shared.kept[number][threadIdx.x]; }

  CUTE_DEVICE void keep(int number, T const (&x)[together]) const {
    CUTE_UNROLL
    for (int i = 0; i < together; ++i) kept_word(number).x[i] = x[i];
  }

  // This thread's word of that number, out of shared memory if it is kept, else from the row again.
  template <bool Vectors>
  CUTE_DEVICE void load_again(int number, T const* row, int word, T (&x)[together]) const {
    if (number < kept) {
      auto const of_shared = kept_word(number);
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) x[i] = of_shared.x[i];
    } else {
      load<Vectors>(row, word * together, x);
    }
    if constexpr (Config::is_complex) {
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) x[i] = numeric::conjugate_if(shape.conjugate, x[i]);
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

  // Over some adjacent lanes of a warp, which all get it: of squares the sum as a tree, else the largest number.
  template <int lanes>
  CUTE_DEVICE static double sum_of_lanes(double sum) {
    CUTE_UNROLL
    for (int half = lanes / 2; half > 0; half /= 2) sum += __shfl_sync(0xffffffff, sum, static_cast<int>(threadIdx.x % 32) ^ half);
    return sum;
  }
  template <int lanes>
  CUTE_DEVICE static std::uint32_t largest_of_lanes(std::uint32_t x) {
    CUTE_UNROLL
    for (int half = lanes / 2; half > 0; half /= 2) {
      x = cute::max(x, __shfl_sync(0xffffffff, x, static_cast<int>(threadIdx.x % 32) ^ half));
    }
    return x;
  }

  // The exponent of a row of the CTA, from the sums of its groups, or from the largest numbers of its `parts`.
  CUTE_DEVICE int exponent_of_row(int row, int parts) const {
    if (!shape.planes.has_residues()) {
      std::uint32_t largest = 0;
      for (int part = 0; part < parts; ++part) largest = cute::max(largest, shared.largest[part][row]);
      return exponent_of_largest(largest);
    }
    Totals totals;
    for (int group = 0; group < 1 << shape.log2_groups; ++group) {
      CUTE_UNROLL
      for (int range = 0; range < Config::ranges; ++range) totals.sum[range] += shared.totals[range][group][row];
    }
    return numeric::exponent_of_norm(shape.norm, totals);
  }

  // Residues of four numbers, a word for each plane. `count` moduli, so that their constants need no registers.
  template <class Whole, int count, class Put>
  CUTE_DEVICE void residues(T const (&x)[together], numeric::RowScale<Real> const& scale, Put const& put) const {
    using std::rint;
    auto const whole_of = [&](Real part) {
      if constexpr (std::is_same_v<Whole, Halves>) {
        return halves_of(rint(scale(part)));
      } else {
        return static_cast<Whole>(rint(scale(part)));
      }
    };
    Whole re[together], im[together];
    CUTE_UNROLL
    for (int i = 0; i < together; ++i) {
      if constexpr (Config::is_complex) {
        re[i] = whole_of(x[i].real());
        im[i] = whole_of(x[i].imag());
      } else {
        re[i] = whole_of(x[i]);
      }
    }
    CUTE_UNROLL
    for (int number = 0; number < count; ++number) {
      ResidueConstants const& c = shape.residue[number];
      std::uint32_t bits[2][together];
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) {
        float const a = rest_of(re[i], c);
        if constexpr (Config::is_complex) {
          using std::fma;
          float const b = rest_of(im[i], c);
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
    // Of float32 seven moduli have whole numbers of 27 bits, eight of 33, and all of them 24 that are not 0 at the end.
    if constexpr (sizeof(Real) == 8) {
      if (shape.planes.count == kModuliOfFast<double>) return residues_of(double{}, cute::Int<kModuliOfFast<double>>{});
      residues_of(double{}, cute::Int<kModuliOfReproducible<double>>{});
    } else {
      if (shape.planes.count == kModuliOfFast<float>) return residues_of(float{}, cute::Int<kModuliOfFast<float>>{});
      residues_of(Halves{}, cute::Int<kModuliOfReproducible<float>>{});
    }
  }

  // A line ends with a whole vector: gemm_sm80 reads it in such.
  CUTE_DEVICE int words_of_line() const {
    int const unit = shape.planes.has_residues() ? 16 : together;  // steps
    return (shape.steps + unit - 1) / unit * (unit / together);
  }

  // Some warps share a row, each a group of its words.
  template <bool Vectors>
  CUTE_DEVICE void along_k() const {
    int const groups = 1 << shape.log2_groups;
    int const warp = threadIdx.x / 32;
    int const lane = threadIdx.x % 32;
    int const group = warp & (groups - 1);
    int const row = blockIdx.x * (Config::warps >> shape.log2_groups) + (warp >> shape.log2_groups);
    bool const exists = row < shape.rows;
    T const* const from_row = from + (exists ? shape.row.offset(row, 0) : 0);
    int const words = exists ? words_of_line() : 0;
    int const first_word = group * 32 + lane;
    int const step = groups * 32;
    Totals squares;
    std::uint32_t largest = 0;
    CUTE_NO_UNROLL
    for (int scanned = 0; first_word + scanned * step < words; scanned += batch) {
      T x[batch][together];
      CUTE_UNROLL
      for (int i = 0; i < batch; ++i) load<Vectors>(from_row, (first_word + (scanned + i) * step) * together, x[i]);
      CUTE_UNROLL
      for (int i = 0; i < batch; ++i) {
        scan(x[i], squares, largest);
        if (scanned + i < kept) keep(scanned + i, x[i]);
      }
    }
    int const row_of_cta = warp >> shape.log2_groups;
    if (shape.planes.has_residues()) {
      CUTE_UNROLL
      for (int range = 0; range < Config::ranges; ++range) {
        double const sum = sum_of_lanes<32>(squares.sum[range]);
        if (lane == 0) shared.totals[range][group][row_of_cta] = sum;
      }
    } else {
      largest = largest_of_lanes<32>(largest);
      if (lane == 0) shared.largest[group][row_of_cta] = largest;
    }
    __syncthreads();  // sums become visible to the warps of a row
    int const exponent = exponent_of_row(row_of_cta, groups);
    if (group == 0 && lane == 0 && exists) exponents[row] = exponent;
    numeric::RowScale<Real> const scale(exponent);
    with_kind([&](auto const& split, auto const& sample) {
      using Word = std::decay_t<decltype(sample)>;
      constexpr int bytes = sizeof(Word) / together;
      char* const line = to + row * shape.line * bytes;
      T x[together], next[together];
      if (first_word < words) load_again<Vectors>(0, from_row, first_word, next);
      int number = 0;
      for (int word = first_word; word < words; word += step) {
        CUTE_UNROLL
        for (int i = 0; i < together; ++i) x[i] = next[i];
        load_again<Vectors>(++number, from_row, word + step, next);  // meanwhile
        split(x, scale, [&](int plane, Word const& w) {
          *reinterpret_cast<Word*>(line + (plane * shape.plane + word * together) * bytes) = w;
        });
      }
    });
  }

  // Of the CTAs that share rows, are they a cluster, and does each scan its own words alone?
  CUTE_DEVICE bool is_cluster() const {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    return shape.is_cluster && shape.parts.divisor > 1;
#else
    return false;
#endif
  }

  // What a CTA of the cluster has in the place of this CTA's x.
  template <class X>
  CUTE_DEVICE X& in_cta(int cta, X& x) const {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    if (is_cluster()) return *static_cast<X*>(__cluster_map_shared_rank(&x, static_cast<unsigned>(cta)));
#endif
    return x;
  }

  // A CTA may write to another one's shared memory when both have begun.
  CUTE_DEVICE void say_begun() const {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    if (is_cluster()) cute::cluster_arrive_relaxed();
#endif
  }
  CUTE_DEVICE void wait_until_begun() const {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    if (is_cluster()) cute::cluster_wait();
#endif
  }

  CUTE_DEVICE void sync_ctas() const {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    if (is_cluster()) {
      cute::cluster_sync();
      return;
    }
#endif
    __syncthreads();
  }

  // A thread has words of one row, and words go through shared memory, because they lie along K in a plane.
  CUTE_DEVICE void along_m() const {
    say_begun();
    constexpr int rows = Config::rows_along_m;
    constexpr int chunk = Config::chunk;
    static_assert(chunk == 32 && rows * chunk == Config::threads && rows == Config::warps);
    int const lane = threadIdx.x % rows;
    int const own_word = threadIdx.x / 32 + chunk / 2 * (threadIdx.x / rows % 2);  // of a chunk
    // CTAs that share rows have some groups of words each.
    int const parts = static_cast<int>(shape.parts.divisor);
    int const block = static_cast<int>(shape.parts.divide(blockIdx.x));
    int const part = static_cast<int>(blockIdx.x) - block * parts;
    int const groups = 1 << shape.log2_groups;
    int const own_groups = groups / parts;
    int const first_group = part * own_groups;
    int const first_row = block * rows;
    bool const exists = first_row + lane < shape.rows;
    T const* const from_row = from + (exists ? shape.row.offset(first_row + lane, 0) : 0);
    int const words = words_of_line();
    int const step = groups * chunk;
    int const rounds = (words + step - 1) / step;  // words of a group that a thread has
    bool const scans_all = !is_cluster();
    int const ctas = scans_all ? 1 : parts;
    int const first_scanned = scans_all ? 0 : first_group;
    int const scanned = scans_all ? groups : own_groups;
    // From words of a thread to a row: each 16 threads have the numbers of its warps.
    int const warp = threadIdx.x / 32;
    int const reduced_row = threadIdx.x / rows % rows;
    int const reduced_warp = threadIdx.x % rows;
    bool const reduces = threadIdx.x < rows * Config::warps;
    std::uint32_t largest = 0;
    CUTE_NO_UNROLL
    for (int group = first_scanned; group < first_scanned + scanned; ++group) {
      Totals squares;
      CUTE_NO_UNROLL
      for (int round = 0; round < rounds && exists; round += batch) {
        T x[batch][together];
        CUTE_UNROLL
        for (int i = 0; i < batch; ++i) {
          load<false>(from_row, ((round + i) * step + group * chunk + own_word) * together, x[i]);
        }
        int const number = (group - first_group) * rounds + round;
        CUTE_UNROLL
        for (int i = 0; i < batch; ++i) {
          scan(x[i], squares, largest);
          if (number >= 0 && number + i < kept && round + i < rounds) keep(number + i, x[i]);
        }
      }
      if (group == first_scanned) wait_until_begun();
      if (!shape.planes.has_residues()) continue;
      if (group > first_scanned) {
        __syncthreads();  // the sums of the group before have been read
      }
      CUTE_UNROLL
      for (int range = 0; range < Config::ranges; ++range) {
        double const sum = squares.sum[range] + __shfl_sync(0xffffffff, squares.sum[range], static_cast<int>(threadIdx.x % 32) ^ rows);
        if (threadIdx.x % 32 < rows) shared.sums[range][lane][warp] = sum;
      }
      __syncthreads();  // the sums of the warps become visible
      if (reduces) {
        CUTE_UNROLL
        for (int range = 0; range < Config::ranges; ++range) {
          double const sum = sum_of_lanes<rows>(shared.sums[range][reduced_row][reduced_warp]);
          if (reduced_warp < ctas) in_cta(reduced_warp, shared).totals[range][group][reduced_row] = sum;
        }
      }
    }
    if (!shape.planes.has_residues()) {
      largest = cute::max(largest, __shfl_sync(0xffffffff, largest, static_cast<int>(threadIdx.x % 32) ^ rows));
      if (threadIdx.x % 32 < rows) shared.largest_of_warp[lane][warp] = largest;
      __syncthreads();  // the numbers of the warps become visible
      if (reduces) {
        std::uint32_t const of_row = largest_of_lanes<rows>(shared.largest_of_warp[reduced_row][reduced_warp]);
        if (reduced_warp < ctas) in_cta(reduced_warp, shared).largest[scans_all ? 0 : part][reduced_row] = of_row;
      }
    }
    sync_ctas();  // the numbers of all CTAs of these rows become visible, and no CTA writes to another after this
    int const exponent = exponent_of_row(lane, ctas);
    if (part == 0 && threadIdx.x < rows && exists) exponents[first_row + lane] = exponent;
    numeric::RowScale<Real> const scale(exists ? exponent : 0);
    with_kind([&](auto const& split, auto const& sample) {
      using Word = std::decay_t<decltype(sample)>;
      constexpr int bytes = sizeof(Word) / together;
      auto* const words_of_planes = reinterpret_cast<Word*>(shared.words);
      auto const place = [&](int plane, int row_of_tile, int word) {
        return (plane * rows + row_of_tile) * chunk + (word ^ row_of_tile);  // swizzled: rows are in different banks
      };
      // Chunks of words, of one group after the other.
      auto const first_of = [&](int number) {
        int const group = number / rounds;
        return (number - group * rounds) * step + (first_group + group) * chunk;
      };
      T next[together] = {};
      if (exists) load_again<false>(0, from_row, first_of(0) + own_word, next);
      CUTE_NO_UNROLL
      for (int number = 0; number < own_groups * rounds; ++number) {
        int const first = first_of(number);
        T x[together];
        CUTE_UNROLL
        for (int i = 0; i < together; ++i) x[i] = next[i];
        bool const has_next = exists && number + 1 < own_groups * rounds;
        if (has_next) load_again<false>(number + 1, from_row, first_of(number + 1) + own_word, next);  // meanwhile
        if (first >= words) continue;  // so for all threads
        __syncthreads();  // the words of the chunk before have been read
        split(x, scale, [&](int plane, Word const& w) { words_of_planes[place(plane, lane, own_word)] = w; });
        __syncthreads();  // words become visible to the CTA
        // A warp has a row.
        int const word = threadIdx.x % chunk;
        int const row_of_tile = threadIdx.x / chunk;
        bool const writes = first_row + row_of_tile < shape.rows && first + word < words;
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
void split_planes(CUTE_GRID_CONSTANT SplitShape const shape, typename Config::Number const* from, char* to, int* exponents,
                  bool overlaps_previous)
{
  // The split of the other factor may overlap this one, which may overlap no other kernel.
  if (!overlaps_previous) wait_for_previous();
  launch_dependents();
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
  wait_for_previous();  // a kernel that waits for this one waits for both splits
}

}  // namespace cute_py::kernels::cutlass_scheduled
