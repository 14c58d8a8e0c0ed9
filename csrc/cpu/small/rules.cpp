#include <algorithm>
#include <cmath>

#include "cpu/elementwise/elementwise.hpp"
#include "cpu/gemm/blocking.hpp"
#include "cpu/gemm/register_tile.hpp"
#include "cpu/model.hpp"

// Small products: cycles of the register tiles of a product, or reading its factors if that takes longer, and writing
// its result.
namespace cute_py::cpu {
namespace {

constexpr double kWrittenInPieces = 2;  // cache lines of D, in two passes

Estimate estimate(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  Profile const p = model::profile_of(t, device);
  RegisterTile const tile = register_tile(t.needs.isa);
  auto const of_type = [&](Role role) { return static_cast<double>(bytes_of(g.type[role])); };
  auto const lanes = static_cast<std::int64_t>(tile.lanes(bytes_of(type_of_sums(g.compute))));
  bool const own_a = g.type[Role::a] == type_of_sums(g.compute);
  bool const own_b = g.type[Role::b] == type_of_sums(g.compute);
  auto const m = static_cast<double>(x.m);
  auto const n = static_cast<double>(x.n);
  auto const k = static_cast<double>(std::max<std::int64_t>(x.k, 1));
  auto const l = static_cast<double>(x.l);

  bool const in_place = own_a && (model::stride_of(g.m, Role::a) == 1 || x.m == 1);
  bool const along_k = !in_place && own_a && model::stride_of(g.k, Role::a) == 1 && x.n <= tile.nr_along_k;
  auto const tiles_n = std::max<std::int64_t>(ceil_div(x.n, x.m <= 2 * lanes ? tile.nr_thin : tile.nr), 1);
  auto const columns = static_cast<int>(ceil_div(x.n, tiles_n));
  auto const rows = in_place           ? tile.mr_vectors_of(columns) * lanes
                    : along_k          ? tile.mr_vectors_along_k(x.n) * lanes
                    : x.m <= 2 * lanes ? 2 * lanes
                                       : static_cast<std::int64_t>(t.tile[0]);
  auto const panels = static_cast<double>(std::max<std::int64_t>(ceil_div(x.m, rows), 1));
  double const vectors = std::ceil(static_cast<double>(std::min(rows, x.m)) / static_cast<double>(lanes));

  // Cycles of a step of k of a tile: multiplications, numbers of B that are loaded, and what brings rows into
  // registers, while sums that wait for each other leave time for it.
  double const products = (0.5 * vectors + 0.25) * columns;
  double const moved = in_place                                       ? 0
                       : own_a && model::stride_of(g.k, Role::a) == 1 ? p.transpose_cycles * vectors
                                                                      : p.gather_cycles * vectors;
  double const converted = own_b ? 0 : p.convert_cycles * columns;
  double const step =
      static_cast<double>(tiles_n) * (std::max(p.latency_cycles, products + (along_k ? moved : 0.0)) + converted) +
      (along_k ? 0.0 : moved * (x.k > kMostStepsPacked ? tiles_n : 1));
  double const math = panels * (k * step / p.cycles_per_us + static_cast<double>(tiles_n) * p.small_tile_us);

  // A is read once, if a panel of it stays in L1; B for each panel; D in pieces, if its rows are not contiguous.
  double const bytes_a = m * k * of_type(Role::a);
  double const bytes_b = n * k * of_type(Role::b);
  double const panel = bytes_a / panels;
  double const piece_a = model::piece_of(g, Role::a, g.m, static_cast<double>(std::min(rows, x.m)), k);
  double const piece_b = model::piece_of(g, Role::b, g.n, columns, k);
  auto const bytes_kept = static_cast<double>(cache_blocking(device.caches).bytes_small_a);
  // If all of A stays in L1, columns go by once, and each result is written beside the one before.
  bool const is_by_columns = x.k <= kMostStepsPacked && m * k * bytes_of(type_of_sums(g.compute)) <= bytes_kept;
  double const read = model::us_to_read_again(p, bytes_a, piece_a) * (panel > p.l1_bytes ? tiles_n : 1) +
                      model::us_to_read_again(p, bytes_b, piece_b) * (is_by_columns ? 1 : panels);
  double const bytes_d = m * n * l * of_type(Role::d);
  bool const in_pieces = !is_by_columns && panels > 1 && bytes_d > p.l2_bytes;
  bool const follows = model::stride_of(g.m, Role::d) == 1;
  bool const is_interleaved = x.n <= std::min<std::int64_t>(kMostInterleaved, lanes) &&
                              model::stride_of(g.n, Role::d) == 1 && model::stride_of(g.m, Role::d) == x.n;
  double const written =
      (in_pieces ? kWrittenInPieces : 1) * (follows          ? model::us_to_write(p, bytes_d) / l
                                            : is_interleaved ? m * n / p.interleaved_per_us
                                                             : model::us_to_scatter(p, m * n, bytes_d));
  double const us = p.small_product_us + std::max(math, read) + 0.3 * std::min(math, read) + written;
  double const work = l * std::max(m * n * k, kLeastWork);
  return {(p.call_us + us * l / model::threads_for(work, kWorkPerThread, device)) * p.memory_slowdown,
          math > read ? Bound::math : Bound::memory};
}

}  // namespace

extern Rules const small_rules;
Rules const small_rules = model::kRules<&estimate>;

}  // namespace cute_py::cpu
