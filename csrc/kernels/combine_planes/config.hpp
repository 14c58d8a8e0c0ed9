#pragma once

#include <cstdint>

#include <cute/tensor.hpp>

#include "kernels/common/mode_map.hpp"
#include "kernels/common/operand.hpp"
#include "problem/residues.hpp"

namespace cute_py::kernels {

// An operand of a product, where an element of the result is computed from it as it is.
struct ExactOperand {
  ModeMap<1> mn;
  ModeMap<1> k;
  bool conjugate;
};

// Where residues are, and which elements of the result a CTA has.
struct CombineShape {
  ExactOperand a;
  ExactOperand b;
  Divisor rows;    // of M: rows of L follow one another
  Divisor blocks;  // of columns, which a CTA has
  int columns_of_cta;
  int all_rows;
  int columns;
  int steps;
  std::int64_t line;   // elements from a row of residues to the next
  std::int64_t plane;  // and from a plane to the next
  Planes planes;
  bool in_vectors;  // results are written in vectors of 16 bytes
  Reconstruction reconstruction;
};

// Of results of type T. A thread has as many columns of a row as make 16 bytes.
template <class T, Major, Major, Form>
struct CombinePlanes {
  static constexpr bool is_pass = true;
  static constexpr Compute compute = Compute::combine;
  using TA = T;
  using TC = T;
  using TE = T;
  using Number = T;
  static constexpr bool is_complex = numeric::kIsComplex<T>;
  using Real = numeric::RealOf<T>;

  static constexpr int threads = 256;
  static constexpr int columns = 16 / static_cast<int>(sizeof(T));
  static constexpr int rows_of_cta = threads / 32;
  static constexpr int columns_at_once = 32 * columns;
  static constexpr int most_columns = 4096;  // of a CTA, where there are no residues: most have nothing to do
  static constexpr int limbs = sizeof(Real) == 8 ? 3 : 2;

  struct SharedStorage {
    int found[threads / 32];  // rows or columns that are not finite
  };

  static constexpr int ctas_per_multiprocessor = 3;
  static constexpr int compute_capability = 80;
  static constexpr DTypeSet results = numeric::kWritableFrom<T>;
  static constexpr int tile[3] = {rows_of_cta, columns_at_once, 1};
};

}  // namespace cute_py::kernels
