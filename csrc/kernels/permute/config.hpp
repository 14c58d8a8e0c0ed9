#pragma once

#include <cstdint>

#include <cute/numeric/int.hpp>

#include "kernels/common/mode_map.hpp"
#include "kernels/common/operand.hpp"
#include "kernels/permute/plan.hpp"

namespace cute_py::kernels {

// An element of `bytes` bytes, of any type.
template <int bytes_>
struct Moved {
  static constexpr int bytes = bytes_;
};

// How a CTA finds its tile and goes through it. Offsets are in elements as they are moved.
struct PermuteShape {
  struct TiledMode {
    Divisor tiles;
    std::uint32_t tile;
    std::uint32_t last;  // where the last tile begins: none goes beyond the end, but they may overlap
    std::int64_t stride_a;
    std::int64_t stride_d;
  };
  int rank;
  TiledMode mode[kMaxKernelModes + 1];

  // A way through a tile: lines that are contiguous in one array, one below the other. A thread moves a word of a line;
  // `block` threads go on along a line, the next ones, for `block_height` lines, below.
  struct Way {
    ModeMap<2> along;   // element of a line -> offset in the array, place in shared memory
    ModeMap<2> across;  // line -> the same
    Divisor block;
    Divisor blocks;    // along a line
    int block_height;  // a power of two
    int height;        // lines that all threads move at a time
    int lines;
    int line;  // elements
    int word_bytes;
    int window_bytes;
    int step;  // in shared memory, from one element of a line to the next; 0 if they differ
  };
  Way a;
  Way d;
  std::int64_t first_of_a;  // the lowest element that there is, and past the highest
  std::int64_t last_of_a;
  bool in_squares;
  bool is_direct;  // both ways are one: nothing has to change its order
};

// Copies of elements of a width. A tile is read along whatever is contiguous in A and written along whatever is
// contiguous in D, with shared memory in between; of which modes it is, is known when there are strides: see plan.hpp.
template <class T, Major, Major, Form>
struct Permute {
  static constexpr bool copies = true;
  static constexpr int bytes = T::bytes;
  using Tile = PermuteTile<bytes>;
  using Element = cute::uint_bit_t<8 * bytes>;
  static constexpr int threads = Tile::threads;
  static constexpr int in_four = bytes < 4 ? 4 / bytes : 1;  // elements in four bytes

  struct Line {
    std::int64_t offset;
    int place;
  };
  struct SharedStorage {
    alignas(16) Element tile[Tile::places];
    Line lines_a[Tile::most_lines];
    Line lines_d[Tile::most_lines];
    std::uint16_t places[bytes < 4 ? Tile::longest_line : 1];  // of the elements of a line of D, if it moves in windows
  };

  using TA = Element;
  static constexpr int ctas_per_multiprocessor = bytes < 4 ? 4 : 6;
  static constexpr int compute_capability = 80;
};

}  // namespace cute_py::kernels
