#include "problem/decision.hpp"

#include <algorithm>
#include <cmath>

#include "cpu/elementwise/elementwise.hpp"
#include "cpu/gemm/blocking.hpp"
#include "cpu/loop_plan.hpp"

// The cost model of the CPU kernels: rates of a core (fused multiply-adds, bandwidths of L1, L2, L3 and DRAM, gathers)
// times counted work. What matters is which kernel is the fastest.
namespace cute_py::cpu {
namespace {

// FMA rate: multiply-adds of a core in a microsecond. Like all constants here it is fitted so that the fastest kernel
// is found, on cores that are up to four times as fast.
constexpr double kFmaPerUs = 32e3;

double speed_of(Traits const& t) {
  switch (t.types.compute) {
    case Compute::f64:
      return kFmaPerUs / 2;
    case Compute::c64:
      return kFmaPerUs / 4;
    case Compute::c128:
      return kFmaPerUs / 8;
    case Compute::i32:
      return t.needs.isa == Isa::avx512_vnni ? kFmaPerUs * 3 : kFmaPerUs;
    default:
      return kFmaPerUs;
  }
}

// Of a call.
constexpr double kCallUs = 1;

// The narrower the vectors the more of everything: the engine, which multiplies most of the time, feels it most.
Estimate on(Traits const& t, double us, Bound bound) {
  return {us * (t.needs.isa >= Isa::avx512 ? 1 : t.needs.isa == Isa::avx2 ? 1.25 : 3), bound};
}

Estimate on_less(Traits const& t, double us, Bound bound) {
  return {us * (t.needs.isa == Isa::baseline ? 2 : 1), bound};
}

// DRAM bandwidth, in bytes per microsecond; smaller arrays are in L2.
constexpr double kDramBytesPerUs = 16e3;
constexpr double kL2Bytes = 1 << 20;

// Cycles of a core in a microsecond; L2 and L3 bandwidth; sizes of L1 and L3.
constexpr double kCyclesPerUs = 1600;
constexpr double kL2BytesPerUs = 40e3;
constexpr double kL3BytesPerUs = 24e3;
constexpr double kL1Bytes = 32 << 10;
constexpr double kL3Bytes = 16 << 20;

// To write a result once, dense.
double us_to_write(double bytes) {
  return bytes / (bytes <= kL2Bytes ? kL2BytesPerUs : bytes <= kL3Bytes ? kL3BytesPerUs : kDramBytesPerUs);
}

// Scatter rate: a result whose rows do not follow one another is written number by number, so many in a microsecond.
double scattered_per_us(double bytes) { return bytes > kL2Bytes ? 150 : 600; }

// Packing rates: numbers in a microsecond, in vectors and one by one; and what a product of a batch, and a register
// tile of it, take beside their multiply-adds: a tile that leaves as it is, or by way of memory.
constexpr double kPackedPerUs = 2500;
constexpr double kPackedApartPerUs = 640;
constexpr double kProductUs = 1;
constexpr double kTileUs = 0.01;
constexpr double kTileByMemoryUs = 0.12;

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
  if (bytes <= kL2Bytes) return 0;
  return bytes / (bytes <= kL3Bytes ? kL3BytesPerUs : kDramBytesPerUs);
}

// One pass over an array of so many bytes that is read again and again, at the bandwidth of the cache that holds it, in
// pieces of so many that follow one another.
double us_to_read_again(double bytes, double piece) {
  if (bytes <= kL1Bytes) return 0;
  if (bytes <= kL2Bytes) return bytes / kL2BytesPerUs;
  constexpr double kShort = 256;
  constexpr double kMost = 4;
  return bytes / (bytes <= kL3Bytes ? kL3BytesPerUs : kDramBytesPerUs) * std::min(1 + kShort / piece, kMost);
}

std::int64_t stride_of(Modes const& modes, Role role) { return modes.rank() == 0 ? 1 : modes[0].stride[role]; }

// How many elements follow one another in an array, in the order of its modes.
double run_of(Modes const& modes, Role role) {
  std::int64_t run = 1;
  for (Mode const& mode : modes) {
    if (mode.stride[role] != run) break;
    run *= mode.extent;
  }
  return static_cast<double>(run);
}

// Bytes of a factor that follow one another where `count` of its rows are read for all k.
double piece_of(Geometry const& g, Role role, Modes const& rows, double count, double k) {
  bool const is_along_k = k > 1 && stride_of(g.k, role) == 1;
  bool const is_along_rows = stride_of(rows, role) == 1;
  // Where all rows are read, a step of k may begin where the one before ends.
  bool const goes_on = is_along_rows && rows.rank() == 1 && g.k.rank() == 1 &&
                       static_cast<double>(rows[0].extent) == count && g.k[0].stride[role] == rows[0].extent;
  return bytes_of(g.type[role]) * (goes_on ? count * k : is_along_k ? run_of(g.k, role) : is_along_rows ? count : 1);
}

Estimate engine(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  double const work = work_of(x);
  double const results = static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.l);
  double const threads = threads_for(work, 1 << 21, device);
  bool const follow =
      g.m.rank() == 0 || (g.m[0].stride[Role::d] == 1 && (g.m.rank() == 1 || 2 * g.m[0].extent >= t.tile[0]));
  auto const up = [](std::int64_t extent, int tile) {
    return static_cast<double>(ceil_div(extent, tile) * tile) / static_cast<double>(std::max<std::int64_t>(extent, 1));
  };
  double const in_tiles = work * up(x.m, t.tile[0]) * up(x.n, t.tile[1]) / speed_of(t);
  // Rows, or steps of k, that follow one another are packed in vectors.
  auto const packed = [&](Role role, Modes const& rows, std::int64_t extent) {
    constexpr double kRun = 8;
    auto const is_near = [&](Modes const& modes) {
      auto const run = run_of(modes, role);
      return run >= kRun || run == static_cast<double>(modes.size());
    };
    bool const in_vectors = x.k <= 1 ? is_near(rows) : is_near(g.k) || (rows.rank() > 0 && is_near(rows));
    return static_cast<double>(extent) * static_cast<double>(x.k) * static_cast<double>(x.l) /
           (in_vectors ? kPackedPerUs : kPackedApartPerUs);
  };
  bool const leaves_as_it_is = g.m.rank() <= 1 && g.n.rank() <= 1 && g.is_plain() && !g.reads_c;
  double const tiles = static_cast<double>(ceil_div(x.m, t.tile[0])) * static_cast<double>(ceil_div(x.n, t.tile[1])) *
                       static_cast<double>(x.l) * (leaves_as_it_is ? kTileUs : kTileByMemoryUs);
  double const math = (in_tiles + packed(Role::a, g.m, x.m) + packed(Role::b, g.n, x.n) + tiles +
                       kProductUs * static_cast<double>(x.l)) /
                      threads;
  auto const us_to_pack = [&](Role role, Modes const& rows, std::int64_t extent, int panel) {
    double const size = static_cast<double>(extent) * static_cast<double>(x.k) * bytes_of(g.type[role]);
    auto const width = static_cast<double>(std::min<std::int64_t>(extent, panel));
    return us_to_read_again(size, piece_of(g, role, rows, width, static_cast<double>(x.k)));
  };
  double const read = (us_to_pack(Role::a, g.m, x.m, t.tile[0]) + us_to_pack(Role::b, g.n, x.n, t.tile[1])) *
                      static_cast<double>(x.l) / threads;
  double const bytes_d = results * bytes_of(g.type[Role::d]);
  double const memory = follow ? us_to_write(bytes_d) : results / scattered_per_us(results * bytes_of(g.type[Role::d]));
  constexpr double kOfOneStep = 1.3;  // what is packed for one step of k is used once
  double const us = (math + read + memory) * (x.k <= 1 ? kOfOneStep : 1);
  return on(t, kCallUs + us, math > memory ? Bound::math : Bound::memory);
}

// A product of a batch, and a tile of it, without packing.
constexpr double kSmallProductUs = 0.05;
constexpr double kSmallTileUs = 0.015;
constexpr double kInterleavedPerUs = 2500;
constexpr double kWrittenInPieces = 2;  // lines of memory, in two passes

Estimate small(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  RegisterTile const tile = register_tile(t.needs.isa);
  auto const of_type = [&](Role role) { return static_cast<double>(bytes_of(g.type[role])); };
  auto const lanes = static_cast<std::int64_t>(tile.lanes(bytes_of(type_of_sums(g.compute))));
  bool const own_a = g.type[Role::a] == type_of_sums(g.compute);
  bool const own_b = g.type[Role::b] == type_of_sums(g.compute);
  auto const m = static_cast<double>(x.m);
  auto const n = static_cast<double>(x.n);
  auto const k = static_cast<double>(std::max<std::int64_t>(x.k, 1));
  auto const l = static_cast<double>(x.l);

  bool const in_place = own_a && (stride_of(g.m, Role::a) == 1 || x.m == 1);
  bool const along_k = !in_place && own_a && stride_of(g.k, Role::a) == 1 && x.n <= tile.nr_along_k;
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
  constexpr double kLatency = 4;
  double const transposed = t.needs.isa == Isa::avx512 ? 2.5 : 1.25;
  double const products = (0.5 * vectors + 0.25) * columns;
  double const moved = in_place ? 0 : own_a && stride_of(g.k, Role::a) == 1 ? transposed * vectors : 60 * vectors;
  double const converted = own_b ? 0 : 4 * columns;
  double const step =
      static_cast<double>(tiles_n) * (std::max(kLatency, products + (along_k ? moved : 0.0)) + converted) +
      (along_k ? 0.0 : moved * (x.k > kMostStepsPacked ? tiles_n : 1));
  double const math = panels * (k * step / kCyclesPerUs + static_cast<double>(tiles_n) * kSmallTileUs);

  // A is read once, if a panel of it stays in L1; B for each panel; D in pieces, if its rows do not follow one another.
  double const bytes_a = m * k * of_type(Role::a);
  double const bytes_b = n * k * of_type(Role::b);
  double const panel = bytes_a / panels;
  double const piece_a = piece_of(g, Role::a, g.m, static_cast<double>(std::min(rows, x.m)), k);
  double const piece_b = piece_of(g, Role::b, g.n, columns, k);
  // If all of A stays in L1, columns go by once, and each result is written beside the one before.
  bool const is_by_columns =
      x.k <= kMostStepsPacked && m * k * bytes_of(type_of_sums(g.compute)) <= static_cast<double>(kBytesKept);
  double const read = us_to_read_again(bytes_a, piece_a) * (panel > kL1Bytes ? tiles_n : 1) +
                      us_to_read_again(bytes_b, piece_b) * (is_by_columns ? 1 : panels);
  double const bytes_d = m * n * l * of_type(Role::d);
  bool const in_pieces = !is_by_columns && panels > 1 && bytes_d > kL2Bytes;
  bool const follows = stride_of(g.m, Role::d) == 1;
  bool const is_interleaved = x.n <= std::min<std::int64_t>(kMostInterleaved, lanes) && stride_of(g.n, Role::d) == 1 &&
                              stride_of(g.m, Role::d) == x.n;
  double const written = (in_pieces ? kWrittenInPieces : 1) * (follows          ? us_to_write(bytes_d) / l
                                                               : is_interleaved ? m * n / kInterleavedPerUs
                                                                                : m * n / scattered_per_us(bytes_d));
  double const us = kSmallProductUs + std::max(math, read) + 0.3 * std::min(math, read) + written;
  double const work = l * std::max(m * n * k, kLeastWork);
  return on_less(t, kCallUs + us * l / threads_for(work, 1 << 21, device), math > read ? Bound::math : Bound::memory);
}

// GEMV: what a call takes beside a small product's, the FMA rate of lines, and what a piece of a line takes beside
// them. Of rows, a step of k of all lanes, and what begins a run of steps of all lanes.
constexpr double kLoopsFmaPerUs = 5700;
constexpr double kAxpyFmaPerUs = 12e3;  // if one of the factors is the same along the line
constexpr double kLoopsCallUs = 0.1;
constexpr double kLineUs = 0.1;
constexpr double kRowStepUs = 0.003;
constexpr double kGatherStepUs = 0.002;
constexpr double kRowsUs = 0.1;

// Dot products: L1 bandwidth, in bytes per microsecond, and what a block takes.
constexpr double kDotBytesPerUs = 80e3;
constexpr double kBlockUs = 0.008;

// Elementwise: what it takes to bring an element of a factor into a register, transposed or gathered, and what a
// vector of sums and a rectangle take; a vector of products of two elements each is one of a plain loop.
constexpr double kAcrossUs = 0.0002;
constexpr double kGatherUs = 0.0016;
constexpr double kVectorUs = 0.0032;
constexpr double kVectorOfProductsUs = 0.0012;
constexpr double kRectangleUs = 0.03;

double us_of_rectangles(Geometry const& g, Extents const& x, LoopPlan const& plan) {
  Mode const& i = plan.free[0];
  Mode const j = plan.free.rank() > 1 ? plan.free[1] : Mode{};
  auto const results = static_cast<double>(plan.elements);
  auto const k = static_cast<double>(std::max<std::int64_t>(x.k, 1));
  if (results == 0) return 0;
  double element = 0;
  for (Role const role : {Role::a, Role::b}) {
    bool const is_near = i.stride[role] == 0 || i.stride[role] == 1;
    element += is_near ? 0 : j.stride[role] == 1 ? kAcrossUs : kGatherUs;
  }
  constexpr double kLanes = 16;
  bool const is_one_line = numbers_of_short_lines(i, j, plan.k) != Role::c;
  auto const extent = static_cast<double>(i.extent * (is_one_line ? j.extent : 1));
  double const vector = (x.k > 1 ? kVectorUs : kVectorOfProductsUs) * std::ceil(extent / kLanes) / extent;
  double const rectangle = kRectangleUs / std::min(static_cast<double>(i.extent * j.extent), 8192.0);
  double const bytes = results * bytes_of(g.type[Role::d]);
  return results * (k * (element + vector) + rectangle) + us_to_write(bytes);
}

Estimate loops(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  LoopPlan const plan = make_plan(g);
  auto const results = static_cast<double>(plan.elements);
  auto const k = static_cast<double>(std::max<std::int64_t>(x.k, 1));
  auto const run = static_cast<double>(g.k.rank() == 0 ? 1 : std::max<std::int64_t>(g.k[0].extent, 1));
  bool const own_types = g.type[Role::a] == type_of_sums(g.compute) && g.type[Role::b] == g.type[Role::a];
  double const slow = (own_types ? 1 : 4) * kFmaPerUs / speed_of(t);
  double us = 0;
  if (plan.in_rectangles) {
    us = us_of_rectangles(g, x, plan);
  } else if (is_contiguous_reduction(g)) {
    double const bytes = k * bytes_of(g.type[Role::a]) * (g.k[0].stride[Role::a] == g.k[0].stride[Role::b] ? 2 : 1);
    us = results * (bytes * slow / kDotBytesPerUs + kBlockUs * std::ceil(k / static_cast<double>(kBlockOfK)));
  } else if (plan.in_lines) {
    auto const line = static_cast<double>(std::clamp<std::int64_t>(plan.free[0].extent, 1, 1024));
    double apart = 0;
    bool is_shared = false;
    for (Role const role : {Role::a, Role::b}) {
      auto const stride = plan.free[0].stride[role];
      apart += stride == 0 || stride == 1 ? 0 : kGatherStepUs;
      is_shared = is_shared || stride == 0;
    }
    us = results * k * (slow / (is_shared ? kAxpyFmaPerUs : kLoopsFmaPerUs) + apart) +
         results / line * kLineUs * std::ceil(k / std::min(run, 16.0));
  } else {
    // Blocks of K take the place of rows if these are few: those of one element after those of another.
    auto const lanes = static_cast<double>(t.needs.isa == Isa::avx512 ? 16 : t.needs.isa == Isa::avx2 ? 8 : 4);
    auto const blocks = static_cast<double>(ceil_div(x.k, kBlockOfK));
    bool const in_blocks = g.k.rank() <= 1 && blocks > 1 && results < 16;
    double const chains = in_blocks ? results * std::ceil((blocks - 1) / lanes) + std::ceil(results / lanes)
                                    : std::ceil(results / lanes) * blocks;
    double const steps = std::min(k, static_cast<double>(kBlockOfK));
    // A factor whose steps of k lie apart is brought together element by element.
    double const row_step = kRowStepUs * (t.needs.isa == Isa::avx512 ? 1.2 : 1);
    double step = 0;
    for (Role const role : {Role::a, Role::b}) {
      auto const along_k = g.k.rank() == 0 ? 0 : g.k[0].stride[role];
      bool const is_shared = in_blocks ? along_k == 0
                                       : std::all_of(plan.free.begin(), plan.free.end(),
                                                     [&](Mode const& mode) { return mode.stride[role] == 0; });
      // Both parts of complex numbers, two to a step, are moved as doubles.
      bool const in_pairs = along_k == 2 && g.type[role] == DType::f32 && plan.free.rank() > 0 &&
                            plan.free[0].extent == 2 && plan.free[0].stride[role] == 1;
      step += is_shared ? 0 : along_k == 1 || in_pairs ? row_step : lanes * kGatherStepUs;
    }
    us = chains * (steps * std::max(step, row_step) * slow + kRowsUs * std::ceil(steps / run));
  }
  double const bytes_d = results * bytes_of(g.type[Role::d]);
  if (!plan.in_rectangles)
    us += plan.free[0].stride[Role::d] == 1 ? us_to_write(bytes_d) : results / scattered_per_us(bytes_d);
  double const read = us_to_read(g, x) * (g.n.size() > 1 && g.m.size() > 1 && x.k > 1 ? std::min(x.m, x.n) : 1);
  double const call = kCallUs + kLoopsCallUs;
  return on_less(t, call + std::max(us, read) / threads_for(work_of(x), 1 << 18, device), Bound::memory);
}

Estimate reference(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  Estimate slow = engine(g, x, t, device);
  slow.us *= 100;
  return slow;
}

// Copies: the bandwidth of the cache that holds them, and what the pieces take in which it is moved if they are short,
// or an element that is transposed in fewer rows or columns than a vector has lanes.
constexpr double kPieceUs = 0.003;
constexpr double kShortTransposedUs = 0.00075;

Estimate copy(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const&) {
  Modes modes = g.m;
  coalesce(modes);
  auto const elements = static_cast<double>(x.m);
  double const bytes = elements * bytes_of(g.type[Role::d]);
  double us = 2 * bytes / (bytes <= kL2Bytes ? kL2BytesPerUs : bytes <= kL3Bytes ? kL3BytesPerUs : kDramBytesPerUs);
  auto const fastest = [&](Role role) {
    return *std::min_element(modes.begin(), modes.end(), [role](Mode const& a, Mode const& b) {
      return std::abs(a.stride[role]) < std::abs(b.stride[role]);
    });
  };
  if (modes.rank() > 1) {
    Mode const along_d = fastest(Role::d);
    Mode const along_a = fastest(Role::a);
    constexpr std::int64_t kShort = 16;
    if (along_d.stride[Role::a] == 1) {
      us += elements * kPieceUs / static_cast<double>(along_d.extent);
    } else if (std::min(along_d.extent, along_a.extent) < kShort) {
      us += elements * kShortTransposedUs;
    }
  }
  return on(t, kCallUs + us, Bound::memory);
}

using EstimateOf = Estimate (*)(Geometry const&, Extents const&, Traits const&, DeviceInfo const&);

template <EstimateOf estimate>
void propose(Task const& task, bool, std::vector<Proposal>& proposals) {
  proposals.push_back({{}, estimate(task.judged, extents_of(task.judged), task.entry.traits, task.device)});
}

template <EstimateOf estimate>
std::optional<Proposal> complete(Task const& task, Schedule const& wanted) {
  if (wanted.split_k != 1 || wanted.cluster() > 1 || wanted.raster != 0) return std::nullopt;
  return Proposal{{}, estimate(task.judged, extents_of(task.judged), task.entry.traits, task.device)};
}

template <EstimateOf estimate>
constexpr Rules kRules{&propose<estimate>, &complete<estimate>};

}  // namespace

extern Rules const engine_rules;
extern Rules const loop_rules;
extern Rules const reference_rules;
extern Rules const small_rules;
extern Rules const copy_rules;
Rules const engine_rules = kRules<&engine>;
Rules const loop_rules = kRules<&loops>;
Rules const reference_rules = kRules<&reference>;
Rules const small_rules = kRules<&small>;
Rules const copy_rules = kRules<&copy>;

}  // namespace cute_py::cpu
