#pragma once

#include <cute/tensor.hpp>

#include <cutlass/arch/barrier.h>

#include "kernels/common/arrivals.cuh"
#include "kernels/common/epilogue.cuh"
#include "kernels/common/registers.cuh"

// How the warpgroups of gemm_sm90 write D. A warpgroup's sums of 64 rows are (2,2,N/8) values of a thread: two neighbouring
// columns, of a row and of the one 8 further on, every 8 columns.
namespace cute_py::kernels {

using cutlass::arch::NamedBarrier;

// The first row, and the first column, of a thread of a warpgroup.
CUTE_DEVICE int wgmma_row(int thread) { return thread % 128 / 32 * 16 + thread % 32 / 4; }
CUTE_DEVICE int wgmma_column(int thread) { return thread % 4 * 2; }

// A tile's rows and columns in D, as numbers of M and of N.
struct TileOfD {
  int first_m;
  int first_n;
  int rows;     // that exist
  int columns;
};

// alpha times a sum, as an element of D. Whole numbers need no arithmetic of floats if alpha is 1; floats have been
// multiplied, and give `IsDone` for it.
struct IsDone {};
template <class D, class Sum>
CUTE_DEVICE D scaled(IsDone, Sum const& sum) {
  return numeric::narrow<D>(sum, false);
}
template <class D, class T, class Sum>
CUTE_DEVICE D scaled(T const& alpha, Sum const& sum) {
  if constexpr (cute::is_same_v<D, Sum> && std::is_integral_v<D>) {
    if (alpha == T(1)) return sum;
  }
  return numeric::narrow<D>(alpha * numeric::convert<T>(sum), false);
}

// Writes the 64 rows and some columns of a warpgroup's sums, `first` the first of these, to shared memory as the copy engine
// takes them from there: lines of 128 bytes, swizzled. Elements of two bytes: 64 columns, by stmatrix.
template <bool along_n, class D, class T, class Accumulators, cute::enable_if_t<sizeof(D) == 2, int> = 0>
CUTE_DEVICE void to_boxes(T const& alpha, Accumulators const& acc, int first, unsigned char* to) {
  using namespace cute;
  int const thread = thread_for_now() % 128;
  int const lane = thread % 32;
  int const warp = thread / 32;
  CUTE_UNROLL
  for (int j = 0; j < 4; ++j) {  // 16 columns at a time: four matrices of 8x8
    std::uint32_t piece[4];
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) {
      int const at = (first / 8 + 2 * j + i / 2) * 4 + i % 2 * 2;
      Neighbours<D, 2> const two{{scaled<D>(alpha, acc(at)), scaled<D>(alpha, acc(at + 1))}};
      piece[i] = reinterpret_cast<std::uint32_t const&>(two);
    }
    int const row = along_n ? 16 * warp + lane / 8 % 2 * 8 + lane % 8 : 16 * j + lane / 16 * 8 + lane % 8;
    int const vector = along_n ? 2 * j + lane / 16 : 2 * warp + lane / 8 % 2;
    auto& vectors = *reinterpret_cast<uint128_t*>(to + row * 128 + (vector ^ (row % 8)) * 16);
    if (along_n) {
      SM90_U32x4_STSM_N::copy(piece[0], piece[1], piece[2], piece[3], vectors);
    } else {
      SM90_U16x8_STSM_T::copy(piece[0], piece[1], piece[2], piece[3], vectors);
    }
  }
}

// Elements of four bytes: 32 columns, in one box of 64 rows, or, along m, in two of 32 rows.
template <bool along_n, class D, class T, class Accumulators, cute::enable_if_t<sizeof(D) == 4, int> = 0>
CUTE_DEVICE void to_boxes(T const& alpha, Accumulators const& acc, int first, unsigned char* to) {
  using namespace cute;
  int const thread = thread_for_now() % 128;
  CUTE_UNROLL
  for (int j = 0; j < 4; ++j) {  // 8 columns at a time
    int const column = 8 * j + wgmma_column(thread);
    CUTE_UNROLL
    for (int i = 0; i < 2; ++i) {
      int const at = (first / 8 + j) * 4 + 2 * i;
      int const row = wgmma_row(thread) + 8 * i;
      Neighbours<D, 2> const two{{scaled<D>(alpha, acc(at)), scaled<D>(alpha, acc(at + 1))}};
      if (along_n) {
        *reinterpret_cast<Neighbours<D, 2>*>(to + row * 128 + (column / 4 ^ row % 8) * 16 + column % 4 * 4) = two;
      } else {
        unsigned char* const box = to + row / 32 * (32 * 128) + row % 4 * 4;
        CUTE_UNROLL
        for (int x = 0; x < 2; ++x) {
          int const line = column + x;
          *reinterpret_cast<D*>(box + line * 128 + (row % 32 / 4 ^ line % 8) * 16) = two.x[x];
        }
      }
    }
  }
}

// Where a warpgroup's next box may be put together: what was there has left shared memory.
template <class Config>
CUTE_DEVICE unsigned char* next_box(unsigned char* out, int& boxes, int group) {
  using namespace cute;
  if (boxes >= Config::out_boxes) {
    if (threadIdx.x % 128 == 0) {
      tma_store_wait<Config::out_boxes - 1>();  // what was here has left shared memory
    }
    NamedBarrier::sync(128, group);  // so that all threads may write there
  }
  return out + boxes++ % Config::out_boxes * Config::box_bytes;
}

// Asks for a box to be written. copy_box(from, row, column) asks for a copy; in lines of four-byte elements along m there
// are two.
template <class Config, class CopyBox>
CUTE_DEVICE void send_box(unsigned char* box, bool along_n, int column, int group, CopyBox const& copy_box) {
  using namespace cute;
  tma_store_fence();               // what this thread wrote is seen by the copy engine
  NamedBarrier::sync(128, group);  // and what all threads of the warpgroup wrote
  if (threadIdx.x % 128 == 0) {
    copy_box(box, 0, column);
    if (sizeof(typename Config::BoxElement) == 4 && !along_n) copy_box(box + Config::box_bytes / 2, 32, column);
    tma_store_arrive();
  }
}

// Writes a warpgroup's sums to D by the copy engine, which leaves out what lies beyond D's ends, some
// columns at a time.
template <class Config, bool along_n, class T, class Accumulators, class CopyBox>
CUTE_DEVICE void store_boxes(T const& alpha, Accumulators const& acc, unsigned char* out, int& boxes, int group,
                             CopyBox const& copy_box) {
  using D = typename Config::BoxElement;
  constexpr int columns = 128 / static_cast<int>(sizeof(D));
  CUTE_UNROLL
  for (int first = 0; first < Config::BlkN::value; first += columns) {
    unsigned char* const box = next_box<Config>(out, boxes, group);
    to_boxes<along_n, D>(alpha, acc, first, box);
    send_box<Config>(box, along_n, first, group, copy_box);
  }
}

// Of the bias of a tile's rows, or of its columns, two numbers for each thread of a warpgroup, as they are in memory. If
// `is_flat`, M and N have one mode each, and there are no batches.
template <class T, class ProductOf>
CUTE_DEVICE void ask_for_bias(Epilogue<T> const& e, ProductOf const& product_of, bool is_flat, TileOfD const& tile,
                              BiasOf which, std::uint32_t (&bits)[2]) {
  bool const of_columns = which == BiasOf::columns;
  auto const& along = of_columns ? e.n : e.m;
  void const* data = e.data[kEpilogueBias];
  std::int64_t first = (of_columns ? tile.first_n : tile.first_m) * along.stride[kEpilogueBias][0];
  if (!is_flat) {
    data = product_of().data[kEpilogueBias];
    first = e.m.offset(tile.first_m, kEpilogueBias) + e.n.offset(tile.first_n, kEpilogueBias);
  }
  int const thread = thread_for_now() % 128;
  CUTE_UNROLL
  for (int i = 0; i < 2; ++i) {
    int const x = thread + 128 * i;
    if (x >= (of_columns ? tile.columns : tile.rows)) continue;
    auto const at = first + x * along.stride[kEpilogueBias][0];  // tiles lie along the first mode
    bits[i] = bytes_of(e.type[kEpilogueBias]) == 4 ? static_cast<std::uint32_t const*>(data)[at]
                                                   : static_cast<std::uint16_t const*>(data)[at];
  }
}

// A number of a type in kInRegisters.
CUTE_DEVICE float number_of(DType type, std::uint32_t bits) {
  float number = 0;
  numeric::with_type<kInRegisters>(type, [&](auto const& sample) {
    using S = std::decay_t<decltype(sample)>;
    cute::conditional_t<sizeof(S) == 4, std::uint32_t, std::uint16_t> const same = bits;
    number = numeric::convert<float>(reinterpret_cast<S const&>(same));
  });
  return number;
}

// Brings the bias of a tile's rows, or of its columns, to shared memory, for a warpgroup.
CUTE_DEVICE void bias_to_shared(Epilogue<float> const& e, std::uint32_t const (&bits)[2], float* bias_of_tile, int group) {
  CUTE_UNROLL
  for (int i = 0; i < 2; ++i) {
    bias_of_tile[threadIdx.x % 128 + 128 * i] = number_of(e.type[kEpilogueBias], bits[i]);
  }
  NamedBarrier::sync(128, group);  // the bias becomes visible to the warpgroup
}

// From a thread's first row, and from its first column, to those of its sums, of tiles of so many columns; `step_m` goes from
// 64 rows to the next, where there are more.
template <int columns, int step_m>
struct SumsOfThread {
  static constexpr int of_rows = columns / 2;  // of each 64 rows
  CUTE_HOST_DEVICE static constexpr int row(int i) { return i / of_rows * step_m + i / 2 % 2 * 8; }
  CUTE_HOST_DEVICE static constexpr int column(int i) { return i % of_rows / 4 * 8 + i % 2; }
};

// Multiplies all sums of a warpgroup by alpha, which is 1 most times.
template <class Accumulators>
CUTE_DEVICE void multiply_all(float alpha, Accumulators& acc) {
  if (alpha == 1.0f) return;
  CUTE_UNROLL
  for (int i = 0; i < cute::size(acc); ++i) acc(i) = alpha * acc(i);
}

// Adds the elements of C, of a bias or of a residual to all sums of a warpgroup, where they are.
template <class Sums, class Accumulators>
CUTE_DEVICE void add_array(EpilogueOf<float> const& product, Accumulators& acc, TileOfD const& tile, int array) {
  auto const& e = product.e;
  constexpr int count = decltype(cute::size(acc))::value;
  if (tile.rows <= 0) return;
  int const thread = thread_for_now();
  int const first_row = wgmma_row(thread);
  int const first_column = wgmma_column(thread);
  float const times = array == kEpilogueC ? e.beta : 1.0f;
  auto const stride_m = static_cast<int>(e.m.stride[array][0]);
  auto const stride_n = static_cast<int>(e.n.stride[array][0]);
  auto const first = e.m.offset(tile.first_m, array) + e.n.offset(tile.first_n, array) + first_row * stride_m + first_column * stride_n;
  // In the place of an element that does not exist, the last one of its row or column is read: without a condition, several are
  // on their way at a time.
  int const last_row = tile.rows - 1 - first_row;
  int const last_column = tile.columns - 1 - first_column;
  numeric::with_type<kInRegisters>(e.type[array], [&](auto const& sample) {
    using S = std::decay_t<decltype(sample)>;
    S const* const from = static_cast<S const*>(product.data[array]) + first;
    constexpr int together = 8;
    CUTE_UNROLL
    for (int block = 0; block < count; block += together) {
      if (Sums::column(block) >= tile.columns) continue;
      S some[together];
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) {
        some[i] = from[cute::min(Sums::row(block + i), last_row) * stride_m +
                       cute::min(Sums::column(block + i), last_column) * stride_n];
      }
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) {
        acc(block + i) = numeric::axpby(1.0f, acc(block + i), times, numeric::convert<float>(some[i]));
      }
    }
  });
}

// What follows alpha in the whole epilogue, of all sums of a warpgroup where they are. `tile` begins with the warpgroup's
// first row. What most epilogues have lies together, because instructions that no cache has yet take longer than they
// run.
template <class Sums, class Accumulators, class ProductOf>
CUTE_DEVICE void finish_all(Epilogue<float> const& e, ProductOf const& product_of, Accumulators& acc, TileOfD const& tile,
                            BiasOf bias, float const* bias_of_tile) {
  constexpr int count = decltype(cute::size(acc))::value;
  bool const has_elements = bias == BiasOf::elements && e.has_bias;
  bool adds = e.reads_c || has_elements;  // arrays that have an element for each sum
  CUTE_NO_UNROLL
  for (int after = 0; after < 2; ++after) {  // the activation
    if (__builtin_expect(adds, 0)) {
      auto const product = product_of();
      CUTE_NO_UNROLL
      for (int array = after ? kEpilogueResidual : kEpilogueC; array <= kEpilogueResidual; array += 2) {  // C, then a bias
        if (array == kEpilogueC ? e.reads_c : array == kEpilogueResidual || has_elements) {
          add_array<Sums>(product, acc, tile, array);
        }
      }
    }
    if (after) break;

    int const thread = thread_for_now();
    if (bias == BiasOf::columns) {
      float const* const own = bias_of_tile + wgmma_column(thread);
      CUTE_UNROLL
      for (int i = 0; i < count; ++i) acc(i) += own[Sums::column(i)];
    } else if (bias == BiasOf::rows) {
      float const* const own = bias_of_tile + wgmma_row(thread);
      CUTE_UNROLL
      for (int i = 0; i < count; ++i) acc(i) += own[Sums::row(i)];
    }
    if (e.activation == Activation::gelu) {
      // Of four at a time and of 16 columns, if there are any: it takes so many registers that there were not enough, if the
      // compiler worked at more.
      CUTE_UNROLL
      for (int first = 0; first < count; first += 8) {
        if (Sums::column(first) >= tile.columns) continue;
        CUTE_UNROLL
        for (int i = first; i < first + 8; ++i) acc(i) = numeric::fast_gelu(acc(i));
      }
    } else {
      numeric::with_short_activation(e.activation, [&](auto const& function) {
        CUTE_UNROLL
        for (int i = 0; i < count; ++i) acc(i) = function(acc(i));
      });
    }
    if (e.scale != 1.0f) {
      CUTE_UNROLL
      for (int i = 0; i < count; ++i) acc(i) = e.scale * acc(i);
    }
    adds = e.has_residual;
    if (!adds) break;
  }
}

// Where the lines of a tile are in D, each found by one thread. Requires: there are no more than threads.
template <class T>
CUTE_DEVICE void find_lines(Epilogue<T> const& e, TileOfD const& tile, int thread, std::int64_t* places) {
  if (thread >= (e.along_n ? tile.rows : tile.columns)) return;
  auto const& across = e.along_n ? e.m : e.n;
  places[thread] = across.offset((e.along_n ? tile.first_m : tile.first_n) + thread, kEpilogueD);
}

// Writes sums to D by the whole epilogue: lines of neighbours along n, or else along m, each `length` long. `Threads`
// threads share them. Line l begins at sums + l * pitch, and in D where places[l] says, as find_lines found it.
template <class Config, int Threads>
CUTE_DEVICE void store_lines(EpilogueOf<typename Config::TE> const& product, TileOfD const& tile, int length, int thread,
                             std::int64_t const* places, typename Config::TC const* sums, int pitch) {
  using T = typename Config::TE;
  using namespace cute;
  auto const& e = product.e;
  int const exist = e.along_n ? tile.columns : tile.rows;  // of a line
  int const lines = e.along_n ? tile.rows : tile.columns;
  int const run = e.is_plain ? e.run : 1;
  int threads_along = Threads;  // that share a line: a power of two
  while (threads_along / 2 * run >= length) threads_along /= 2;
  int const x = thread % threads_along * run;
  if (x >= exist) return;
  int const own = thread / threads_along;
  int const step = Threads / threads_along;
  auto const& along = e.along_n ? e.n : e.m;
  int const index = (e.along_n ? tile.first_n : tile.first_m) + x;
  sums += own * pitch + x;
  if (!e.is_plain) {
    auto const& across = e.along_n ? e.m : e.n;
    int const first_line = e.along_n ? tile.first_m : tile.first_n;
    auto const at_x = along(index);
    auto at_line = across(first_line + own);  // and on along the first mode, of which the tile has elements
    CUTE_NO_UNROLL
    for (int line = own; line < lines; line += step) {
      product.template finish<Config::own_results>(numeric::convert<T>(*sums), at_x, at_line);
      CUTE_UNROLL
      for (int i = 0; i < 4; ++i) at_line.in[i] += step * across.stride[i][0];
      sums += step * pitch;
    }
    return;
  }
  numeric::with_type<Config::plain_results>(e.type[kEpilogueD], [&](auto const& sample) {
    using D = std::decay_t<decltype(sample)>;
    D* const d = static_cast<D*>(product.data[kEpilogueD]) + along.offset(index, kEpilogueD);
    constexpr int most = static_cast<int>(16 / sizeof(D));
    if (run == most) {
      CUTE_NO_UNROLL
      for (int line = own; line < lines; line += step) {
        update<most>(e, sums, d + places[line]);
        sums += step * pitch;
      }
      return;
    }
    // Some lines at a time: their sums and places are known before the first is written.
    constexpr int together = 8;
    T const alpha = e.alpha;
    int line = own;
    if (!e.reads_c) {
      CUTE_NO_UNROLL
      for (; line + (together - 1) * step < lines; line += together * step) {
        D some[together];
        D* to[together];
        CUTE_UNROLL
        for (int i = 0; i < together; ++i) {
          some[i] = scaled<D>(alpha, sums[i * step * pitch]);
          to[i] = d + places[line + i * step];
        }
        CUTE_UNROLL
        for (int i = 0; i < together; ++i) *to[i] = some[i];
        sums += together * step * pitch;
      }
    }
    CUTE_NO_UNROLL
    for (; line < lines; line += step) {
      update<1>(e, sums, d + places[line]);
      sums += step * pitch;
    }
  });
}

// Writes a warpgroup's sums by the whole epilogue, 64 rows and some columns at a time through shared memory, so that
// neighbouring threads write neighbours. `step_m`: from the first of its rows to the next 64, where there are more.
template <class Config, int step_m, class Accumulators>
CUTE_DEVICE void store_sums(EpilogueOf<typename Config::TE> const& product, Accumulators const& acc, TileOfD const& tile,
                            unsigned char* out, std::int64_t* places, int group) {
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
    NamedBarrier::sync(128, group);  // all threads have read what was here before
    CUTE_UNROLL
    for (int c = 0; c < chunks; ++c) {
      if (c != chunk) continue;
      CUTE_UNROLL
      for (int i = 0; i < sums_of_chunk; ++i) {
        int const row = wgmma_row(thread) + i / 2 % 2 * 8;
        int const column = wgmma_column(thread) + i / 4 * 8 + i % 2;
        sums[row * row_stride + column * column_stride] = acc(c * sums_of_chunk + i);
      }
    }
    TileOfD const part{tile.first_m + first_m, tile.first_n + first_n, min(tile.rows - first_m, Config::box),
                       min(tile.columns - first_n, columns)};
    find_lines(product.e, part, thread, places);
    NamedBarrier::sync(128, group);  // sums and places become visible to the warpgroup

    store_lines<Config, 128>(product, part, along_n ? columns : Config::box, thread, places, sums,
                     along_n ? row_stride : column_stride);
  }
}

// A CTA among those that share a tile's K: a power of two of a cluster, and as many of each of some clusters.
struct ClusterOfTile {
  SumsOfClusters const& others;
  int log2_parts;  // of a cluster
  int part;        // in it
  int pair;        // CTAs of the cluster with the same part, each of another tile
  int in_pair;
  int clusters;
  int cluster;
  int tile;

  // Where the CTAs with this part are counted.
  CUTE_DEVICE std::int64_t number() const { return (std::int64_t{tile} << log2_parts) + part; }
  // The CTA in the cluster that has a part of this tile.
  CUTE_DEVICE int cta(int of_part) const { return of_part * pair + in_pair; }
};

// Has this CTA come last of those with its part in the clusters that share a tile? Its threads have written their sums for
// the others.
template <int Threads>
CUTE_DEVICE bool comes_last(ClusterOfTile const& own, std::int64_t number, int thread, bool& is_last, int barrier) {
  NamedBarrier::sync(Threads, barrier);  // all threads have written their sums
  if (thread == 0) {
    __threadfence();
    is_last = counts_last(own.others.arrived, number, static_cast<unsigned>(own.clusters));
    __threadfence();
  }
  NamedBarrier::sync(Threads, barrier);  // whether this CTA is the last one becomes visible to all threads
  return is_last;
}

// Adds the sums of the clusters that share a tile, in their order, in the last CTA to come of those with this part: returns
// whether this is the one. Each has `vectors` of them, which the same threads made.
template <int Threads, class T, int Together>
CUTE_DEVICE bool add_clusters(ClusterOfTile const& own, Neighbours<T, Together>* sums, int vectors, int thread, bool& is_last,
                              int barrier) {
  using Vector = Neighbours<T, Together>;
  constexpr int at_a_time = 8;
  std::int64_t const number = own.number();
  auto* const of_all = static_cast<Vector*>(own.others.sums) + number * own.clusters * vectors;
  auto* const of_own = of_all + std::int64_t{own.cluster} * vectors;
  for (int i = thread; i < vectors; i += Threads) of_own[i] = sums[i];
  if (!comes_last<Threads>(own, number, thread, is_last, barrier)) return false;

  // As many vectors as there is room for, of 2, 4 or 8 clusters, some of which may not exist.
  int const log2 = own.clusters > 4 ? 3 : own.clusters > 2 ? 2 : 1;
  int const last_cluster = (1 << log2) - 1;
  CUTE_NO_UNROLL
  for (int first = thread; first < vectors; first += (Threads * at_a_time) >> log2) {
    Vector of[at_a_time];
    CUTE_UNROLL
    for (int i = 0; i < at_a_time; ++i) {
      int const vector = first + (i >> log2) * Threads;
      int const cluster = i & last_cluster;
      of[i] = of_all[cute::min(cluster, own.clusters - 1) * vectors + (vector < vectors ? vector : first)];
    }
    Vector sum;
    CUTE_UNROLL
    for (int i = 0; i < at_a_time; ++i) {
      int const cluster = i & last_cluster;
      CUTE_UNROLL
      for (int x = 0; x < Together; ++x) {
        sum.x[x] = cluster == 0 ? of[i].x[x] : cluster < own.clusters ? sum.x[x] + of[i].x[x] : sum.x[x];
      }
      int const vector = first + (i >> log2) * Threads;
      if (cluster == last_cluster && vector < vectors) sums[vector] = sum;
    }
  }
  return true;
}

// The same as store_parts(), below, where nothing but alpha happens to sums and D takes vectors: sums go from registers to D,
// by loops that are short, because instructions that no cache has yet take longer than they run.
template <class Config>
struct PlainParts {
  using TC = typename Config::TC;
  using Vector = Neighbours<TC, 4>;
  static constexpr int threads = Config::computing_threads;

  EpilogueOf<typename Config::TE> const& product;
  bool const along_n = product.e.along_n;
  int thread;
  int count;              // vectors
  int pitch;              // of lines in shared memory
  int lines_left;         // that exist
  int length;             // of a line
  std::int64_t first;     // element of D
  std::int64_t next_line;

  CUTE_DEVICE PlainParts(EpilogueOf<typename Config::TE> const& product, TileOfD const& tile, ClusterOfTile const& cluster)
      : product(product), thread(thread_for_now()) {
    auto const& e = product.e;
    int const lines = (along_n ? Config::BlkM::value : Config::BlkN::value) >> cluster.log2_parts;
    int const before = cluster.part * lines;
    count = lines * (along_n ? Config::BlkN::value : Config::BlkM::value) / 4;
    pitch = along_n ? Config::sums_line_n : Config::sums_line_m;
    lines_left = (along_n ? tile.rows : tile.columns) - before;
    length = along_n ? tile.columns : tile.rows;
    next_line = (along_n ? e.m : e.n).stride[kEpilogueD][0];  // tiles lie along the first mode
    first = e.m.offset(tile.first_m, kEpilogueD) + e.n.offset(tile.first_n, kEpilogueD) + before * next_line;
  }

  CUTE_DEVICE int line_of(int vector) const {
    return along_n ? vector / (Config::BlkN::value / 4) : vector / (Config::BlkM::value / 4);
  }
  CUTE_DEVICE int in_line(int vector) const {
    return (along_n ? vector % (Config::BlkN::value / 4) : vector % (Config::BlkM::value / 4)) * 4;
  }

  // Calls leave(vector, sum) for each of this thread's vectors, of which `together` are read at a time: of each, `parts`.
  // read(part, vector) is one.
  template <int parts, int together, class Read, class Leave>
  CUTE_DEVICE void add(Read const& read, Leave const& leave) const {
    CUTE_NO_UNROLL
    for (int next = thread; next < count; next += threads * together) {
      Vector of[together][parts];
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) {
        int const vector = cute::min(next + i * threads, count - 1);
        CUTE_UNROLL
        for (int part = 0; part < parts; ++part) of[i][part] = read(part, vector);
      }
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) {
        Vector sum = of[i][0];
        CUTE_UNROLL
        for (int part = 1; part < parts; ++part) {
          CUTE_UNROLL
          for (int x = 0; x < 4; ++x) sum.x[x] += of[i][part].x[x];
        }
        if (next + i * threads < count) leave(next + i * threads, sum);
      }
    }
  }

  // The sums of a cluster's parts, in shared memory.
  template <class Leave>
  CUTE_DEVICE void add_cluster(TC* sums, ClusterOfTile const& cluster, Leave const& leave) const {
    auto const add_parts = [&](auto parts, auto together) {
      TC const* of_part[parts];
      CUTE_UNROLL
      for (int i = 0; i < parts; ++i) of_part[i] = static_cast<TC const*>(__cluster_map_shared_rank(sums, cluster.cta(i)));
      add<parts, together>(
          [&](int part, int vector) {
            return *reinterpret_cast<Vector const*>(of_part[part] + line_of(vector) * pitch + in_line(vector));
          },
          leave);
    };
    static_assert(Config::max_cluster == 8);
    if (cluster.log2_parts == 1) add_parts(cute::Int<2>{}, cute::Int<4>{});
    if (cluster.log2_parts == 2) add_parts(cute::Int<4>{}, cute::Int<2>{});
    if (cluster.log2_parts == 3) add_parts(cute::Int<8>{}, cute::Int<2>{});
  }

  // To D.
  CUTE_DEVICE void write(int vector, Vector const& sum) const {
    int const line = line_of(vector);
    int const x = in_line(vector);
    if (line >= lines_left || x >= length) return;
    auto const at = first + line * next_line + x;
    numeric::with_type<Config::plain_results>(product.e.type[kEpilogueD], [&](auto const& sample) {
      using D = std::decay_t<decltype(sample)>;
      Neighbours<D, 4> result;
      CUTE_UNROLL
      for (int i = 0; i < 4; ++i) result.x[i] = scaled<D>(product.e.alpha, sum.x[i]);
      *reinterpret_cast<Neighbours<D, 4>*>(static_cast<D*>(product.data[kEpilogueD]) + at) = result;
    });
  }
};

template <class Config>
CUTE_DEVICE void store_plain_parts(EpilogueOf<typename Config::TE> const& product, typename Config::TC* sums,
                                   TileOfD const& tile, ClusterOfTile const& cluster, bool& is_last, int barrier) {
  PlainParts<Config> const parts(product, tile, cluster);
  using Vector = typename PlainParts<Config>::Vector;
  int const lines = (parts.along_n ? Config::BlkM::value : Config::BlkN::value) >> cluster.log2_parts;
  sums += cluster.part * lines * parts.pitch;
  std::int64_t const number = cluster.number();
  auto* const of_all = static_cast<Vector*>(cluster.others.sums) + number * cluster.clusters * parts.count;
  auto* const of_own = of_all + cluster.cluster * parts.count;
  bool const is_alone = cluster.clusters == 1;
  parts.add_cluster(sums, cluster, [&](int vector, Vector const& sum) {
    if (is_alone) {
      parts.write(vector, sum);
    } else {
      of_own[vector] = sum;
    }
  });
  if (is_alone || !comes_last<Config::computing_threads>(cluster, number, parts.thread, is_last, barrier)) return;

  constexpr int most = 8;  // clusters
  constexpr auto nothing = static_cast<typename Config::TC>(-0.0);  // which no sum changes by
  Vector const none{{nothing, nothing, nothing, nothing}};
  parts.template add<most, 2>(
      [&](int c, int vector) { return c < cluster.clusters ? of_all[c * parts.count + vector] : none; },
      [&](int vector, Vector const& sum) { parts.write(vector, sum); });
}

// Writes a tile whose K was shared by the CTAs of a cluster. Each has left its sums in shared memory; this one adds those
// of a part of the lines, in the order of the parts, and writes them.
template <class Config>
CUTE_DEVICE void store_parts(EpilogueOf<typename Config::TE> const& product, typename Config::TC* sums, TileOfD const& tile,
                             ClusterOfTile const& cluster, std::int64_t* places, bool& is_last, int barrier) {
  constexpr int threads = Config::computing_threads;
  int const thread = thread_for_now();
  if (product.e.is_plain && !product.e.reads_c && product.e.run > 1) {
    return store_plain_parts<Config>(product, sums, tile, cluster, is_last, barrier);
  }
  using Vector = Neighbours<typename Config::TC, 4>;
  constexpr int at_a_time = 8;  // vectors on their way
  static_assert(Config::max_cluster <= at_a_time);
  int const log2_parts = cluster.log2_parts;
  int const number = cluster.part;
  bool const along_n = product.e.along_n;
  int const stride = along_n ? Config::sums_line_n : Config::sums_line_m;
  int const lines = (along_n ? Config::BlkM::value : Config::BlkN::value) >> log2_parts;
  auto* const own = sums + number * lines * stride;
  int const vectors = lines * stride / 4;
  int const last_part = (1 << log2_parts) - 1;
  for (int first = thread; first < vectors; first += (threads * at_a_time) >> log2_parts) {
    Vector of[at_a_time];
    CUTE_UNROLL
    for (int i = 0; i < at_a_time; ++i) {
      int const vector = first + (i >> log2_parts) * threads;
      auto* const at = own + (vector < vectors ? vector : first) * 4;
      of[i] = *reinterpret_cast<Vector*>(__cluster_map_shared_rank(at, cluster.cta(i & last_part)));
    }
    Vector sum;
    CUTE_UNROLL
    for (int i = 0; i < at_a_time; ++i) {
      bool const is_first = (i & last_part) == 0;
      CUTE_UNROLL
      for (int j = 0; j < 4; ++j) sum.x[j] = is_first ? of[i].x[j] : sum.x[j] + of[i].x[j];
      int const vector = first + (i >> log2_parts) * threads;
      // In the place of this CTA's own sums, which no other reads.
      if ((i & last_part) == last_part && vector < vectors) *reinterpret_cast<Vector*>(own + vector * 4) = sum;
    }
  }
  if (cluster.clusters > 1 &&
      !add_clusters<threads>(cluster, reinterpret_cast<Vector*>(own), vectors, thread, is_last, barrier)) {
    return;
  }
  int const before = number * lines;
  int const exist = cute::min((along_n ? tile.rows : tile.columns) - before, lines);
  TileOfD const part{tile.first_m + (along_n ? before : 0), tile.first_n + (along_n ? 0 : before),
                     along_n ? exist : tile.rows, along_n ? tile.columns : exist};
  find_lines(product.e, part, thread, places);
  NamedBarrier::sync(threads, barrier);  // sums and places become visible to all

  store_lines<Config, threads>(product, part, along_n ? Config::BlkN::value : Config::BlkM::value, thread, places, own, stride);
}

}  // namespace cute_py::kernels
