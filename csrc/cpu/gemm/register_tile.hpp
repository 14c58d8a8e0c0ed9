#pragma once

#include <cstdint>

#include "base/isa.hpp"

namespace cute_py::cpu {

// Register blocking: the MR x NR part of the result that the innermost loops keep in registers, as in BLIS. MR is
// `mr_vectors` vectors of rows, NR columns; complex numbers take two sums each and have half the columns.
//
//               s      d     c     z    i8      registers for sums
//   baseline   8x4    4x4   8x2   4x2   8x4      8 of 16
//   avx2      16x6    8x6  16x3   8x3  16x6     12 of 16
//   avx512    48x8   24x8  48x4  24x4  48x8     24 of 32
struct RegisterTile {
  int vector_bytes;
  int mr_vectors;
  int nr;
  int nr_along_k;  // the most columns with which rows along k are transposed on their way into registers
  int nr_thin;     // of a tile of up to two vectors of rows

  constexpr int lanes(int element_bytes) const { return vector_bytes / element_bytes; }
  constexpr int mr(int element_bytes) const { return lanes(element_bytes) * mr_vectors; }
  constexpr int nr_complex() const { return nr / 2; }

  // MR in vectors, of factors that are not packed: the fewer columns, the more, in as many registers as leave some for
  // the factors.
  constexpr int mr_vectors_of(int columns) const {
    int const most = vector_bytes == 64 ? 24 : vector_bytes == 32 ? 12 : 8;
    return 8 * columns <= most ? 8 : 4 * columns <= most ? 4 : 3 * columns <= most ? 3 : 2;
  }

  // The same of rows along k: as few as have something else to do while each waits for its last sum, and are not more
  // rows than L1 can have on their way.
  constexpr int mr_vectors_along_k(std::int64_t columns) const {
    return columns <= 2 && vector_bytes < 64 ? kMostVectorsAlongK : 2;
  }
  static constexpr int kMostVectorsAlongK = 4;
};

constexpr RegisterTile register_tile(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return {.vector_bytes = 16, .mr_vectors = 2, .nr = 4, .nr_along_k = 2, .nr_thin = 4};
    case Isa::avx2:
      return {.vector_bytes = 32, .mr_vectors = 2, .nr = 6, .nr_along_k = 4, .nr_thin = 6};
    case Isa::avx512:
    case Isa::avx512_vnni:
      return {.vector_bytes = 64, .mr_vectors = 3, .nr = 8, .nr_along_k = 6, .nr_thin = 14};
  }
  return {};
}

// The most lanes of a vector, rows of a register tile, and columns.
inline constexpr int kMostLanes = 16;
inline constexpr std::int64_t kMostMr = 48;
inline constexpr std::int64_t kMostNr = 14;

}  // namespace cute_py::cpu
