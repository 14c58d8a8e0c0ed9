#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/common/params.hpp"
#include "kernels/common/reduce_cluster.cuh"
#include "kernels/gemm_sm90/tiles.hpp"
#include "problem/planes.hpp"
#include "problem/tensor_box.hpp"

namespace cute_py::kernels {

// From a Geometry to the arguments of gemm_sm90.
template <class Config>
struct GemmSm90Params {
  static constexpr int blk_m = cute::size<0>(typename Config::CtaTiler{});
  static constexpr int blk_n = cute::size<1>(typename Config::CtaTiler{});
  static constexpr int blk_k = cute::size<2>(typename Config::CtaTiler{});
  static constexpr int partial_values = 0;  // split-K: the CTAs of a cluster leave partial sums of a whole tile
  static constexpr int split_tiles = 1;
  static constexpr int tensors = 5;
  static constexpr int modes = Config::planes > 1 ? kMaxKernelModes : 1 + kOuterModes;  // of M, N and K
  static constexpr int modes_l = kBoxModes - 2 - (Config::planes > 1 ? 1 : 0);          // the planes are a mode, too

  TensorBox boxes[tensors];  // of A, B and D, and of the last tiles of A and B
  TensorMap maps[tensors];
  TileScheduler tiles{};
  Epilogue<typename Config::TE> epilogue;
  Batch batch;
  ClusterPartials partials{};
  PlaneExponents exponents{};
  std::int64_t counter_bytes = 0;

  GemmSm90Params(Geometry const& product, Schedule const& schedule)
      : epilogue(typed_epilogue<Config>(product)),
        batch{ModeMap<3>(product.l, {Role::a, Role::b, Role::d}), ModeMap<4>(product.l, kEpilogueRoles), 0} {
    Geometry const g = Config::planes > 1 ? with_flat_factors(product) : product;
    if (Config::residues) epilogue.along_n = true;  // also where there is one column, whose mode is dropped
    auto const divide_up = [](std::int64_t x, std::int64_t y) { return (x + y - 1) / y; };
    auto const group = [&](Modes const& modes, int tile) {
      GroupTiles made;
      auto const tiles_of_first = divide_up(modes.rank() > 0 ? modes[0].extent : 1, tile);
      made.tiles = Divisor(static_cast<std::uint32_t>(std::max<std::int64_t>(tiles_of_first, 1)));
      auto count = tiles_of_first;
      for (int i = 0; i < kOuterModes; ++i) {
        auto const extent = i + 1 < modes.rank() ? modes[i + 1].extent : 1;
        made.outer[i] = Divisor(static_cast<std::uint32_t>(extent));
        count *= extent;
      }
      made.count = static_cast<std::uint32_t>(count);
      return made;
    };
    tiles.splits = static_cast<int>(schedule.cluster_k);
    tiles.clusters = static_cast<int>(schedule.split_k / schedule.cluster_k);
    counter_bytes = schedule.counter_bytes;
    tiles.multicast_m = schedule.cluster_m;
    tiles.multicast_n = schedule.cluster_n;
    tiles.ctas = Divisor(cluster() * static_cast<unsigned>(tiles.clusters));
    tiles.m = group(g.m, blk_m * tiles.multicast_m);
    tiles.n = group(g.n, blk_n * tiles.multicast_n);
    tiles.k = group(g.k, blk_k);
    tiles.is_flat = g.m.rank() <= 1 && g.n.rank() <= 1 && g.k.rank() <= 1 && g.l.rank() == 0;
    while ((1 << tiles.log2_splits) < tiles.splits) ++tiles.log2_splits;
    tiles.has_outer_k = tiles.k.count != tiles.k.tiles.divisor;
    tiles.extent_m = static_cast<int>(g.m.rank() > 0 ? g.m[0].extent : 1);
    tiles.extent_n = static_cast<int>(g.n.rank() > 0 ? g.n[0].extent : 1);
    for (int i = 0; i < 2; ++i) tiles.l[i] = Divisor(static_cast<std::uint32_t>(i < g.l.rank() ? g.l[i].extent : 1));

    auto& raster = tiles.raster;
    auto const rows = static_cast<std::uint32_t>(std::max(schedule.raster, 1));
    raster.per_product = Divisor(tiles.m.count * tiles.n.count);
    raster.per_band = Divisor(rows * tiles.n.count);
    raster.rows = Divisor(rows);
    raster.bands = static_cast<std::uint32_t>(divide_up(tiles.m.count, rows));
    raster.last_rows = Divisor(tiles.m.count - (raster.bands - 1) * rows);
    tiles.count = static_cast<int>(raster.per_product.divisor * g.l.size());
    tiles.split_tiles = static_cast<int>(schedule.has_split_k() ? schedule.k_tiles : tiles.k.count);

    tiles.rows_a = rows_to_copy(g.m, Config::along_a, blk_m, Config::copy_rows_a, tiles.multicast_n);
    tiles.rows_b = rows_to_copy(g.n, Config::along_b, blk_n, Config::copy_rows_b, tiles.multicast_m);
    auto const factor_a = [&](int rows) {
      return factor(g, Role::a, g.m, Config::along_a, rows, tiles.multicast_n, tiles.a);
    };
    auto const factor_b = [&](int rows) {
      return factor(g, Role::b, g.n, Config::along_b, rows, tiles.multicast_m, tiles.b);
    };
    boxes[0] = factor_a(tiles.rows_a.all);
    boxes[1] = factor_b(tiles.rows_b.all);
    boxes[3] = factor_a(tiles.rows_a.of_last);
    boxes[4] = factor_b(tiles.rows_b.of_last);
    bool const is_result_flat = product.m.rank() <= 1 && product.n.rank() <= 1;
    tiles.stores_boxes = (Config::planes == 1 || is_result_flat) && finishes_in_boxes(g, epilogue.along_n);
    if (Config::residues) tiles.moduli = ModuliOfBatch(g);
    tiles.finishes = tiles.stores_boxes && !epilogue.is_plain && !schedule.has_split_k();
    if (tiles.finishes && g.has_bias) {
      bool const is_of_columns = is_repeated(g.m, Role::bias);
      bool const is_of_rows = is_repeated(g.n, Role::bias);
      tiles.bias = is_of_columns ? BiasOf::columns : is_of_rows ? BiasOf::rows : BiasOf::elements;
      tiles.brings_bias = tiles.bias != BiasOf::elements;
    }
    // Other types are for the whole epilogue.
    epilogue.is_plain = epilogue.is_plain && contains(Config::plain_results, g.type[Role::d]);
    boxes[2] = tiles.stores_boxes ? result(g) : boxes[0];
  }

  // Calls visit(map, box, role) for each array that TMA moves.
  template <class Visit>
  void for_each_tensor(Visit const& visit) {
    constexpr Role kRolesOf[tensors] = {Role::a, Role::b, Role::d, Role::a, Role::b};
    for (int i = 0; i < tensors; ++i) {
      // Where D is not written in boxes, its map is one more of A: D may begin anywhere.
      visit(maps[i], boxes[i], i == 2 && !tiles.stores_boxes ? Role::a : kRolesOf[i]);
    }
  }

  void bind(Arguments const& x) {
    using T = typename Config::TE;
    epilogue.alpha = numeric::scalar<T>(x.alpha);
    epilogue.beta = numeric::scalar<T>(x.beta);
    epilogue.scale = numeric::scalar<T>(x.scale);
    for (int i = 0; i < 4; ++i) epilogue.data[i] = x.data[kEpilogueRoles[i]];
    partials.counters = {static_cast<ArrivalCounters::Word*>(x.split_k_workspace), x.launch};
    partials.sums = static_cast<char*>(x.split_k_workspace) + counter_bytes;
    exponents = {x.exponents[0], x.exponents[1]};
  }

  // CTAs of a cluster.
  unsigned cluster() const { return static_cast<unsigned>(tiles.multicast_m * tiles.multicast_n * tiles.splits); }

  // Persistent CTAs: as many as run at a time, each with several tiles, one after the other. With split-K each has one
  // tile.
  template <class Launch>
  void for_each_grid(int multiprocessors, Launch const& launch) {
    auto const count = static_cast<unsigned>(tiles.count);
    unsigned const clusters = std::max(static_cast<unsigned>(multiprocessors) / cluster(), 1u);
    unsigned const at_a_time = tiles.splits > 1 ? count : std::min(count, clusters);
    tiles.step = static_cast<int>(at_a_time);
    launch(Grid{at_a_time * tiles.ctas.divisor, 1, 1});
  }

  // The tile of C that a CTA begins with, by its number: rows, columns and products of the batch.
  Grid first_tile(unsigned cta) const {
    auto const multicast = static_cast<unsigned>(tiles.multicast_m * tiles.multicast_n);
    auto const work = tiles(tiles.ctas.divide(cta), static_cast<int>(cta % multicast));
    auto const number = [](GroupTiles const& group, GroupDigits const& x, int multicast) {
      auto const outer = x.outer[0] + x.outer[1] * static_cast<int>(group.outer[0].divisor);
      return static_cast<unsigned>(x.tile + outer * static_cast<int>(group.tiles.divisor) * multicast);
    };
    return {number(tiles.m, work.m, tiles.multicast_m), number(tiles.n, work.n, tiles.multicast_n), work.product};
  }

  template <class Call>
  decltype(auto) apply(Call const& call) const {
    return call(maps[0], maps[1], maps[2], maps[3], maps[4], tiles, epilogue, batch, partials, exponents);
  }

 private:
  // Planes of factors are one mode in each group, also where the result has several.
  static Geometry with_flat_factors(Geometry g) {
    for (Modes* modes : {&g.m, &g.n}) {
      if (modes->rank() <= 1) continue;
      Mode flat = (*modes)[0];
      flat.extent = modes->size();
      *modes = Modes({flat});
    }
    return g;
  }

  // Has a tile, along the first mode of a group, one element of an array?
  static bool is_repeated(Modes const& group, Role role) { return group.rank() == 0 || group[0].stride[role] == 0; }

  static void set_outer(TensorBox& box, OuterModes& outer, Geometry const& g, Role role, Modes const& mn,
                        Modes const& k) {
    int next = 0;
    auto const add = [&](Modes const& group, int first, Outer name) {
      for (int i = first; i < group.rank(); ++i) {
        if (group[i].stride[role] == 0 || group[i].extent == 1) continue;
        box.set(2 + next, group, i, role, 1);
        outer.mode[next++] = static_cast<Outer>(static_cast<int>(name) + i - first);
      }
    };
    add(mn, 1, Outer::mn0);
    add(k, 1, Outer::k0);
    add(g.l, 0, Outer::l0);
    for (int i = next; i < 3; ++i) box.set(2 + i, Modes(), 0, role, 1);
  }

  // Rows behind the last one in shared memory are multiplied, but not written.
  static RowsToCopy rows_to_copy(Modes const& mn, Major major, int tile, int rows_of_copy, int share) {
    constexpr int kSwizzled = 8;  // rows that a swizzle repeats after
    int const step = major == Major::k ? kSwizzled * share : rows_of_copy;
    std::int64_t const extent = mn.rank() > 0 ? std::max<std::int64_t>(mn[0].extent, 1) : 1;
    auto const rounded = [&](std::int64_t rows) { return static_cast<int>((rows + step - 1) / step * step); };
    int const of_last = rounded((extent - 1) % tile + 1);
    return {extent > tile ? tile : of_last, of_last};
  }

  // With multicast each CTA loads half of a k-major tile's rows, or half of the steps of k of one that is not.
  static TensorBox factor(Geometry const& g, Role role, Modes const& mn, Major major, int rows, int share,
                          OuterModes& outer) {
    TensorBox box;
    box.type = g.type[role];
    box.to_tfloat32 = std::is_same_v<typename Config::TA, cutlass::tfloat32_t>;
    box.rank = kBoxModes;
    bool const k_major = major == Major::k;
    box.set(k_major ? 0 : 1, g.k, 0, role, k_major ? blk_k : blk_k / share);
    int const rows_of_copy = role == Role::a ? Config::copy_rows_a : Config::copy_rows_b;
    box.set(k_major ? 1 : 0, mn, 0, role, k_major ? rows / share : std::min(rows, rows_of_copy));
    set_outer(box, outer, g, role, mn, g.k);
    if constexpr (Config::planes > 1) {
      Mode planes{Config::planes, {}, false, false};
      planes.stride[role] = plane_line(g.planes, g.k.size()) * mn.size() * g.l.size();
      box.set(kBoxModes - 1, Modes({planes}), 0, role, 1);
    }
    return box;
  }

  TensorBox result(Geometry const& g) {
    TensorBox box;
    box.type = g.type[Role::d];
    box.rank = kBoxModes;
    int const line = 128 / bytes_of(box.type);
    box.set(epilogue.along_n ? 1 : 0, g.m, 0, Role::d, epilogue.along_n ? Config::box : line);
    box.set(epilogue.along_n ? 0 : 1, g.n, 0, Role::d, line);
    set_outer(box, tiles.d, g, Role::d, g.m, g.n);
    if (Config::residues) box.extent[0] = residue_line(g.n.size());  // with the padding of a line
    return box;
  }
};

}  // namespace cute_py::kernels
