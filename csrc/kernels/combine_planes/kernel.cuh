// D(m,n,l) = epilogue(the number that has these residues, scaled back), and D(m,n,l) as it is of rows and columns with
// infinity or NaN
//
// After:     gemm_sm90, which leaves residues of sums of products, modulo several numbers (Ozaki scheme II)
// Requires:  residues (n,m,l,plane), n contiguous; moduli whose product is more than twice every sum
// Numerics:  the sum is found by the Chinese remainder theorem, in fractions of the moduli's product of 62 bits, or of
//            92 for float64; whole numbers come out as such. It is rounded to float64, and from there to T. Rows and
//            columns with infinity or NaN are multiplied as they are, k ascending. Where no residues are given, these
//            rows and columns are all that is computed.
// Smem:      a number for each warp
// Threads:   a warp has a row, each thread 16 bytes of it
#pragma once

#include <cute/tensor.hpp>

#include "kernels/combine_planes/config.hpp"
#include "kernels/common/aligned_array.hpp"
#include "kernels/common/dependent_launch.cuh"
#include "kernels/common/epilogue.cuh"
#include "kernels/common/namespace.hpp"
#include "numeric/power_of_2.hpp"

namespace cute_py::kernels::cutlass_scheduled {

// An int8 of a word.
CUTE_DEVICE int byte_of(std::uint32_t word, int i) {
#if defined(__CUDA_ARCH__)
  int number;  // the byte, and its sign three times, which __byte_perm does not know
  asm("prmt.b32 %0, %1, 0, %2;" : "=r"(number) : "r"(word), "r"(0x8880 | i * 0x1111));
  return number;
#else
  return static_cast<std::int8_t>(word >> (8 * i));
#endif
}

// A sum of fractions of P, times small whole numbers: the first 32 bits, modulo 1, and limbs that do not carry.
template <int limbs>
struct FractionSum {
  std::uint32_t top = 0;
  std::int64_t limb[limbs - 1] = {};

  CUTE_DEVICE void add(int residue, std::int32_t const (&fraction)[kMostLimbs]) {
    top += static_cast<std::uint32_t>(fraction[limbs - 1]) * static_cast<std::uint32_t>(residue);
    CUTE_UNROLL
    for (int i = 0; i + 1 < limbs; ++i) limb[i] += static_cast<std::int64_t>(fraction[i]) * residue;
  }

  // What is left of it modulo 1, from -1/2 to 1/2, times P.
  CUTE_DEVICE double number(Reconstruction const& r) {
    using std::fma;
    constexpr std::int64_t mask = (std::int64_t{1} << kLimbBits) - 1;
    if constexpr (limbs == 3) {
      limb[1] += limb[0] >> kLimbBits;
      limb[0] &= mask;
    }
    auto const carry = static_cast<std::uint32_t>(limb[limbs - 2] >> kLimbBits);
    std::int64_t const fraction =
        (static_cast<std::int64_t>(static_cast<std::int32_t>(top + carry)) << kLimbBits) + (limb[limbs - 2] & mask);
    auto const high = static_cast<double>(fraction);
    if constexpr (limbs == 2) {
      return high * r.high;
    } else {
      // In twice the precision, so that whole numbers come out as such.
      constexpr double scale = std::int64_t{1} << kLimbBits;
      double const rest = static_cast<double>(fraction - static_cast<std::int64_t>(high)) * scale + static_cast<double>(limb[0]);
      double const first = high * scale;
      double const x = first * r.high;
      return x + (fma(first, r.high, -x) + fma(first, r.low, rest * r.high));
    }
  }
};

template <class Config>
struct Combiner {
  using T = typename Config::Number;
  using Real = typename Config::Real;
  static constexpr int columns = Config::columns;
  using Word = cute::uint_bit_t<8 * columns>;

  CombineShape const& shape;
  T const* a;
  T const* b;
  std::int8_t const* residues;
  int const* exponents_a;
  int const* exponents_b;
  typename Config::SharedStorage& shared;

  // An element of the product by itself.
  CUTE_DEVICE T exact(std::int64_t at_a, std::int64_t at_b) const {
    using std::fma;
    auto const number = [](T x, bool conjugate) { return numeric::conjugate_if(conjugate, x); };
    T sum(0);
    CUTE_NO_UNROLL
    for (int k = 0; k < shape.steps; ++k) {
      T const x = number(a[at_a + shape.a.k.offset(k, 0)], shape.a.conjugate);
      T const y = number(b[at_b + shape.b.k.offset(k, 0)], shape.b.conjugate);
      if constexpr (Config::is_complex) {
        sum = T(fma(-x.imag(), y.imag(), fma(x.real(), y.real(), sum.real())),
                fma(x.imag(), y.real(), fma(x.real(), y.imag(), sum.imag())));
      } else {
        sum = fma(x, y, sum);
      }
    }
    return sum;
  }

  // Of a row's columns, as many as a thread has.
  template <int count>
  CUTE_DEVICE void reconstruct(std::int64_t at, int exponent, int const (&of_column)[columns], T (&sum)[columns]) const {
    constexpr int parts = Config::is_complex ? 2 : 1;
    FractionSum<Config::limbs> sums[columns][parts];
    auto const* from = residues + at;
    CUTE_UNROLL
    for (int i = 0; i < count; ++i) {
      auto const& modulus = shape.reconstruction.modulus[i];
      std::uint32_t const u = *reinterpret_cast<Word const*>(from);
      from += shape.plane;
      if constexpr (Config::is_complex) {
        std::uint32_t const v = *reinterpret_cast<Word const*>(from);
        from += shape.plane;
        CUTE_UNROLL
        for (int j = 0; j < columns; ++j) {
          int const x = byte_of(u, j);
          int const y = byte_of(v, j);
          sums[j][0].add(x + y, modulus.first);
          sums[j][1].add(x - y, modulus.second);
        }
      } else {
        CUTE_UNROLL
        for (int j = 0; j < columns; ++j) sums[j][0].add(byte_of(u, j), modulus.first);
      }
    }
    CUTE_UNROLL
    for (int j = 0; j < columns; ++j) {
      int const scale = -(exponent + of_column[j]);
      auto const part = [&](int x) {
        return static_cast<Real>(numeric::times_power_of_2(sums[j][x].number(shape.reconstruction), scale));
      };
      if constexpr (Config::is_complex) {
        sum[j] = T(part(0), part(1));
      } else {
        sum[j] = part(0);
      }
    }
  }

  // Are all rows and columns of this CTA finite?
  CUTE_DEVICE bool are_finite(int first_row, int first) const {
    int const thread = threadIdx.x;
    int const last_row = cute::min(first_row + Config::rows_of_cta, shape.all_rows) - 1;
    int const count = cute::min(shape.columns_of_cta, shape.columns - first);
    int found = exponents_a[cute::min(first_row + thread % Config::rows_of_cta, last_row)] == kNotFinite;
    // Of all products of a batch whose rows these are: mostly one.
    for (std::uint32_t l = shape.rows.divide(first_row); l <= shape.rows.divide(last_row); ++l) {
      int const* const columns_of_l = exponents_b + static_cast<std::int64_t>(l) * shape.columns + first;
#ifdef __CUDACC__
#pragma unroll 4
#endif
      for (int n = thread; n < count; n += Config::threads) found |= columns_of_l[n] == kNotFinite;
    }
    CUTE_UNROLL
    for (int half = 16; half > 0; half /= 2) found |= __shfl_sync(0xffffffff, found, thread % 32 ^ half);
    if (thread % 32 == 0) shared.found[thread / 32] = found;
    __syncthreads();  // what each warp found becomes visible to all
    CUTE_UNROLL
    for (int warp = 0; warp < Config::threads / 32; ++warp) found |= shared.found[warp];
    return found == 0;
  }

  CUTE_DEVICE void operator()(Epilogue<T> const& epilogue, Batch const& batch) const {
    std::uint32_t const block = shape.blocks.divide(blockIdx.x);
    int const first_row = static_cast<int>(block) * Config::rows_of_cta;
    int const row = first_row + static_cast<int>(threadIdx.x) / 32;
    int const first = static_cast<int>(blockIdx.x - block * shape.blocks.divisor) * shape.columns_of_cta;
    if (!shape.planes.has_residues() && are_finite(first_row, first)) return;  // they have been written
    if (row >= shape.all_rows) return;
    std::uint32_t const l = shape.rows.divide(row);
    int const exponent = exponents_a[row];
    int const last = cute::min(first + shape.columns_of_cta, shape.columns);
#ifdef __CUDACC__
#pragma unroll 2
#endif
    for (int n = first + static_cast<int>(threadIdx.x) % 32 * columns; n < last; n += Config::columns_at_once) {
      int of_column[columns];
      bool is_finite = exponent != kNotFinite;
      CUTE_UNROLL
      for (int j = 0; j < columns; ++j) {
        of_column[j] = n + j < shape.columns ? exponents_b[static_cast<std::int64_t>(l) * shape.columns + n + j] : 0;
        is_finite = is_finite && of_column[j] != kNotFinite;
      }
      if (is_finite && !shape.planes.has_residues()) continue;  // it has been written
      write(epilogue, batch, row, n, l, exponent, of_column, is_finite);
    }
  }

  CUTE_DEVICE void write(Epilogue<T> const& epilogue, Batch const& batch, int row, int first, std::uint32_t l, int exponent,
                         int const (&of_column)[columns], bool is_finite) const {
    bool const has_residues = shape.planes.has_residues();
    int const m = row - static_cast<int>(l * shape.rows.divisor);
    T sum[columns];
    if (has_residues) {
      auto const at = row * shape.line + first;
      if (shape.planes.count == kModuliOfFast<Real>) {
        reconstruct<kModuliOfFast<Real>>(at, exponent, of_column, sum);
      } else {
        reconstruct<kModuliOfReproducible<Real>>(at, exponent, of_column, sum);
      }
    }
    EpilogueOf<T> const product(epilogue, batch, l);
    auto const at_m = epilogue.m(m);
    if (shape.in_vectors && is_finite) {
      AlignedArray<T, columns> vector;
      CUTE_UNROLL
      for (int j = 0; j < columns; ++j) vector.x[j] = numeric::times<T>(epilogue.alpha, sum[j]);
      auto* const to = static_cast<T*>(product.data[kEpilogueD]) + at_m.in[kEpilogueD] + epilogue.n.offset(first, kEpilogueD);
      *reinterpret_cast<AlignedArray<T, columns>*>(to) = vector;
      return;
    }
    std::int64_t at_a = 0, at_b = 0;
    if (!is_finite) {
      auto const operands = batch.operands(l);
      at_a = operands.in[0] + shape.a.mn.offset(m, 0);
      at_b = operands.in[1];
    }
    CUTE_UNROLL
    for (int j = 0; j < columns; ++j) {
      int const n = first + j;
      if (n >= shape.columns) continue;
      if (exponent == kNotFinite || of_column[j] == kNotFinite) {
        sum[j] = exact(at_a, at_b + shape.b.mn.offset(n, 0));
      } else if (!has_residues) {
        continue;
      }
      product.finish(sum[j], at_m, epilogue.n(n));
    }
  }
};

template <class Config>
static __global__ __launch_bounds__(Config::threads, Config::ctas_per_multiprocessor)
void combine_planes(CUTE_GRID_CONSTANT CombineShape const shape, typename Config::Number const* a,
                    typename Config::Number const* b, std::int8_t const* residues, int const* exponents_a,
                    int const* exponents_b, CUTE_GRID_CONSTANT Epilogue<typename Config::Number> const epilogue,
                    CUTE_GRID_CONSTANT Batch const batch)
{
  extern __shared__ __align__(16) unsigned char shared_memory[];
  auto& shared = *reinterpret_cast<typename Config::SharedStorage*>(shared_memory);
  launch_dependents();
  wait_for_previous();
  Combiner<Config>{shape, a, b, residues, exponents_a, exponents_b, shared}(epilogue, batch);
}

}  // namespace cute_py::kernels::cutlass_scheduled
