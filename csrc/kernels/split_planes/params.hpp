#pragma once

#include <algorithm>

#include "kernels/common/params.hpp"
#include "kernels/split_planes/config.hpp"
#include "problem/access.hpp"
#include "problem/residues.hpp"

namespace cute_py::kernels {

// The arguments of split_planes. M counts the rows, with L's.
template <class Config>
struct SplitParams {
  static constexpr int partial_values = 0;
  static constexpr int split_tiles = 1;
  using Number = typename Config::Number;

  SplitShape shape{};
  Number const* from = nullptr;
  char* to = nullptr;
  int* exponents = nullptr;
  bool overlaps_previous = false;
  Grid grid;

  SplitParams(Geometry const& g, Schedule const&) {
    shape.row = ModeMap<1>(g.m, {Role::a});
    shape.k = ModeMap<1>(g.k, {Role::a});
    shape.rows = static_cast<int>(g.m.size());
    shape.steps = static_cast<int>(g.k.size());
    shape.planes = g.planes;
    shape.line = plane_line(g.planes, g.k.size());
    shape.plane = shape.line * shape.rows;
    shape.conjugate = g.conj_a;
    shape.along_k = shortest_stride(g.k, Role::a) < shortest_stride(g.m, Role::a);
    Access const access = access_along(g, Role::a, g.k);
    shape.in_vectors = access.whole && access.bytes == 16;
    shape.log2_groups = OrderOfSquares::log2_groups(g.k.size());
    set_grid(true);
    if (!g.planes.has_residues()) return;
    shape.norm = largest_squared_norm(g.planes, g.k.size());
    for (int i = 0; i < g.planes.count; ++i) {
      int const modulus = modulus_of(g.planes.kind, i);
      int const of_halves = (1 << 16) % modulus;
      shape.residue[i] = {static_cast<float>(modulus),
                          1 / static_cast<float>(modulus),
                          g.planes.is_complex() ? static_cast<float>(root_of_minus_one(modulus)) : 0,
                          static_cast<float>(2 * of_halves > modulus ? of_halves - modulus : of_halves),
                          static_cast<double>(modulus),
                          1 / static_cast<double>(modulus)};
    }
  }

  void bind(Arguments const& x) {
    from = static_cast<Number const*>(x.data[Role::a]);
    to = static_cast<char*>(x.data[Role::d]);
    exponents = x.exponents[0];
    overlaps_previous = x.overlaps_previous;
  }

  // CTAs of a cluster; without one each of them scans all of its rows.
  unsigned cluster() const { return shape.parts.divisor; }
  void forgo_clusters() { set_grid(false); }

  template <class Launch>
  void for_each_grid(Launch const& launch) {
    launch(grid);
  }

  template <class Call>
  decltype(auto) apply(Call const& call) const {
    return call(shape, from, to, exponents, overlaps_previous);
  }

 private:
  // Chooses how many CTAs share the K of some rows: two or more for each multiprocessor of an H200, where K has groups
  // enough; in a cluster also so that they keep all words of these rows.
  void set_grid(bool is_cluster) {
    constexpr int kWantedCtas = 264;
    int const groups = 1 << shape.log2_groups;
    int const rows = shape.along_k ? Config::warps / groups : Config::rows_along_m;
    int const blocks = (shape.rows + rows - 1) / rows;
    int const words = (shape.steps + Config::together - 1) / Config::together;
    auto const is_enough = [&](int parts) {
      return parts * blocks >= kWantedCtas && (!is_cluster || parts * Config::kept_words * Config::chunk >= words);
    };
    int parts = 1;
    while (!shape.along_k && parts < std::min(groups, Config::most_ctas_of_rows) && !is_enough(parts)) parts *= 2;
    shape.parts = Divisor(static_cast<std::uint32_t>(parts));
    shape.is_cluster = is_cluster;
    grid.m = static_cast<unsigned>(blocks * parts);
  }
};

}  // namespace cute_py::kernels
