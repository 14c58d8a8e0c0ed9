#pragma once

#include <cstdint>
#include <tuple>

namespace cute_py {

// The most partial sums that split-K reduces at a time, in a tree through global memory.
inline constexpr std::uint32_t kFanIn = 8;

// How a product is laid out over the CTAs of a GPU. The first members are a decision, and two schedules with the same
// are equal; the others follow from them and the product.
struct Schedule {
  std::int64_t split_k = 1;    // CTAs that share the K of a tile of C (split-K)
  std::int64_t cluster_k = 1;  // of these, the CTAs of a cluster, which reduces through distributed shared memory;
                               // the sums of several clusters, or of single CTAs, are reduced through global memory
  int cluster_m = 1;           // CTAs of a cluster with adjacent tiles along M, which share tiles of B (multicast)
  int cluster_n = 1;           // and along N, which share tiles of A
  int raster = 0;              // height of a raster band, in rows of clusters: a band goes column by column, for
                               // hits in L2; 0: the order of the grid, or, in what is
                               // forced, as the family likes

  std::int64_t k_tiles = 0;          // tiles of K of each CTA of a split K; the last may have fewer
  std::int64_t ctas = 0;             // 0 on a CPU
  std::int64_t counter_bytes = 0;    // of the workspace: arrival counters, which may hold anything before a launch
  std::int64_t workspace_bytes = 0;  // these, and behind them the sums

  // One without split-K, of which a family decides the rest.
  static Schedule open() {
    Schedule s;
    s.cluster_k = s.cluster_m = s.cluster_n = 0;
    return s;
  }

  bool has_split_k() const { return split_k > 1; }
  bool reduces_in_global_memory() const { return split_k > cluster_k; }

  // CTAs of a cluster; 1: there are no clusters.
  std::int64_t cluster() const { return cluster_m * cluster_n * cluster_k; }

  // Reserves counters and partial sums of a reduction through global memory: `tiles` of C, of each CTA `sum_bytes`.
  void reserve(std::int64_t tiles, std::int64_t sum_bytes) {
    if (!reduces_in_global_memory()) return;
    counter_bytes = aligned(tiles * split_k * std::int64_t{sizeof(std::uint64_t)});
    workspace_bytes = counter_bytes + aligned(tiles * split_k * (sum_bytes / cluster_k));
  }

  friend bool operator==(Schedule const& x, Schedule const& y) {
    auto const decided = [](Schedule const& s) {
      return std::tie(s.split_k, s.cluster_k, s.cluster_m, s.cluster_n, s.raster);
    };
    return decided(x) == decided(y);
  }

 private:
  static std::int64_t aligned(std::int64_t x) { return (x + 255) / 256 * 256; }
};

// How the partial sums of split-K are reduced.
constexpr char const* name_of_reduction(Schedule const& s) {
  if (s.split_k == 1) return "none";
  if (s.cluster_k == 1) return "global";
  return s.split_k > s.cluster_k ? "cluster, then global" : "cluster";
}

}  // namespace cute_py
