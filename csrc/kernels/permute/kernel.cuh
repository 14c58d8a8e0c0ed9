// D(i,j,...) = A(i,j,...), bit by bit, whatever strides both have
//
// A CTA copies a tile of some of the modes: it reads lines that are contiguous in A, and writes lines that are contiguous
// in D, with shared memory in between where these are not the same.
//
// Requires:  D lies apart from A, and no two elements of D in one place. Tiles that overlap write the same twice
// Smem:      a tile, and where its lines are
// Threads:   Config::threads
#pragma once

#include <cute/tensor.hpp>

#include "kernels/common/dependent_launch.cuh"
#include "kernels/common/namespace.hpp"
#include "kernels/permute/config.hpp"

namespace cute_py::kernels::cutlass_scheduled {

// Where the lines of a way are, for all threads.
template <int threads, class Line>
CUTE_DEVICE void find_lines(PermuteShape::Way const& way, Line* lines) {
  for (int i = threadIdx.x; i < way.lines; i += threads) {
    auto const at = way.across(i);
    lines[i] = {at.in[0], static_cast<int>(at.in[1])};
  }
}

// A thread's place among those that move a tile: which word of a line, and which line at first; none if there is no work
// for it.
struct Place {
  int word;
  int line;

  CUTE_DEVICE explicit Place(PermuteShape::Way const& way) {
    int const below = way.block.divide(threadIdx.x);
    int const next = below / way.block_height;
    int const last = way.blocks.divide(next);
    word = threadIdx.x - below * way.block.divisor + (next - last * way.blocks.divisor) * way.block.divisor;
    line = below % way.block_height + last * way.block_height;
    if (line >= way.height) line = way.lines;
  }
};

// Calls work(Int<bytes of a word>).
template <int bytes, class Work>
CUTE_DEVICE void with_word(int word_bytes, Work const& work) {
  if (word_bytes == 16) return work(cute::Int<16>{});
  if constexpr (bytes <= 8) {
    if (word_bytes == 8) return work(cute::Int<8>{});
  }
  if constexpr (bytes <= 4) {
    if (word_bytes == 4) return work(cute::Int<4>{});
  }
  if constexpr (bytes < 4) work(cute::Int<bytes>{});
}

// `to` is where the tile's first element is to be.
template <class Config, int word_bytes>
CUTE_DEVICE void read_tile(PermuteShape::Way const& way, typename Config::SharedStorage const& shared,
                           typename Config::Element const* from, typename Config::Element* to) {
  using namespace cute;
  using Word = uint_bit_t<8 * word_bytes>;
  Place const place(way);
  auto const at = way.along(place.word * (word_bytes / Config::bytes));
  from += at.in[0];
  to += at.in[1];
  if constexpr (word_bytes >= 4) {
    using Copy =
        conditional_t<word_bytes == 16, SM80_CP_ASYNC_CACHEGLOBAL<Word>, SM80_CP_ASYNC_CACHEALWAYS<Word>>;
    for (int line = place.line; line < way.lines; line += way.height) {
      auto const where = shared.lines_a[line];
      Copy::copy(*reinterpret_cast<Word const*>(from + where.offset), *reinterpret_cast<Word*>(to + where.place));
    }
    cp_async_fence();
    cp_async_wait<0>();
  } else {
    constexpr int at_once = 8;
    for (int first = place.line; first < way.lines; first += at_once * way.height) {
      Word word[at_once];
      CUTE_UNROLL
      for (int i = 0; i < at_once; ++i) {
        int const line = first + i * way.height;
        if (line < way.lines) word[i] = from[shared.lines_a[line].offset];
      }
      CUTE_UNROLL
      for (int i = 0; i < at_once; ++i) {
        int const line = first + i * way.height;
        if (line < way.lines) to[shared.lines_a[line].place] = word[i];
      }
    }
  }
}

// Elements from the last address that is aligned to `elements` of them to this one.
template <int elements, class Element>
CUTE_DEVICE int past(Element const* at) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(at) / sizeof(Element) % elements);
}

// Reads lines that begin anywhere, in aligned words: with the elements beside a line, if they belong to A.
template <class Config, int window_bytes>
CUTE_DEVICE void read_windows(PermuteShape::Way const& way, typename Config::SharedStorage const& shared,
                              typename Config::Element const* from, typename Config::Element* to,
                              typename Config::Element const* first_of_a, typename Config::Element const* last_of_a) {
  using namespace cute;
  using Window = uint_bit_t<8 * window_bytes>;
  using Copy =
      conditional_t<window_bytes == 16, SM80_CP_ASYNC_CACHEGLOBAL<Window>, SM80_CP_ASYNC_CACHEALWAYS<Window>>;
  constexpr int window = window_bytes / Config::bytes;
  Place const place(way);
  for (int line = place.line; line < way.lines; line += way.height) {
    auto const where = shared.lines_a[line];
    int const first = place.word * window - past<window>(from + where.offset);
    auto const* const source = from + where.offset + first;
    auto* const target = to + where.place + first;
    if (first >= way.line) continue;
    if (source >= first_of_a && source + window <= last_of_a) {
      Copy::copy(*reinterpret_cast<Window const*>(source), *reinterpret_cast<Window*>(target));
    } else {
      for (int j = 0; j < window; ++j) {
        if (first + j >= 0 && first + j < way.line) target[j] = source[j];
      }
    }
  }
  cp_async_fence();
  cp_async_wait<0>();
}

// Gathers elements from several places, and puts them side by side.
template <int count, class Element>
CUTE_DEVICE auto gathered(Element const* tile, int const (&from)[count]) {
  if constexpr (count == 1) {
    return tile[from[0]];
  } else if constexpr (sizeof(Element) >= 4) {
    auto word = cute::make_tensor<Element>(cute::Int<count>{});
    CUTE_UNROLL
    for (int j = 0; j < count; ++j) word(j) = tile[from[j]];
    return cute::recast<cute::uint_bit_t<8 * count * sizeof(Element)>>(word)(0);
  } else {
    constexpr int in_four = 4 / sizeof(Element);
    auto words = cute::make_tensor<std::uint32_t>(cute::Int<count / in_four>{});
    CUTE_UNROLL
    for (int j = 0; j < count; j += in_four) {
      std::uint32_t four = 0;
      CUTE_UNROLL
      for (int i = 0; i < in_four; ++i) four |= std::uint32_t{tile[from[j + i]]} << (8 * i * sizeof(Element));
      words(j / in_four) = four;
    }
    return cute::recast<cute::uint_bit_t<8 * count * sizeof(Element)>>(words)(0);
  }
}

// `tile` is where its first element is.
template <class Config, int word_bytes>
CUTE_DEVICE void write_tile(PermuteShape::Way const& way, typename Config::SharedStorage const& shared,
                            typename Config::Element const* tile, typename Config::Element* to) {
  using Element = typename Config::Element;
  using Word = cute::uint_bit_t<8 * word_bytes>;
  constexpr int elements = word_bytes / Config::bytes;
  Place const place(way);
  int from[elements];
  CUTE_UNROLL
  for (int j = 0; j < elements; ++j) {
    auto const at = way.along(place.word * elements + j);
    if (j == 0) to += at.in[0];
    from[j] = static_cast<int>(at.in[1]);
  }
  #pragma unroll 4
  for (int line = place.line; line < way.lines; line += way.height) {
    auto const where = shared.lines_d[line];
    *reinterpret_cast<Word*>(to + where.offset) = gathered(tile + where.place, from);
  }
}

// Byte permutation (prmt): the i-th of four bytes is the byte of (x,y) whose number is the i-th digit of the selector.
CUTE_DEVICE std::uint32_t bytes_of_two(std::uint32_t x, std::uint32_t y, std::uint32_t selector) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(x, y, selector);
#else
  std::uint64_t const both = std::uint64_t{y} << 32 | x;
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    result |= static_cast<std::uint32_t>(both >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
  }
  return result;
#endif
}

// A square of elements, each row of which is a word.
template <int in_four>
CUTE_DEVICE void transpose(std::uint32_t (&row)[in_four]) {
  if constexpr (in_four == 2) {
    auto const first = bytes_of_two(row[0], row[1], 0x5410);
    row[1] = bytes_of_two(row[0], row[1], 0x7632);
    row[0] = first;
  } else if constexpr (in_four == 4) {
    auto const low = bytes_of_two(row[0], row[1], 0x5140);
    auto const high = bytes_of_two(row[0], row[1], 0x7362);
    auto const next_low = bytes_of_two(row[2], row[3], 0x5140);
    auto const next_high = bytes_of_two(row[2], row[3], 0x7362);
    row[0] = bytes_of_two(low, next_low, 0x5410);
    row[1] = bytes_of_two(low, next_low, 0x7632);
    row[2] = bytes_of_two(high, next_high, 0x5410);
    row[3] = bytes_of_two(high, next_high, 0x7632);
  }
}

// As many lines of D at a time as there are elements in four bytes.
template <class Config, int word_bytes>
CUTE_DEVICE void write_squares(PermuteShape::Way const& way, typename Config::SharedStorage const& shared,
                               typename Config::Element const* tile, typename Config::Element* to) {
  using Word = cute::uint_bit_t<8 * word_bytes>;
  constexpr int in_four = Config::in_four;
  constexpr int elements = word_bytes / Config::bytes;
  Place const place(way);
  int from[elements];
  CUTE_UNROLL
  for (int j = 0; j < elements; ++j) {
    auto const at = way.along(place.word * elements + j);
    if (j == 0) to += at.in[0];
    from[j] = static_cast<int>(at.in[1]);
  }
  for (int line = place.line * in_four; line < way.lines; line += way.height * in_four) {
    auto const* const corner = tile + shared.lines_d[line].place;
    auto words = cute::make_tensor<std::uint32_t>(cute::Shape<cute::Int<elements / in_four>, cute::Int<in_four>>{});
    CUTE_UNROLL
    for (int j = 0; j < elements / in_four; ++j) {
      std::uint32_t square[in_four];
      CUTE_UNROLL
      for (int i = 0; i < in_four; ++i) {
        square[i] = *reinterpret_cast<std::uint32_t const*>(corner + from[j * in_four + i]);
      }
      transpose(square);
      CUTE_UNROLL
      for (int i = 0; i < in_four; ++i) words(j, i) = square[i];
    }
    CUTE_UNROLL
    for (int i = 0; i < in_four; ++i) {
      *reinterpret_cast<Word*>(to + shared.lines_d[line + i].offset) = cute::recast<Word>(words(cute::_, i))(0);
    }
  }
}

// Lines that begin anywhere, in aligned words but for their ends.
template <class Config>
CUTE_DEVICE void write_windows(PermuteShape::Way const& way, typename Config::SharedStorage const& shared,
                               typename Config::Element const* tile, typename Config::Element* to) {
  using Element = typename Config::Element;
  constexpr int in_four = Config::in_four;
  Place const place(way);
  for (int line = place.line; line < way.lines; line += way.height) {
    auto const where = shared.lines_d[line];
    int const first = place.word * in_four - past<in_four>(to + where.offset);
    if (first >= way.line) continue;
    Element* const target = to + where.offset + first;
    Element const* const source = tile + where.place;
    if (first >= 0 && first + in_four <= way.line) {
      int from[in_four];
      CUTE_UNROLL
      for (int j = 0; j < in_four; ++j) {
        from[j] = way.step != 0 ? (first + j) * way.step : shared.places[first + j];
      }
      *reinterpret_cast<std::uint32_t*>(target) = gathered(source, from);
    } else {
      CUTE_UNROLL
      for (int j = 0; j < in_four; ++j) {
        if (first + j >= 0 && first + j < way.line) target[j] = source[shared.places[first + j]];
      }
    }
  }
}

// Copies straight from A to D, where both have the same lines.
template <class Config, int word_bytes>
CUTE_DEVICE void move_tile(PermuteShape const& shape, typename Config::SharedStorage const& shared,
                           typename Config::Element const* from, typename Config::Element* to) {
  using Word = cute::uint_bit_t<8 * word_bytes>;
  constexpr int at_once = word_bytes >= 8 ? 4 : 8;
  auto const& way = shape.a;
  Place const place(way);
  int const x = place.word * (word_bytes / Config::bytes);
  from += way.along(x).in[0];
  to += shape.d.along(x).in[0];
  for (int first = place.line; first < way.lines; first += at_once * way.height) {
    Word word[at_once];
    CUTE_UNROLL
    for (int i = 0; i < at_once; ++i) {
      int const line = first + i * way.height;
      if (line < way.lines) word[i] = *reinterpret_cast<Word const*>(from + shared.lines_a[line].offset);
    }
    CUTE_UNROLL
    for (int i = 0; i < at_once; ++i) {
      int const line = first + i * way.height;
      if (line < way.lines) *reinterpret_cast<Word*>(to + shared.lines_d[line].offset) = word[i];
    }
  }
}

template <class Config>
CUTE_DEVICE void copy_tile(PermuteShape const& shape, typename Config::Element const* from, typename Config::Element* to) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  auto& shared = *reinterpret_cast<typename Config::SharedStorage*>(shared_memory);

  find_lines<Config::threads>(shape.a, shared.lines_a);
  find_lines<Config::threads>(shape.d, shared.lines_d);
  if constexpr (Config::in_four > 1) {
    if (shape.d.window_bytes != 0) {
      for (int i = threadIdx.x; i < shape.d.line; i += Config::threads) {
        shared.places[i] = static_cast<std::uint16_t>(shape.d.along(i).in[1]);
      }
    }
  }

  // This CTA's tile
  auto const* const first_of_a = from + shape.first_of_a;
  auto const* const last_of_a = from + shape.last_of_a;
  std::uint32_t rest = blockIdx.x;
  for (int i = 0; i < shape.rank; ++i) {
    auto const& mode = shape.mode[i];
    std::uint32_t const next = mode.tiles.divide(rest);
    std::uint32_t const begin = cute::min((rest - next * mode.tiles.divisor) * mode.tile, mode.last);
    from += begin * mode.stride_a;
    to += begin * mode.stride_d;
    rest = next;
  }
  __syncthreads();  // all threads see where lines are

  auto const with = [](PermuteShape::Way const& way, auto const& work) {
    with_word<Config::bytes>(way.word_bytes, work);
  };
  if (shape.is_direct) {
    return with(shape.a, [&](auto word) { move_tile<Config, decltype(word)::value>(shape, shared, from, to); });
  }
  auto* tile = shared.tile;
  if constexpr (Config::in_four > 1) {
    if (shape.a.window_bytes == 16) {
      tile += past<16 / Config::bytes>(from);
      read_windows<Config, 16>(shape.a, shared, from, tile, first_of_a, last_of_a);
    } else if (shape.a.window_bytes == 4) {
      tile += past<4 / Config::bytes>(from);
      read_windows<Config, 4>(shape.a, shared, from, tile, first_of_a, last_of_a);
    }
  }
  if (shape.a.window_bytes == 0) {
    with(shape.a, [&](auto word) { read_tile<Config, decltype(word)::value>(shape.a, shared, from, tile); });
  }
  __syncthreads();  // the tile, written by all threads, becomes visible to all threads
  if constexpr (Config::in_four > 1) {
    if (shape.d.window_bytes != 0) return write_windows<Config>(shape.d, shared, tile, to);
    if (shape.in_squares) {
      if (shape.d.word_bytes == 16) return write_squares<Config, 16>(shape.d, shared, tile, to);
      if (shape.d.word_bytes == 8) return write_squares<Config, 8>(shape.d, shared, tile, to);
      return write_squares<Config, 4>(shape.d, shared, tile, to);
    }
  }
  with(shape.d, [&](auto word) { write_tile<Config, decltype(word)::value>(shape.d, shared, tile, to); });
}

template <class Config>
static __global__ __launch_bounds__(Config::threads, Config::ctas_per_multiprocessor)
void permute(PermuteShape const shape, typename Config::Element const* from, typename Config::Element* to)
{
  launch_dependents();  // the next copy may overlap this one (PDL)
  copy_tile<Config>(shape, from, to);
  wait_for_previous();  // this copy may have overlapped it; a kernel that waits for this one waits for both
}

}  // namespace cute_py::kernels::cutlass_scheduled
