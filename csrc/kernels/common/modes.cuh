#pragma once

#include <limits>
#include <type_traits>

#include <cute/tensor.hpp>

#include "kernels/common/mode_map.hpp"
#include "kernels/common/namespace.hpp"

// Operands of any modes in a kernel.
namespace cute_py::kernels {

// (mn,k) -> offset of an operand of any modes.
struct NestedOffset {
  NestedStride const& stride;

  template <class Coord>
  CUTE_HOST_DEVICE std::int64_t operator()(Coord const& coord) const
  {
    return stride.mn(cute::get<0>(coord)).in[0] + stride.k(cute::get<1>(coord)).in[0];
  }
};

// The tensor (MN,K) of an operand in global memory: with a CuTe stride the usual one, with a NestedStride one whose
// layout is the function of the coordinate that its modes make.
template <class Pointer, class Shape, class Stride>
CUTE_DEVICE auto operand_tensor(Pointer const& pointer, Shape const& shape, Stride const& stride)
{
  if constexpr (std::is_same_v<Stride, NestedStride>) {
    auto const origin = cute::make_arithmetic_tuple(cute::Int<0>{}, cute::Int<0>{});
    return cute::make_tensor(pointer,
                             cute::make_composed_layout(NestedOffset{stride}, origin, cute::make_identity_layout(shape)));
  } else {
    return cute::make_tensor(cute::make_gmem_ptr(pointer), shape, stride);
  }
}

// What a kernel that gathers partitions: the tensor (MN,K) of an operand, or, of an operand of any modes, the coordinates of
// its elements. GatheredRows finds where they are.
template <class Pointer, class Shape, class Stride>
CUTE_DEVICE auto operand_or_coordinates(Pointer const& pointer, Shape const& shape, Stride const& stride)
{
  if constexpr (std::is_same_v<Stride, NestedStride>) {
    return cute::make_identity_tensor(shape);
  } else {
    return operand_tensor(pointer, shape, stride);
  }
}

// Do a shape and strides have the same modes?
template <class Shape, class Stride>
CUTE_HOST_DEVICE constexpr auto fits(Shape const& shape, Stride const& stride)
{
  if constexpr (std::is_same_v<Stride, NestedStride>) {
    return cute::true_type{};
  } else {
    return cute::congruent(shape, stride);
  }
}

// The thread whose part of a copy this thread does. Where there are many modes, Threads of them copy as (Threads/8,8):(8,1),
// neighbours along K; where memory runs along the first mode, they are exchanged for (Threads/8,8):(1,Threads/8).
template <int Threads, class Stride>
CUTE_DEVICE int copying_thread(Stride const& stride, int thread)
{
  if constexpr (std::is_same_v<Stride, NestedStride>) {
    constexpr int rows = Threads / 8;
    return stride.k_major ? thread : thread / rows + thread % rows * 8;
  } else {
    return thread;
  }
}

// Offsets of the rows and of the steps of k of a CTA's tiles, in shared memory, where each is found by one thread for
// all. What does not exist has the offset kNowhere. Steps are found kTilesAhead tiles at a time, for two such chunks in
// turn, so that a chunk is written while the other is read.
inline constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::min();

template <class Config>
struct OffsetWriter {
  static constexpr int tile_m = cute::size<0>(typename Config::CtaTiler{});
  static constexpr int tile_n = cute::size<1>(typename Config::CtaTiler{});
  static constexpr int tile_k = cute::size<2>(typename Config::CtaTiler{});
  static constexpr int chunk = Config::OffsetTables::chunk;
  static constexpr int tiles = chunk / tile_k;
  static_assert(tiles >= Config::stages - 1, "the prologue reads the first chunk only");

  typename Config::OffsetTables& tables;
  NestedStride const& a;
  NestedStride const& b;
  int extent_k;

  // The rows of the CTA's tiles of A and B, and two chunks of steps, of which the first begins with first_tile. Barriers
  // make them visible. Requires: a chunk begins there.
  CUTE_DEVICE void begin(int first_m, int extent_m, int first_n, int extent_n, int first_tile) const
  {
    for (int i = threadIdx.x; i < tile_m + tile_n; i += Config::threads) {
      if (i < tile_m) {
        tables.rows_a[i] = first_m + i < extent_m ? a.mn(first_m + i).in[0] : kNowhere;
      } else {
        int const row = first_n + i - tile_m;
        tables.rows_b[i - tile_m] = row < extent_n ? b.mn(row).in[0] : kNowhere;
      }
    }
    write(first_tile / tiles);
    write(first_tile / tiles + 1);
  }

  // Before tile k_tile is loaded in the main loop: where a chunk begins, all threads have read the one before it, and its
  // place is filled with the one after.
  CUTE_DEVICE void advance(int k_tile) const
  {
    if (k_tile % tiles == 0) {
      write(k_tile / tiles + 1);
    }
  }

 private:
  CUTE_DEVICE void write(int number) const
  {
    for (int i = threadIdx.x; i < 2 * chunk; i += Config::threads) {
      int const at = i < chunk ? i : i - chunk;
      int const step = number * chunk + at;
      auto const& modes = i < chunk ? a.k : b.k;
      auto& steps = i < chunk ? tables.steps_a : tables.steps_b;
      steps[number % 2][at] = step < extent_k ? modes(step).in[0] : kNowhere;
    }
  }
};

// The rows that a thread copies of an operand of any modes.
template <int Rows>
struct GatheredRows {
  std::int64_t offset[Rows];

  // coords (M',K') holds the coordinates of what the thread copies, of which the tile's first row is `first`.
  template <class Coords>
  CUTE_DEVICE GatheredRows(std::int64_t const* rows, Coords const& coords, int first)
  {
    CUTE_UNROLL
    for (int i = 0; i < Rows; ++i) offset[i] = rows[cute::get<0>(coords(i, 0)) - first];
  }

  // Copies the elements of a tile, element by element, with an instruction that fills with zeros what does not exist.
  // dst (M',K').
  template <class ZeroFill, int chunk, class T, class Coords, class Dst>
  CUTE_DEVICE void copy(T const* data, std::int64_t const (&steps)[2][chunk], Coords const& coords, Dst&& dst) const
  {
    CUTE_UNROLL
    for (int j = 0; j < cute::size<1>(coords); ++j) {
      auto const step = static_cast<unsigned>(cute::get<1>(coords(0, j)));
      std::int64_t const along_k = steps[step / chunk % 2][step % chunk];
      CUTE_UNROLL
      for (int i = 0; i < Rows; ++i) {
        bool const exists = along_k != kNowhere && offset[i] != kNowhere;
        ZeroFill::copy(data[exists ? offset[i] + along_k : 0], dst(i, j), exists);
      }
    }
  }
};

template <class Coords>
CUTE_DEVICE auto gathered_rows(std::int64_t const* rows, Coords const& coords, int first)
{
  return GatheredRows<decltype(cute::size<0>(coords))::value>(rows, coords, first);
}

}  // namespace cute_py::kernels
