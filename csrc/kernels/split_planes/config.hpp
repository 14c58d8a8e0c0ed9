#pragma once

#include <cstdint>

#include <cute/tensor.hpp>

#include "kernels/common/aligned_array.hpp"
#include "kernels/common/mode_map.hpp"
#include "kernels/common/operand.hpp"
#include "numeric/row_scale.hpp"
#include "problem/residues.hpp"

namespace cute_py::kernels {

// What the residues modulo one number are found with.
struct ResidueConstants {
  float modulus;
  float inverse;
  float root;       // of -1, for complex numbers
  float of_halves;  // 2^16 modulo it, at most half of it
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
  bool is_cluster;  // are they a cluster?
  int log2_groups;  // of OrderOfSquares

  LargestNorm norm;
  ResidueConstants residue[kMostModuli];
};

// Splits numbers of type T. A CTA reads some rows for their exponents, and keeps the first words of each thread: all of
// them up to K = 8192 of float32 along K, 4096 along rows. What is not kept it reads again for the planes.
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

  // Words of a thread that are in flight at a time, 64 bytes, and that are kept.
  static constexpr int words_in_flight = cute::max(1, 16 / static_cast<int>(sizeof(T)));
  static constexpr int kept_words = sizeof(T) == 16 ? 1 : 2 * words_in_flight;
  static constexpr int most_ctas_of_rows = 8;  // a cluster

  struct SharedStorage {
    AlignedArray<T, together> kept[kept_words][threads];
    double totals[ranges][OrderOfSquares::kMostGroups][rows_along_m];  // of squares: of a group, of a row
    double sums[ranges][rows_along_m][warps];                          // what warps have of a group's
    std::uint32_t largest[warps][rows_along_m];                        // of a row: what groups have of it, or CTAs
    std::uint32_t largest_of_warp[rows_along_m][warps];
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
