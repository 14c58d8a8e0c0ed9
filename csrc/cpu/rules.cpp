#include "problem/decision.hpp"

#include <algorithm>
#include <cmath>

#include "cpu/loop_plan.hpp"

// How fast a core is, roughly: what matters is which is the fastest.
namespace cute_py::cpu {
namespace {

// Multiply-adds of a core in a microsecond.
constexpr double kOfFloats = 50e3;

double speed_of(Traits const& t) {
  switch (t.compute) {
    case Compute::f64:
      return kOfFloats / 2;
    case Compute::c64:
      return kOfFloats / 4;
    case Compute::c128:
      return kOfFloats / 8;
    default:
      return kOfFloats;
  }
}

// Of a call.
constexpr double kCallUs = 1;

// The narrower the vectors the more of everything, so that products of all sizes take one instruction set.
Estimate on(Traits const& t, double us, Bound bound) {
  return {us * (t.isa == Isa::avx512 ? 1 : t.isa == Isa::avx2 ? 1.5 : 3), bound};
}

// What memory moves in a microsecond; smaller arrays are in a cache.
constexpr double kBytesPerUs = 10e3;
constexpr double kBytesInCache = 1 << 20;

// A result whose rows follow one another is written in vectors.
constexpr double kScattered = 1.05;

// Numbers that are packed in a microsecond, and what a product of a batch takes beside its multiply-adds.
constexpr double kPackedPerUs = 1000;
constexpr double kProductUs = 1;

double threads_for(double work, double per_thread, DeviceInfo const& device) {
  return std::clamp(work / per_thread, 1.0, static_cast<double>(std::max(device.multiprocessors, 1)));
}

double work_of(Extents const& x) {
  return static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(std::max<std::int64_t>(x.k, 1)) *
         static_cast<double>(x.l);
}

// To read the factors once.
double us_to_read(Geometry const& g, Extents const& x) {
  double const a = static_cast<double>(x.m) * static_cast<double>(x.k) * bytes_of(g.type[Role::a]);
  double const b = static_cast<double>(x.n) * static_cast<double>(x.k) * bytes_of(g.type[Role::b]);
  double const bytes = (a + b) * static_cast<double>(x.l);
  return bytes > kBytesInCache ? bytes / kBytesPerUs : 0;
}

Estimate engine(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  double const work = work_of(x);
  double const results = static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.l);
  double const threads = threads_for(work, 1 << 21, device);
  bool const follow = g.m.rank() == 0 || g.m[0].stride[Role::d] == 1;
  auto const up = [](std::int64_t extent, int tile) {
    return static_cast<double>(ceil_div(extent, tile) * tile) / static_cast<double>(std::max<std::int64_t>(extent, 1));
  };
  double const in_tiles = work * up(x.m, t.tile[0]) * up(x.n, t.tile[1]) / speed_of(t);
  double const packed = static_cast<double>(x.m + x.n) * static_cast<double>(x.k) * static_cast<double>(x.l);
  double const math = (in_tiles + packed / kPackedPerUs + kProductUs * static_cast<double>(x.l)) / threads;
  double const memory = results * bytes_of(g.type[Role::d]) * (follow ? 1 : kScattered) / kBytesPerUs;
  return on(t, kCallUs + math + memory, math > memory ? Bound::math : Bound::memory);
}

// A product of a batch, and a tile of it, without packing. What a second-level cache does not hold is read again and
// again.
constexpr double kSmallProductUs = 0.02;
constexpr double kSmallTileUs = 0.02;
constexpr double kBytesReadAgain = 512 << 10;

Estimate small(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  auto const tiles_m = static_cast<double>(ceil_div(x.m, t.tile[0]));
  auto const tiles_n = static_cast<double>(ceil_div(x.n, t.tile[1]));
  auto const l = static_cast<double>(x.l);
  double const steps = static_cast<double>(x.k) * tiles_m * tiles_n;
  // Of a tile, what is computed: whole vectors, and columns in pairs.
  auto const rows = std::min<double>(t.tile[0], 2 * x.m > t.tile[0] ? t.tile[0] : t.tile[0] / 2);
  auto const columns = static_cast<double>(std::min<std::int64_t>(x.n + x.n % 2, t.tile[1]));
  double const bytes = static_cast<double>(x.n) * static_cast<double>(x.k) * bytes_of(type_of_sums(g.compute));
  double const slow = bytes > kBytesReadAgain ? 2.5 : 1.1;
  bool const packs = g.m.rank() > 0 && g.m[0].stride[Role::a] != 1;
  double const packed = packs ? static_cast<double>(x.m) * static_cast<double>(x.k) / kPackedPerUs : 0;
  bool const scatters = g.m.rank() > 0 && g.m[0].stride[Role::d] != 1;
  double const written = static_cast<double>(x.m) * static_cast<double>(x.n) / (scatters ? 500 : 5000);
  double const tile = steps * rows * columns * slow / speed_of(t);
  double const us = kSmallProductUs + tiles_m * tiles_n * kSmallTileUs + tile + packed + written;
  // Short pieces of columns of A are not what memory is good at.
  double const read = us_to_read(g, x) * (x.m > t.tile[0] && !packs ? 3 : 1.2);
  return on(t, kCallUs + std::max(us * l, read) / threads_for(work_of(x), 1 << 21, device), Bound::math);
}

// Multiply-adds of lines that a core does in a microsecond, and what a piece of a line takes beside them. Of rows, a
// step of k of all lanes, and what begins a run of steps of all lanes.
constexpr double kLoopsPerUs = 6000;
constexpr double kLineUs = 0.03;
constexpr double kRowStepUs = 0.002;
constexpr double kRowsUs = 0.1;

Estimate loops(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  auto const block = block_of_k(g.compute);
  LoopPlan const plan = make_plan(g, block);
  auto const results = static_cast<double>(plan.elements);
  auto const k = static_cast<double>(std::max<std::int64_t>(x.k, 1));
  auto const run = static_cast<double>(g.k.rank() == 0 ? 1 : std::max<std::int64_t>(g.k[0].extent, 1));
  bool const own_types = g.type[Role::a] == type_of_sums(g.compute) && g.type[Role::b] == g.type[Role::a];
  double const slow = (own_types ? 1 : 4) * kOfFloats / speed_of(t);
  double us = 0;
  if (plan.in_lines) {
    auto const line = static_cast<double>(std::clamp<std::int64_t>(plan.free[0].extent, 1, 1024));
    us = results * k * slow / kLoopsPerUs + results / line * kLineUs * std::ceil(k / std::min(run, 16.0));
  } else {
    // Blocks of K take the place of rows if these are few.
    bool const in_blocks = g.k.rank() <= 1;
    auto const lanes = static_cast<double>(t.isa == Isa::avx512 ? 16 : t.isa == Isa::avx2 ? 8 : 4);
    auto const blocks = static_cast<double>(ceil_div(x.k, block));
    double const chains = std::ceil(results * (in_blocks ? blocks : 1) / lanes) * (in_blocks ? 1 : blocks);
    double const steps = std::min(k, static_cast<double>(block));
    us = chains * (steps * kRowStepUs * slow + kRowsUs * std::ceil(steps / run));
  }
  double const read = us_to_read(g, x) * (g.n.size() > 1 && g.m.size() > 1 && x.k > 1 ? std::min(x.m, x.n) : 1);
  return on(t, kCallUs + std::max(us, read) / threads_for(work_of(x), 1 << 18, device), Bound::memory);
}

Estimate reference(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  Estimate slow = engine(g, x, t, device);
  slow.us *= 100;
  return slow;
}

Estimate copy(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const&) {
  double const bytes = 2 * static_cast<double>(x.m) * bytes_of(g.type[Role::d]);
  return on(t, kCallUs + bytes / kBytesPerUs, Bound::memory);
}

std::int64_t ctas(Geometry const&, Extents const&, Traits const&) { return 0; }

void no_parts(Extents const&, Traits const&, DeviceInfo const&, std::vector<std::int64_t>&) {}

}  // namespace

extern Rules const engine_rules;
extern Rules const loop_rules;
extern Rules const reference_rules;
extern Rules const small_rules;
extern Rules const copy_rules;
Rules const engine_rules{&engine, &ctas, &no_parts};
Rules const loop_rules{&loops, &ctas, &no_parts};
Rules const reference_rules{&reference, &ctas, &no_parts};
Rules const small_rules{&small, &ctas, &no_parts};
Rules const copy_rules{&copy, &ctas, &no_parts};

}  // namespace cute_py::cpu
