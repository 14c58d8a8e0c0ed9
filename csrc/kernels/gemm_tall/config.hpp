#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/common/operand.hpp"
#include "kernels/gemm_tall/plan.hpp"

namespace cute_py::kernels {

// M's modes, and how a tile of rows is cut out of them: see plan.hpp.
struct TallShape {
  // Its part of a tile, and how CTAs count its tiles. Strides are those of A, and of C, D, bias and residual.
  struct TiledMode {
    Divisor tiles;
    Divisor part;  // elements of a tile
    int extent;
    std::int64_t stride_a;
    std::int64_t stride[4];
    int place;  // stride in a column of sums
  };
  int n;
  int k;
  int rows;  // of a tile
  int rank;
  int tiled;                              // the first modes, which have a part of several elements
  TiledMode mode[kMaxKernelModes];        // by their strides in A, those that are not tiled last
  int by_d[TallLimits::kMostTiledModes];  // the tiled ones by their strides in D
  Divisor column_blocks;
  bool along_n;     // adjacent threads write along n
  bool in_vectors;  // of 16 bytes
};

// Products whose N and K are small: as many columns as a thread has sums of each of its rows. A passes once from global
// memory through registers; D leaves through shared memory, in the order in which it is contiguous.
template <class T, int columns>
struct GemmTall {
  using TA = T;
  using TB = T;
  using TC = cute::conditional_t<(sizeof(T) < 4), float, T>;
  using TE = numeric::EpilogueType<TC>;

  static constexpr bool predicated = true;
  static constexpr bool nested = true;
  static constexpr bool converting = false;
  static constexpr bool fuses = true;
  static constexpr bool conjugates = true;
  static constexpr int max_rows = kAnyExtent;
  static constexpr int max_columns = kAnyExtent;
  using ProblemShape = TallShape;

  using PointerA = T const*;
  using PointerB = T const*;
  using StrideA = NestedStride;
  using StrideB = NestedStride;
  using StrideC = cute::Stride<std::int64_t, std::int64_t>;

  static constexpr TallLimits limits = TallLimits::of_sums(sizeof(TC));
  static constexpr int threads = 256;
  static constexpr int rows_of_thread = limits.rows / threads;
  static constexpr int steps = 4;            // of k that a thread loads at a time, while it multiplies the ones before
  static constexpr int columns_at_once = 8;  // that pass through shared memory together
  using BlkM = cute::Int<limits.rows>;
  using BlkN = cute::Int<columns>;
  using BlkK = cute::_32;
  using CtaTiler = cute::Shape<BlkM, BlkN, BlkK>;

  using SmemLayoutB = cute::Layout<cute::Shape<BlkN, BlkK>>;                                               // (n,k)
  using SmemLayoutSums = cute::Layout<cute::Shape<cute::Int<limits.places>, cute::Int<columns_at_once>>>;  // (place,n)

  // The owners of a tile without modes, eight columns after another: (thread,value) -> element of C
  using OwnersC = cute::Layout<cute::Shape<cute::Int<threads>, cute::Int<rows_of_thread * columns>>>;

  struct SharedStorage {
    alignas(16) TC b[cute::cosize_v<SmemLayoutB>];
    alignas(16) TC sums[cute::cosize_v<SmemLayoutSums>];
    std::int64_t row_of_d[limits.rows];  // offsets of the tile's rows, as they lie in D, and of its columns
    std::int64_t column_of_d[columns];
    std::uint16_t place[limits.rows];  // of a row in a column of sums
    int left[kMaxKernelModes];         // elements of each tiled mode from the tile's first one on
  };

  static constexpr std::int64_t no_row = std::numeric_limits<std::int64_t>::min();  // of rows beyond M
  static constexpr int stages = 1;
  static constexpr int compute_capability = 80;
  static constexpr int ctas_per_multiprocessor = columns <= 8 && !std::is_same_v<TC, double> ? 3 : 2;
  static constexpr int alignment_bytes = sizeof(T);
};

template <class T, Major, Major, Form>
struct GemmTall8 : GemmTall<T, 8> {};
template <class T, Major, Major, Form>
struct GemmTall16 : GemmTall<T, 16> {};

}  // namespace cute_py::kernels
