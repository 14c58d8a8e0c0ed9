#pragma once

#include "kernels/common/registers.cuh"
#include "kernels/common/wgmma.hpp"
#include "kernels/common/write_staged.cuh"

// Staging of a warpgroup's sums through shared memory, 64 rows and some columns at a time. A tile has elements of the first
// modes of M and N alone.
namespace cute_py::kernels {

// Where the lines of a tile are in D, each found by one thread. Requires: there are no more than threads.
template <class T>
CUTE_DEVICE void find_lines(Epilogue<T> const& e, TileOfD const& tile, int thread, std::int64_t* places) {
  if (thread >= (e.along_n ? tile.rows : tile.columns)) return;
  auto const& across = e.along_n ? e.m : e.n;
  places[thread] = across.offset((e.along_n ? tile.first_m : tile.first_n) + thread, kEpilogueD);
}

// No row and no column is left out.
struct NothingLeftOut {
  static constexpr bool any = false;
  CUTE_DEVICE bool operator()(int, int) const { return false; }
};

// Writes sums in shared memory to D by the whole epilogue: lines contiguous along n, or else along m, each `length` long.
// `Threads` threads share them. Line l begins at sums + l * pitch, and in D where places[l] says, as find_lines found it.
// Elements of which leaves_out(row,column) is true are not written.
template <class Config, int Threads, class LeavesOut = NothingLeftOut>
CUTE_DEVICE void store_lines(EpilogueOf<typename Config::TE> const& product, TileOfD const& tile, int length, int thread,
                             std::int64_t const* places, typename Config::TC const* sums, int pitch,
                             LeavesOut const& leaves_out = {}) {
  using T = typename Config::TE;
  auto const& e = product.e;
  int const lines = e.along_n ? tile.rows : tile.columns;
  bool const is_plain = e.is_plain && !LeavesOut::any;
  auto const own = thread_of_lines<Threads>(thread, length, is_plain ? e.run : 1);
  if (own.x >= (e.along_n ? tile.columns : tile.rows)) return;
  auto const& along = e.along_n ? e.n : e.m;
  int const index = (e.along_n ? tile.first_n : tile.first_m) + own.x;
  sums += own.x;
  if (is_plain) {
    LinesOfThread<typename Config::TC> const of_thread{sums, pitch, places, own.first_line, own.count(lines), own.log2_step};
    return write_plain<Config::plain_results, 8>(product, of_thread, along.offset(index, kEpilogueD));
  }
  auto const& across = e.along_n ? e.m : e.n;
  auto const at_x = along(index);
  auto at_line = across((e.along_n ? tile.first_m : tile.first_n) + own.first_line);
  int const step = 1 << own.log2_step;
  sums += own.first_line * pitch;
  int const first_across = e.along_n ? tile.first_m : tile.first_n;
  CUTE_NO_UNROLL
  for (int line = own.first_line; line < lines; line += step) {
    if (!leaves_out(e.along_n ? first_across + line : index, e.along_n ? index : first_across + line)) {
      product.template finish<Config::own_results>(numeric::convert<T>(*sums), at_x, at_line);
    }
    if constexpr (Config::planes > 1) {
      at_line = across(first_across + line + step);  // a tile has elements of several modes
    } else {
      CUTE_UNROLL
      for (int i = 0; i < 4; ++i) at_line.in[i] += step * across.stride[i][0];
    }
    sums += step * pitch;
  }
}

// Writes a warpgroup's sums by the whole epilogue. `step_m`: from the first of its rows to the next 64, where there are more.
// The barrier is the warpgroup's.
template <class Config, int step_m, class Accumulators, class Barrier, class LeavesOut = NothingLeftOut>
CUTE_DEVICE void store_sums(EpilogueOf<typename Config::TE> const& product, Accumulators const& acc, TileOfD const& tile,
                            unsigned char* out, std::int64_t* places, Barrier const& barrier,
                            LeavesOut const& leaves_out = {}) {
  using namespace cute;
  constexpr int columns = Config::sum_columns;
  constexpr int chunks_n = Config::BlkN::value / columns;
  constexpr int sums_of_chunk = columns / 2;
  constexpr int chunks = decltype(size(acc))::value / sums_of_chunk;
  bool const along_n = product.e.along_n;
  auto* const sums = reinterpret_cast<typename Config::TC*>(out);
  int const row_stride = along_n ? columns + 8 : 1;
  int const column_stride = along_n ? 1 : Config::box + 4;

  CUTE_NO_UNROLL
  for (int chunk = 0; chunk < chunks; ++chunk) {
    int const first_m = chunk / chunks_n * step_m;
    int const first_n = chunk % chunks_n * columns;
    if (first_m >= tile.rows || first_n >= tile.columns) continue;  // so for all threads of the warpgroup
    int const thread = thread_for_now() % 128;
    barrier.sync();  // all threads have read what was here before
    CUTE_UNROLL
    for (int c = 0; c < chunks; ++c) {
      if (c != chunk) continue;
      CUTE_UNROLL
      for (int i = 0; i < sums_of_chunk; ++i) {
        using Sums = SumsOfThread<columns, step_m>;
        sums[(wgmma_row(thread) + Sums::row(i)) * row_stride + (wgmma_column(thread) + Sums::column(i)) * column_stride] =
            acc(c * sums_of_chunk + i);
      }
    }
    TileOfD const part{tile.first_m + first_m, tile.first_n + first_n, min(tile.rows - first_m, Config::box),
                       min(tile.columns - first_n, columns)};
    find_lines(product.e, part, thread, places);
    barrier.sync();  // sums and places become visible to the warpgroup

    store_lines<Config, 128>(product, part, along_n ? columns : Config::box, thread, places, sums,
                             along_n ? row_stride : column_stride, leaves_out);
  }
}

}  // namespace cute_py::kernels
