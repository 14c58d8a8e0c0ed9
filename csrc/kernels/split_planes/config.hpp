#pragma once

#include <cstdint>

#include <cute/tensor.hpp>

#include "kernels/common/mode_map.hpp"
#include "kernels/common/operand.hpp"
#include "numeric/row_scale.hpp"
#include "problem/residues.hpp"

namespace cute_py::kernels {

// What the residues modulo one number are found with.
struct ResidueConstants {
  float modulus;
  float inverse;
  float root;  // of -1, for complex numbers
  double modulus_of_double;
  double inverse_of_double;

  template <class Real>
  CUTE_HOST_DEVICE Real modulus_as() const {
    if constexpr (sizeof(Real) == 8)
      return modulus_of_double;
    else
      return modulus;
  }
  template <class Real>
  CUTE_HOST_DEVICE Real inverse_as() const {
    if constexpr (sizeof(Real) == 8)
      return inverse_of_double;
    else
      return inverse;
  }
};

// How rows of an operand, of M or N and of L, become lines of its planes.
struct SplitShape {
  ModeMap<1> row;  // row -> offset in the operand
  ModeMap<1> k;
  int rows;
  int steps;           // of K
  std::int64_t line;   // elements from a row of a plane to the next
  std::int64_t plane;  // and from a plane to the next
  Planes planes;
  bool conjugate;
  bool along_k;     // adjacent threads read along K, else along the rows
  bool in_vectors;  // of 16 bytes
  Divisor parts;    // CTAs that share rows, where threads go along these
  int words_of_part;
  int log2_warps;  // that share a row along K: groups of OrderOfSquares

  LargestNorm norm;
  ResidueConstants residue[kMostModuli];
};

// Splits numbers of type T. A CTA has some rows with all of their K, which it reads twice: for their exponents, then
// for the planes.
template <class T, Major, Major, Form>
struct SplitPlanes {
  static constexpr bool is_pass = true;
  static constexpr Compute compute = Compute::split;
  using TA = T;
  using TC = T;
  using Number = T;
  static constexpr bool is_complex = numeric::kIsComplex<T>;
  using Real = typename numeric::RealOf<T>;

  static constexpr int ranges = numeric::kRangesOfSquares<Real>;
  static constexpr int threads = 512;
  static constexpr int warps = threads / 32;
  static_assert(warps == OrderOfSquares::kMostGroups);
  static constexpr int together = OrderOfSquares::kStepsOfWord;  // steps of K of a thread: a word of int8
  static constexpr int rows_along_m = 16;
  static constexpr int chunk = 32;  // words of a row at a time, where threads go along rows
  static constexpr int most_planes = (is_complex ? 2 : 1) * kModuliOfReproducible<Real>;

  struct SharedStorage {
    double sums[ranges][warps][32];  // of squares: of a row, or of 32 rows
    std::uint32_t largest[warps][32];
    alignas(16) std::uint32_t words[most_planes * rows_along_m * chunk];
  };

  static constexpr int ctas_per_multiprocessor = 2;
  static constexpr int compute_capability = 80;
  static constexpr DTypeSet results = is_complex          ? types(DType::i8)
                                      : sizeof(Real) == 8 ? types(DType::i8)
                                                          : types(DType::i8, DType::f16, DType::bf16);
  static constexpr int tile[3] = {rows_along_m, 1, chunk * together};
};

}  // namespace cute_py::kernels
