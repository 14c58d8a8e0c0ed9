#pragma once

#include "kernels/common/write_scattered.cuh"

// Staging of sums through shared memory, some columns at a time, so that writes are coalesced: adjacent threads write
// contiguous elements of D, as vectors or scattered. A tile is lines along m, one for each column, or along n, one for each
// row.
namespace cute_py::kernels {

// How threads share lines of `length`: each writes `run` contiguous elements at a time, and a power of two of them share a
// line.
struct ThreadOfLines {
  int x;  // in its lines
  int first_line;
  int log2_step;  // from a line to the next

  CUTE_DEVICE int count(int lines) const { return (lines - first_line + (1 << log2_step) - 1) >> log2_step; }
};

template <int Threads>
CUTE_DEVICE ThreadOfLines thread_of_lines(int thread, int length, int run) {
  static_assert((Threads & (Threads - 1)) == 0);
  int log2_step = 0;
  while ((Threads >> (log2_step + 1)) * run >= length) ++log2_step;
  return {(thread & ((Threads >> log2_step) - 1)) * run,
          thread >> (cute::log_2(static_cast<unsigned>(Threads)) - log2_step), log2_step};
}

// Writes a thread's lines by a plain epilogue, to elements of some types. They begin `offset` elements beyond their places.
template <DTypeSet types, int batch, class T, class Acc>
CUTE_DEVICE void write_plain(EpilogueOf<T> const& product, LinesOfThread<Acc> const& lines, std::int64_t offset) {
  auto const& e = product.e;
  numeric::with_type<types>(e.type[kEpilogueD], [&](auto const& sample) {
    using D = std::decay_t<decltype(sample)>;
    constexpr int most = cute::max(1, int(16 / sizeof(D)));
    D* const d = static_cast<D*>(product.data[kEpilogueD]) + offset;
    if (e.run == 1) {
      write_scattered<batch>(e, lines, d);
    } else if constexpr (most > 1) {
      write_vectors<most>(e, lines, d);
    }
  });
}

// Sums of a CTA's tile in shared memory.
//
// Requires: no thread still needs the shared memory, or will after a barrier.
template <class Acc, int TileM, int TileN, int SharedBytes>
struct SumsInShared {
  static constexpr int kPad = 16 / sizeof(Acc);  // so that the threads of a tensor core's tile write to different banks
  static constexpr int kLines = cute::max(TileM, TileN);
  static constexpr int kRoom = (SharedBytes - kLines * int(sizeof(std::int64_t))) / int(sizeof(Acc)) - TileM * kPad;
  static constexpr int kColumns = cute::min(TileN, kRoom / (TileM + kPad) / 8 * 8);
  static_assert(kColumns > 0);

  std::int64_t* places;  // of the columns in D, or, along n, of the rows
  Acc* sums;             // (TileM,kColumns)
  int row_stride;
  int column_stride;

  CUTE_DEVICE SumsInShared(void* shared, bool along_n)
      : places(static_cast<std::int64_t*>(shared)),
        sums(reinterpret_cast<Acc*>(places + kLines)),
        row_stride(along_n ? kColumns + kPad : 1),
        column_stride(along_n ? 1 : TileM + kPad) {}

  CUTE_DEVICE Acc& at(int row, int column) const { return sums[row * row_stride + column * column_stride]; }

  // Calls write(first) for every chunk of columns, whose sums are in shared memory then. acc and coord are partitioned
  // alike; coord holds coordinates in the whole matrix, of which (first_m,first_n) is the tile's first.
  template <class Accumulators, class Coords, class Write>
  CUTE_DEVICE void for_each_chunk(Accumulators const& acc, Coords const& coord, int first_m, int first_n,
                                  Write const& write) const {
    CUTE_NO_UNROLL
    for (int chunk = 0; chunk < TileN; chunk += kColumns) {
      __syncthreads();  // all threads have read what was here before

      CUTE_UNROLL
      for (int i = 0; i < cute::size(acc); ++i) {
        int const column = cute::get<1>(coord(i)) - first_n - chunk;
        if (kColumns == TileN || (0 <= column && column < kColumns)) {
          at(cute::get<0>(coord(i)) - first_m, column) = acc(i);
        }
      }

      __syncthreads();  // the sums of these columns, written by all threads, become visible to all threads

      write(chunk);
    }
  }
};

// Writes every element of the CTA's tile that lies inside shape by a plain epilogue.
template <int TileM, int TileN, int Threads, int SharedBytes, class T, class Accumulators, class Coords, class Origin,
          class Shape>
CUTE_DEVICE void store_plain(EpilogueOf<T> const& product, Accumulators const& acc, Coords const& coord,
                             Origin const& origin, Shape const& shape, void* shared) {
  using Acc = typename Accumulators::value_type;
  using Sums = SumsInShared<Acc, TileM, TileN, SharedBytes>;
  static_assert(Sums::kLines <= Threads, "a CTA has a thread for each row and each column of its tile");
  auto const& e = product.e;
  Sums const tile(shared, e.along_n);
  int const first_m = cute::get<0>(origin);
  int const first_n = cute::get<1>(origin);
  int const rows = cute::min(cute::get<0>(shape) - first_m, TileM);  // that exist
  int const columns = cute::min(cute::get<1>(shape) - first_n, TileN);
  auto const& across = e.along_n ? e.m : e.n;
  auto const& along = e.along_n ? e.n : e.m;
  int const first_line = e.along_n ? first_m : first_n;

  __syncthreads();  // no thread needs the shared memory any more

  for (int i = threadIdx.x; i < (e.along_n ? rows : columns); i += Threads) {
    tile.places[i] = across.offset(first_line + i, kEpilogueD);
  }

  auto const own = thread_of_lines<Threads>(threadIdx.x, e.along_n ? Sums::kColumns : TileM, e.run);
  tile.for_each_chunk(acc, coord, first_m, first_n, [&](int chunk) {
    int const of_chunk = cute::min(columns - chunk, int(Sums::kColumns));
    if (own.x >= (e.along_n ? of_chunk : rows)) return;
    int const count = own.count(e.along_n ? rows : of_chunk);
    std::int64_t const* const places = tile.places + (e.along_n ? 0 : chunk);
    std::int64_t const offset = along.offset((e.along_n ? first_n + chunk : first_m) + own.x, kEpilogueD);
    int const pitch = e.along_n ? tile.row_stride : tile.column_stride;
    LinesOfThread<Acc> const lines{tile.sums + own.x, pitch, places, own.first_line, count, own.log2_step};
    write_plain<numeric::kWritableFrom<T>, 1>(product, lines, offset);
  });
}

// Writes every element of the CTA's tile that lies inside shape, by the whole epilogue.
template <int TileM, int TileN, int Threads, int SharedBytes, class T, class AccEngine, class AccLayout,
          class CoordEngine, class CoordLayout, class Origin, class Shape>
CUTE_DEVICE void store_fused(EpilogueOf<T> const& product, cute::Tensor<AccEngine, AccLayout> const& acc,
                             cute::Tensor<CoordEngine, CoordLayout> const& coord, Origin const& origin,
                             Shape const& shape, void* shared) {
  auto const& e = product.e;
  if (e.is_plain) {
    return store_plain<TileM, TileN, Threads, SharedBytes>(product, acc, coord, origin, shape, shared);
  }
  using Sums = SumsInShared<typename AccEngine::value_type, TileM, TileN, SharedBytes>;
  static_assert(Threads % TileM == 0, "each thread has one row");
  Sums const tile(shared, false);
  int const first_m = cute::get<0>(origin);
  int const first_n = cute::get<1>(origin);
  int const row = threadIdx.x % TileM;
  int const first_column = threadIdx.x / TileM;
  int const rest = cute::get<1>(shape) - first_n;  // columns that exist from here on
  bool const row_exists = first_m + row < cute::get<0>(shape);
  auto const at_m = e.m(row_exists ? first_m + row : 0);

  tile.for_each_chunk(acc, coord, first_m, first_n, [&](int chunk) {
    CUTE_NO_UNROLL
    for (int column = first_column; column < Sums::kColumns; column += Threads / TileM) {
      if (row_exists && chunk + column < TileN && chunk + column < rest) {
        product.finish(numeric::convert<T>(tile.at(row, column)), at_m, e.n(first_n + chunk + column));
      }
    }
  });
}

// The epilogue of a kernel with one CTA for each tile: in place, out of registers, where it is no more than alpha and beta and
// D is a CuTe tensor, `dst`, in vectors if the kernel is for whole tiles and `Vectors`; else staged.
template <class Config, bool Vectors, int SharedBytes, class Acc, class Coords, class Dst, class Origin, class Shape>
CUTE_DEVICE void store_tile(Epilogue<typename Config::TE> const& epilogue, Batch const& batch, unsigned product, Acc const& acc,
                            Coords const& coord, Dst& dst, Origin const& origin, Shape const& shape, void* shared) {
  if constexpr (!Config::nested) {
    if (epilogue.in_place) {
      if constexpr (Vectors && !Config::predicated) {
        store_vectors(epilogue.alpha, acc, epilogue.beta, dst);
      } else {
        store_elements<Config::predicated>(epilogue.alpha, acc, coord, shape, epilogue.beta, dst);
      }
      return;
    }
  }
  if constexpr (Config::fuses) {
    constexpr int tile_m = cute::size<0>(typename Config::CtaTiler{}), tile_n = cute::size<1>(typename Config::CtaTiler{});
    store_fused<tile_m, tile_n, Config::threads, SharedBytes>(EpilogueOf<typename Config::TE>(epilogue, batch, product), acc,
                                                              coord, origin, shape, shared);
  }
}

}  // namespace cute_py::kernels
