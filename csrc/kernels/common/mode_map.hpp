#pragma once

#include <cstdint>

#include <cute/config.hpp>

#include "kernels/common/operand_modes.hpp"
#include "numeric/types.hpp"
#include "problem/entry.hpp"

// Groups of many modes as a kernel sees them. It counts the elements of M, N, K and L with one number each; a ModeMap
// is the CuTe layout that turns this number into an offset, shape:stride with run-time rank, its divisions replaced by
// multiplications.
namespace cute_py::kernels {

// Division of numbers below 2^31 by one of them, as a multiplication: n / d = n * ceil(2^(31+s) / d) >> (31+s) for
// s = ceil(log2 d).
struct Divisor {
  std::uint32_t divisor = 1;
  std::uint32_t multiplier = 1u << 31;
  std::uint32_t shift = 31;

  Divisor() = default;
  explicit Divisor(std::uint32_t d) : divisor(d) {
    std::uint32_t s = 0;
    while ((std::uint64_t{1} << s) < d) ++s;
    shift = 31 + s;
    multiplier = static_cast<std::uint32_t>(((std::uint64_t{1} << shift) + d - 1) / d);
  }

  CUTE_HOST_DEVICE std::uint32_t divide(std::uint32_t n) const {
    return static_cast<std::uint32_t>((std::uint64_t{n} * multiplier) >> shift);
  }
};

// The offsets of the elements of a group in N arrays.
template <int N>
struct ModeMap {
  int rank = 0;
  Divisor extent[kMaxKernelModes];
  std::int64_t stride[N][kMaxKernelModes];

  ModeMap() = default;

  // Requires: modes.rank() <= kMaxKernelModes.
  ModeMap(Modes const& modes, Role const (&roles)[N]) : rank(modes.rank()) {
    for (int i = 0; i < rank; ++i) {
      extent[i] = Divisor(static_cast<std::uint32_t>(modes[i].extent > 0 ? modes[i].extent : 1));
      for (int x = 0; x < N; ++x) stride[x][i] = modes[i].stride[roles[x]];
    }
  }

  struct Offsets {
    std::int64_t in[N];
  };

  // The offset in one of the arrays.
  CUTE_HOST_DEVICE std::int64_t offset(std::uint32_t index, int array) const {
    if (rank == 1) return index * stride[array][0];
    return (*this)(index).in[array];
  }

  CUTE_HOST_DEVICE Offsets operator()(std::uint32_t index) const {
    Offsets offsets{};
    CUTE_NO_UNROLL
    for (int i = 0; i < rank; ++i) {
      // Of the last mode nothing is left to divide by: an index beyond the group goes on along it.
      std::uint32_t const rest = i + 1 < rank ? extent[i].divide(index) : 0;
      std::int64_t const digit = index - rest * extent[i].divisor;
      CUTE_UNROLL
      for (int x = 0; x < N; ++x) offsets.in[x] += digit * stride[x][i];
      index = rest;
    }
    return offsets;
  }
};

// The products of a batch: what blockIdx.z counts. A grid has at most 65535 of them, so a launch starts at `first`.
struct Batch {
  ModeMap<3> operands;  // A, B and D
  ModeMap<4> epilogue;  // C, D, bias and residual
  std::uint32_t first = 0;
};

// An operand of any modes and of any type that converts to T, A (M,K) or B (N,K). It takes the place of a stride.
struct NestedStride {
  ModeMap<1> mn;
  ModeMap<1> k;
  DType type;
  bool conjugate;
  bool k_major;  // the shortest stride is in K

  static NestedStride of(OperandModes const& x) {
    return {ModeMap<1>(x.mn(), {x.role}), ModeMap<1>(x.k(), {x.role}), x.type(), x.conjugate(),
            shortest_stride(x.k(), x.role) < shortest_stride(x.mn(), x.role)};
  }
};

// An operand that a kernel reads along `major`.
template <Major major>
struct RunStride : NestedStride {
  Access access;

  static RunStride of(OperandModes const& x) { return {NestedStride::of(x), access_along(x, major)}; }
};

// A pointer to elements of a run-time type, read as T.
template <class T>
struct ConvertingPointer {
  void const* data;
  DType type;
  bool conjugate;

  using value_type = T;

  CUTE_HOST_DEVICE T operator[](std::int64_t index) const {
    return numeric::conjugate_if(conjugate, numeric::load_as<T>(data, type, index));
  }
  CUTE_HOST_DEVICE T operator*() const { return (*this)[0]; }
  CUTE_HOST_DEVICE ConvertingPointer operator+(std::int64_t elements) const {
    return {static_cast<char const*>(data) + elements * bytes_of(type), type, conjugate};
  }
};

// Offset table of a gather, in shared memory: where the rows of a CTA's tile of an operand begin, and how far the steps
// of k are from there, for some tiles ahead. One copy moves `along_mn` contiguous rows, or `along_k` contiguous steps.
// The entries of the first rows of copies lie side by side; of steps, only the first of each copy has an entry.
template <int tile_mn_, int tile_k_, int along_mn_, int along_k>
struct OffsetTable {
  static constexpr int tile_mn = tile_mn_;
  static constexpr int tile_k = tile_k_;
  static constexpr int along_mn = along_mn_;
  static constexpr int chunk = cute::max(256, 4 * tile_k);  // steps whose offsets are computed together
  static constexpr int step = along_k;                      // from an entry to the next
  char const* rows[tile_mn];                                // of row i at place(i)
  std::int64_t steps[2 * chunk / step];  // in bytes, of step k at k % (2 * chunk) / step; two chunks in turn

  CUTE_HOST_DEVICE static constexpr int place(int row) {
    return row % along_mn * (tile_mn / along_mn) + row / along_mn;
  }
};

struct NoOffsetTable {};

// With such tables, each split of K but the last is a multiple of this number of tiles.
inline constexpr int kTilesPerSplit = 4;

}  // namespace cute_py::kernels
