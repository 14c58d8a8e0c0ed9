#include "cpu/gemm/rules.hpp"

#include <algorithm>

#include "cpu/model.hpp"

// The packed GEMM: its multiply-adds in whole register tiles, packing both factors, and how its tiles leave.
namespace cute_py::cpu {

Estimate estimate_gemm(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  Profile const p = model::profile_of(t, device);
  double const work = model::work_of(x);
  double const results = static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.l);
  double const threads = model::threads_for(work, kWorkPerThread, device);
  bool const follow =
      g.m.rank() == 0 || (g.m[0].stride[Role::d] == 1 && (g.m.rank() == 1 || 2 * g.m[0].extent >= t.tile[0]));
  auto const up = [](std::int64_t extent, int tile) {
    return static_cast<double>(ceil_div(extent, tile) * tile) / static_cast<double>(std::max<std::int64_t>(extent, 1));
  };
  double const in_tiles = work * up(x.m, t.tile[0]) * up(x.n, t.tile[1]) / model::fma_per_us(p, t.types.compute);
  // Contiguous rows, or steps of k, are packed in vectors.
  auto const packed = [&](Role role, Modes const& rows, std::int64_t extent) {
    constexpr double kRun = 8;
    auto const is_contiguous = [&](Modes const& modes) {
      auto const run = model::run_of(modes, role);
      return run >= kRun || run == static_cast<double>(modes.size());
    };
    bool const in_vectors =
        x.k <= 1 ? is_contiguous(rows) : is_contiguous(g.k) || (rows.rank() > 0 && is_contiguous(rows));
    return static_cast<double>(extent) * static_cast<double>(x.k) * static_cast<double>(x.l) /
           (in_vectors ? p.packed_per_us : p.packed_apart_per_us);
  };
  bool const leaves_as_it_is = g.m.rank() <= 1 && g.n.rank() <= 1 && g.is_plain() && !g.reads_c;
  double const tiles = static_cast<double>(ceil_div(x.m, t.tile[0])) * static_cast<double>(ceil_div(x.n, t.tile[1])) *
                       static_cast<double>(x.l) * (leaves_as_it_is ? p.tile_us : p.tile_by_memory_us);
  double const math = (in_tiles + packed(Role::a, g.m, x.m) + packed(Role::b, g.n, x.n) + tiles +
                       p.product_us * static_cast<double>(x.l)) /
                      threads;
  auto const us_to_pack = [&](Role role, Modes const& rows, std::int64_t extent, int panel) {
    double const size = static_cast<double>(extent) * static_cast<double>(x.k) * bytes_of(g.type[role]);
    auto const width = static_cast<double>(std::min<std::int64_t>(extent, panel));
    return model::us_to_read_again(p, size, model::piece_of(g, role, rows, width, static_cast<double>(x.k)));
  };
  double const read = (us_to_pack(Role::a, g.m, x.m, t.tile[0]) + us_to_pack(Role::b, g.n, x.n, t.tile[1])) *
                      static_cast<double>(x.l) / threads;
  double const bytes_d = results * bytes_of(g.type[Role::d]);
  double const memory = follow ? model::us_to_write(p, bytes_d) : model::us_to_scatter(p, results, bytes_d);
  constexpr double kOfOneStep = 1.3;  // what is packed for one step of k is used once
  double const us = (math + read + memory) * (x.k <= 1 ? kOfOneStep : 1);
  return {(p.call_us + us) * p.vector_slowdown, math > memory ? Bound::math : Bound::memory};
}

extern Rules const gemm_rules;
Rules const gemm_rules = model::kRules<&estimate_gemm>;

}  // namespace cute_py::cpu
