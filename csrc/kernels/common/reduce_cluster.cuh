#pragma once

#include "kernels/common/epilogue.cuh"
#include "kernels/common/reduce_global.cuh"
#include "kernels/common/registers.cuh"
#include "kernels/common/wgmma.hpp"

// Reduce policy: split-K in a cluster, through distributed shared memory. Each CTA of a cluster leaves its partial sums in its
// shared memory, and reduces a share of the tile's lines from all of them, in the order of the splits. That takes no global
// memory and no counters. Where several clusters share a tile, the CTAs with the same share are the children of one node of
// the tree of reduce_global.cuh: the last to arrive reduces those of all clusters, in their order.
namespace cute_py::kernels {

// The workspace in global memory of the clusters that share a tile's K.
struct ClusterPartials {
  ArrivalCounters counters;  // (split of a cluster,tile)
  void* sums = nullptr;      // (sums of a share,cluster,split of a cluster,tile)
};

// A CTA among those that share a tile's K: 2^log2_splits of them in each cluster. With multicast a cluster has as many CTAs
// for each of two tiles, alternately.
struct ClusterSplit {
  ClusterPartials const& partials;
  int log2_splits;
  int number;          // of its split, in the cluster
  int multicast;       // tiles of the cluster
  int multicast_rank;  // which of them
  int clusters;
  int cluster;
  int tile;

  // The counter at which the CTAs with the same share arrive.
  CUTE_DEVICE std::int64_t counter() const { return (std::int64_t{tile} << log2_splits) + number; }
  // The CTA in the cluster that has a split of this tile.
  CUTE_DEVICE int cta(int split) const { return split * multicast + multicast_rank; }
};

// Leaves a thread's partial sums of a tile in shared memory: lines along n, or else along m.
template <class Config, class Accumulators>
CUTE_DEVICE void leave_partials(Accumulators const& acc, typename Config::TC* partials, bool along_n, int group) {
  using Sums = SumsOfThread<Config::BlkN::value, Config::consumers_of_tile * 64>;
  int const thread = thread_for_now();
  int const row_stride = along_n ? Config::sums_line_n : 1;
  int const column_stride = along_n ? 1 : Config::sums_line_m;
  CUTE_UNROLL
  for (int i = 0; i < cute::size(acc); i += 2) {
    int const row = group * 64 + wgmma_row(thread) + Sums::row(i);
    int const column = wgmma_column(thread) + Sums::column(i);
    auto* const to = partials + row * row_stride + column * column_stride;
    if (along_n) {
      *reinterpret_cast<AlignedArray<typename Config::TC, 2>*>(to) = {acc(i), acc(i + 1)};
    } else {
      to[0] = acc(i);
      to[column_stride] = acc(i + 1);
    }
  }
}

// The share of a tile's lines that a CTA reduces, in vectors of four sums.
template <class Config>
struct ShareOfTile {
  using TC = typename Config::TC;
  using Vector = AlignedArray<TC, 4>;
  static constexpr int threads = Config::consumer_threads;

  bool along_n;
  int thread = thread_for_now();
  int lines;
  int first;  // of the tile's lines
  int pitch;  // from a line to the next in shared memory
  int count;  // vectors

  CUTE_DEVICE ShareOfTile(bool along_n, ClusterSplit const& split) : along_n(along_n) {
    lines = (along_n ? Config::BlkM::value : Config::BlkN::value) >> split.log2_splits;
    first = split.number * lines;
    pitch = along_n ? Config::sums_line_n : Config::sums_line_m;
    count = lines * (along_n ? Config::BlkN::value : Config::BlkM::value) / 4;
  }

  CUTE_DEVICE int line_of(int vector) const {
    return along_n ? vector / (Config::BlkN::value / 4) : vector / (Config::BlkM::value / 4);
  }
  CUTE_DEVICE int in_line(int vector) const {
    return (along_n ? vector % (Config::BlkN::value / 4) : vector % (Config::BlkM::value / 4)) * 4;
  }
  // In shared memory.
  CUTE_DEVICE int place(int vector) const { return line_of(vector) * pitch + in_line(vector); }

  // Its rows and columns in D.
  CUTE_DEVICE TileOfD of(TileOfD const& tile) const {
    int const exist = cute::min((along_n ? tile.rows : tile.columns) - first, lines);
    return {tile.first_m + (along_n ? first : 0), tile.first_n + (along_n ? 0 : first), along_n ? exist : tile.rows,
            along_n ? tile.columns : exist};
  }

  // Calls leave(vector, sum) for each of this thread's vectors, the summands of `together` of which are in flight at a time.
  // read(i, vector) is one of them.
  template <int summands, int together, class Read, class Leave>
  CUTE_DEVICE void reduce(Read const& read, Leave const& leave) const {
    CUTE_NO_UNROLL
    for (int next = thread; next < count; next += threads * together) {
      Vector of[together][summands];
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) {
        int const vector = next + i * threads < count ? next + i * threads : next;  // else one of its own again
        CUTE_UNROLL
        for (int j = 0; j < summands; ++j) of[i][j] = read(j, vector);
      }
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) {
        Vector sum = of[i][0];
        CUTE_UNROLL
        for (int j = 1; j < summands; ++j) {
          CUTE_UNROLL
          for (int x = 0; x < 4; ++x) sum.x[x] += of[i][j].x[x];
        }
        if (next + i * threads < count) leave(next + i * threads, sum);
      }
    }
  }
};

// Reduces a CTA's share of a tile, whose partial sums have become visible to the cluster. Returns whether this CTA has the
// whole of it: then leave(vector, sum) was called for each of its vectors. is_last is in shared memory; the barrier is that
// of the share's threads.
template <class Config, class Barrier, class Leave>
CUTE_DEVICE bool reduce_cluster(ShareOfTile<Config> const& share, typename Config::TC* partials, ClusterSplit const& split,
                                bool& is_last, Barrier const& barrier, Leave const& leave) {
  using TC = typename Config::TC;
  using Vector = typename ShareOfTile<Config>::Vector;
  std::int64_t const counter = split.counter();
  auto* const of_all = static_cast<Vector*>(split.partials.sums) + counter * split.clusters * share.count;
  auto* const of_own = of_all + split.cluster * share.count;
  bool const is_alone = split.clusters == 1;
  partials += share.first * share.pitch;
  auto const reduce = [&](auto splits, auto together) {
    TC const* of[splits];
    CUTE_UNROLL
    for (int i = 0; i < splits; ++i) of[i] = static_cast<TC const*>(__cluster_map_shared_rank(partials, split.cta(i)));
    share.template reduce<splits, together>(
        [&](int i, int vector) { return *reinterpret_cast<Vector const*>(of[i] + share.place(vector)); },
        [&](int vector, Vector const& sum) {
          if (is_alone) {
            leave(vector, sum);
          } else {
            of_own[vector] = sum;
          }
        });
  };
  static_assert(Config::max_cluster == 8);
  if (split.log2_splits == 1) reduce(cute::Int<2>{}, cute::Int<4>{});
  if (split.log2_splits == 2) reduce(cute::Int<4>{}, cute::Int<2>{});
  if (split.log2_splits == 3) reduce(cute::Int<8>{}, cute::Int<2>{});
  if (is_alone) return true;

  if (!arrives_last(split.partials.counters, counter, static_cast<unsigned>(split.clusters), share.thread, is_last, barrier)) {
    return false;
  }
  constexpr auto nothing = static_cast<TC>(-0.0);  // changes no sum
  Vector const none{{nothing, nothing, nothing, nothing}};
  share.template reduce<kFanIn, 2>(
      [&](int i, int vector) { return i < split.clusters ? of_all[i * share.count + vector] : none; }, leave);
  return true;
}

}  // namespace cute_py::kernels
