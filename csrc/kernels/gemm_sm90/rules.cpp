#include <algorithm>
#include <cmath>

#include "kernels/common/model.hpp"
#include "kernels/gemm_sm90/multicast.hpp"
#include "problem/tensor_box.hpp"

// Cost model of gemm_sm90.
namespace cute_py::kernels {
namespace {

// TFLOP/s of a full device, microseconds of a product beside its tiles, and of a tile beside its K: fitted to runs of
// random products on an H200, November 2026; of what is not of 16 bits, to squares of 1024 to
// 8192. A tile of 64x64 of 16 bits takes 0.15 us more than that fit, as in contractions (docs/perf/contractions.md).
struct Speed {
  double tflops;
  double us_once;
  double us_per_tile;
};

using OfTile = model::OfTile<Speed>;
constexpr OfTile kOf16Bits[] = {{64, 64, {400, 0, 0.5}},
                                {64, 128, {735, 0, 0.65}},
                                {128, 128, {795, 0, 0.87}},
                                {128, 192, {990, 0.5, 1.7}},
                                {128, 256, {940, 0, 2.5}}};
constexpr OfTile kTf32[] = {
    {64, 64, {205, 0, 0.3}}, {64, 128, {290, 0, 0.3}}, {128, 128, {405, 0.2, 0.8}}, {128, 256, {435, 0.3, 1.6}}};
// A goes through registers.
constexpr OfTile kTf32MMajor[] = {
    {64, 64, {155, 0, 0.3}}, {64, 128, {250, 0, 0.3}}, {128, 128, {355, 0.2, 0.8}}, {128, 256, {430, 0.3, 1.6}}};
constexpr OfTile kInt8[] = {
    {64, 64, {640, 0, 0.3}}, {64, 128, {1100, 1, 0.6}}, {128, 128, {1450, 2.5, 1.2}}, {128, 256, {1500, 2.5, 2.4}}};
// Sums of 128 steps of K are promoted.
constexpr OfTile kPromotedFloat8[] = {
    {64, 64, {560, 0, 0.3}}, {64, 128, {720, 0, 0.6}}, {128, 128, {1240, 0.5, 0.9}}, {128, 192, {1240, 0.5, 1.2}}};
constexpr OfTile kFastFloat8[] = {
    {64, 64, {600, 0, 0.3}}, {64, 128, {1000, 0, 0.6}}, {128, 128, {1500, 0.3, 0.8}}, {128, 256, {1550, 1, 2.4}}};

// Products of planes of 16 bits, each counted.
constexpr OfTile kPlanes[] = {{128, 64, {640, 0.5, 2.7}}, {128, 128, {830, 0.5, 4.5}}};
// With the reduction modulo a number.
constexpr OfTile kResidues[] = {{128, 128, {1850, 2.5, 1.4}}, {128, 256, {1900, 2.5, 3.5}}};

Speed speed_of(Traits const& t) {
  switch (t.types.compute) {
    case Compute::planes:
      return model::speed_of_tile(kPlanes, t);
    case Compute::residues:
      return model::speed_of_tile(kResidues, t);
    case Compute::i32:
      return model::speed_of_tile(kInt8, t);
    case Compute::fast_f32:
      return model::speed_of_tile(kFastFloat8, t);
    case Compute::tf32:
      return t.operands.major_a == Major::mn ? model::speed_of_tile(kTf32MMajor, t) : model::speed_of_tile(kTf32, t);
    default:
      return (t.types.factors & kFloat8) != 0 ? model::speed_of_tile(kPromotedFloat8, t)
                                              : model::speed_of_tile(kOf16Bits, t);
  }
}

// A tile of K has elements of its first mode alone, and tiles of C of the first modes of M and N; but planes are one
// mode in each group.
std::int64_t extent_in_tiles(Geometry const& g, Modes const& modes) {
  if (g.compute == Compute::planes) return modes.size();
  return modes.rank() > 0 ? modes[0].extent : 1;
}
std::int64_t in_tiles(Geometry const& g, Modes const& modes, int tile) {
  if (modes.rank() == 0) return tile;
  auto const extent = extent_in_tiles(g, modes);
  return model::tiles(extent, tile) * (modes.size() / std::max<std::int64_t>(extent, 1)) * tile;
}

// The time of a tile's epilogue and stores, in microseconds.
struct Store {
  double us;
  bool beside;  // while the other warpgroup multiplies: ping-pong
};

Store store_of(Geometry const& g, Resources const& r, double elements) {
  constexpr double kPerUs = 2000;  // that the threads of a warpgroup write
  constexpr double kFirst = 1;
  constexpr double kFinishedPerUs = 5500;       // of a warpgroup; as measured with bias and gelu
  constexpr double kFinishedByTwoPerUs = 3300;  // of two that share a tile
  bool const along_n = g.n.rank() > 0 && g.n[0].stride[Role::d] == 1;
  bool const is_plain = model::is_plain(g);
  constexpr double kNestedPerUs = 800;  // with several modes in a tile, of planes
  bool const is_nested = g.compute == Compute::planes && (g.m.rank() > 1 || g.n.rank() > 1);
  if (is_nested) return {elements / (2 * kNestedPerUs), false};
  if (!finishes_in_boxes(g, along_n)) {
    return {elements / (!is_plain ? model::kFinishedPerUs : r.is_cooperative ? 2 * kPerUs : kPerUs), !r.is_cooperative};
  }
  if (is_plain) return {0, true};
  return {kFirst + elements / (r.is_cooperative ? kFinishedByTwoPerUs : kFinishedPerUs), !r.is_cooperative};
}

// Lines of 128 bytes of L2 that a line of a box takes, relative to one: most take two if lines of
// the array do not begin with one.
double lines_of_box(Geometry const& g, Role role, Modes const& mn, Major major) {
  constexpr double kTwo = 1.45;
  constexpr std::int64_t kLine = 128;
  Modes const& across = major == Major::k ? mn : g.k;
  if (across.rank() == 0 || across[0].extent == 1) return 1;
  return across[0].stride[role] * bytes_of(g.type[role]) % kLine == 0 ? 1 : kTwo;
}

// What TMA loads for a CTA in a step of k: lines of 128 bytes of L2, two for one of a box if lines of the array do not
// begin with one.
double us_of_lines(Geometry const& g, Traits const& t, Multicast const& multicast, double scale) {
  constexpr double kUsPerLine = 1.1e-3;
  constexpr int kLine = 128;
  auto const lines = [&](Modes const& mn, Role role, Major major, int tile, int shared_by) {
    auto const extent = mn.rank() > 0 ? mn[0].extent : 1;
    auto const rows = std::min<std::int64_t>(extent, tile);
    auto const in_box = major == Major::k ? rows : model::tiles(rows * bytes_of(g.type[role]), kLine) * t.tile[2];
    return static_cast<double>(in_box) * (lines_of_box(g, role, mn, major) > 1 ? 2 : 1) / shared_by;
  };
  return kUsPerLine / scale *
         (lines(g.m, Role::a, t.operands.major_a, t.tile[0], multicast.n) +
          lines(g.n, Role::b, t.operands.major_b, t.tile[1], multicast.m));
}

// Of a step of k of the last tile: zeros that TMA fills lines with, of an array that is not k-major.
double us_of_zeros(Geometry const& g, Traits const& t, double scale) {
  constexpr double kBytesPerUs = 57e3;
  constexpr int kLine = 128;
  auto const bytes = [&](Modes const& mn, Role role, Major major) {
    if (major == Major::k || mn.rank() == 0) return 0.0;
    int const chunk = kLine / bytes_of(g.type[role]);
    auto const missing = (chunk - mn[0].extent % chunk) % chunk;
    return static_cast<double>(missing * bytes_of(g.type[role]) * t.tile[2]);
  };
  return (bytes(g.m, Role::a, t.operands.major_a) + bytes(g.n, Role::b, t.operands.major_b)) / (kBytesPerUs * scale);
}

Multicast multicast_in(Geometry const& g, Traits const& t, bool has_split_k) {
  return multicast_of(extent_in_tiles(g, g.m), extent_in_tiles(g, g.n), t.tile[0], t.tile[1], has_split_k);
}

// A persistent CTA takes one tile after the other.
Estimate estimate(Task const& task, Schedule const& s) {
  Geometry const& g = task.judged;
  Traits const& t = task.entry.traits;
  DeviceInfo const& device = task.device;
  Extents const x = model::extents_of(task, s);
  constexpr double kMemory = 1.1;   // bandwidth of DRAM by TMA, relative to loads by threads
  constexpr double kCache = 1.3;    // the same of L2
  constexpr double kLeft = 0.5;     // of L2: what the kernel before may have left there
  constexpr double kBusiest = 0.7;  // of the multiprocessors: with as many L2 bandwidth is exhausted
  Speed const speed = speed_of(t);
  double const scale = static_cast<double>(device.clock_mhz) / model::kTableClockMhz;
  auto const m = g.m.rank() > 1 ? in_tiles(g, g.m, t.tile[0]) : x.m;
  auto const n = g.n.rank() > 1 ? in_tiles(g, g.n, t.tile[1]) : x.n;
  auto const k = g.k.rank() > 1 ? model::tiles(in_tiles(g, g.k, t.tile[2]), static_cast<int>(s.split_k)) : x.k;
  auto const k_tiles = static_cast<double>(model::tiles(std::max<std::int64_t>(k, 1), t.tile[2]));
  double const elements = static_cast<double>(t.tile[0]) * t.tile[1];
  bool const is_itself = &task.judged == &task.geometry;
  Multicast const multicast = is_itself ? Multicast{s.cluster_m, s.cluster_n} : multicast_in(g, t, s.has_split_k());
  bool const has_planes = g.compute == Compute::planes;
  int const products = has_planes ? g.planes.products() : 1;
  int const planes = has_planes ? g.planes.planes() : 1;
  double const math =
      2 * elements * t.tile[2] * k_tiles * products / (speed.tflops * 1e6 / model::kTableMultiprocessors * scale);
  double const steps = std::max(math, us_of_lines(g, t, multicast, scale) * k_tiles * planes);
  Store const store = store_of(g, task.entry.resources, elements);
  auto const count = static_cast<double>(model::tiles(m, t.tile[0]) * model::tiles(n, t.tile[1]) * x.l);
  // CTAs that share K are a cluster, of which fewer fit.
  auto const in_cluster = s.has_split_k() ? s.cluster() : 1;
  auto const at_once = static_cast<double>(device.clusters_of(in_cluster) * in_cluster);
  double const waves = model::ceil_div(count, at_once);
  constexpr double kBeginUs = 0.35;  // a whole epilogue, before its tile's first step
  constexpr double kPairUs = 0.2;    // CTAs that share both K and loads wait for each other
  double const tile = steps + speed.us_per_tile + (model::is_plain(g) ? 0 : kBeginUs);
  // Ping-pong warpgroups take turns at the tensor cores, and the last results are waited for.
  double const zeros = std::max(us_of_zeros(g, t, scale) * k_tiles - math, 0.0);
  double const us = speed.us_once + zeros + (in_cluster > s.cluster_k ? kPairUs : 0) +
                    (store.beside && waves > 1 ? waves * std::max(tile, (tile + store.us) / 2) + store.us
                                               : waves * (tile + store.us));

  double const bytes = model::memory_bytes(g, true);
  double const near = std::min(bytes, kLeft * device.profile.l2_bytes);
  double const memory = near / model::cache_speed(device) + (bytes - near) / (model::memory_speed(device) * kMemory);
  double cache = 0;
  if (g.multiplies) {
    double const of_a = static_cast<double>(x.m) * static_cast<double>(model::tiles(n, t.tile[1])) *
                        lines_of_box(g, Role::a, g.m, t.operands.major_a) / multicast.n;
    double const of_b = static_cast<double>(x.n) * static_cast<double>(model::tiles(m, t.tile[0])) *
                        lines_of_box(g, Role::b, g.n, t.operands.major_b) / multicast.m;
    double const busy = std::min(1.0, count / (device.multiprocessors * kBusiest));
    cache = (of_a + of_b) * bytes_of(g.type[Role::a]) * static_cast<double>(x.k) * static_cast<double>(x.l) /
            (model::cache_speed(device) * kCache * busy) * planes;
  }
  constexpr double kBeside = 0.15;  // of the shorter time, that does not overlap
  double const arrival = std::max(memory, cache) + kBeside * std::min(memory, cache);
  Estimate estimate = model::larger(us, arrival, 0);
  constexpr double kNotHidden = 0.1;    // of the shorter time
  constexpr double kManySplits = 0.7;   // of the time in L2, where K has many splits
  constexpr double kBeginsEarly = 0.7;  // of a launch, because of PDL
  estimate.us += device.profile.launch_us - kBeginsEarly + kNotHidden * std::min(us, arrival);
  if (s.split_k > 2) estimate.us += kManySplits * cache * (1 - 2 / static_cast<double>(s.split_k));
  // Of two k-major factors results leave along n a little sooner; more than what counts as close.
  constexpr double kAlongM = 1.035;
  bool const is_along_m = g.m.rank() > 0 && g.m[0].stride[Role::d] == 1;
  if (is_along_m && t.operands.major_a == Major::k && t.operands.major_b == Major::k && bytes_of(g.type[Role::a]) == 2)
    estimate.us *= kAlongM;
  return estimate;
}

// Tiles of C, and of K: of the first mode of a group, one element of each further mode.
std::int64_t tiles_of_c(Geometry const& g, Traits const& t) {
  return in_tiles(g, g.m, t.tile[0]) / t.tile[0] * (in_tiles(g, g.n, t.tile[1]) / t.tile[1]) * g.l.size();
}
std::int64_t tiles_of_k(Geometry const& g, Traits const& t) {
  if (g.k.rank() == 0) return model::tiles(g.k.size(), t.tile[2]);
  return model::tiles(g.k[0].extent, t.tile[2]) * (g.k.size() / g.k[0].extent);
}

// Clusters of up to 8 CTAs that share a tile's K, at most: 64 splits, as model::kMostSplits.
constexpr std::int64_t kMostClusters = 8;

// cluster_k: of the CTAs that share K, those that become a cluster. The most with which all clusters run at a time, or
// else the most.
std::int64_t cluster_of(Task const& task, std::int64_t split_k, std::int64_t tiles) {
  std::int64_t most = 1;
  for (std::int64_t count = task.entry.resources.max_cluster; count > 1; count /= 2) {
    if (split_k % count != 0 || split_k / count > kMostClusters) continue;
    if (tiles * (split_k / count) <= task.device.clusters_of(count)) return count;
    most = std::max(most, count);
  }
  return most;
}

Multicast multicast(Task const& task, bool has_split_k) {
  return multicast_in(task.geometry, task.entry.traits, has_split_k);
}

// The height of a raster band: tiles that run at a time are about as high as they are wide, for L2.
int raster_of(Task const& task, Multicast const& multicast) {
  Traits const& t = task.entry.traits;
  double const at_once = task.device.multiprocessors;
  auto const wanted = std::lround(std::sqrt(at_once * t.tile[1] / t.tile[0]) / multicast.m);
  auto const rows = in_tiles(task.geometry, task.geometry.m, t.tile[0] * multicast.m) / (t.tile[0] * multicast.m);
  return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(rows, 1)));
}

// What follows from a schedule's decisions.
Proposal proposal(Task const& task, Schedule s, Multicast const& multicast) {
  Traits const& t = task.entry.traits;
  auto const tiles = tiles_of_c(task.geometry, t);
  s.cluster_m = multicast.m;
  s.cluster_n = multicast.n;
  if (s.raster == 0) s.raster = raster_of(task, multicast);
  if (s.has_split_k()) s.k_tiles = model::up(tiles_of_k(task.geometry, t), s.split_k);
  s.ctas = tiles * s.split_k;
  s.reserve(tiles, task.entry.resources.sum_bytes);
  Estimate found = estimate(task, s);
  if (s.has_split_k()) {
    constexpr double kClusterUs = 1.3;
    constexpr double kElementsPerUs = 7300;
    constexpr double kClustersUs = 1.4;  // more than of single CTAs, whose threads have their sums in registers
    auto const clusters = s.split_k / s.cluster_k;
    found.us += kClusterUs + t.tile[0] * t.tile[1] / kElementsPerUs + (clusters > 1 ? kClustersUs : 0) +
                model::us_to_reduce(clusters, static_cast<double>(task.entry.resources.sum_bytes / s.cluster_k));
  }
  return {s, found};
}

// May the CTAs of two adjacent tiles, with all that share their K, be a cluster, and all clusters run at a time?
bool fit_with_multicast(Task const& task, Schedule const& s, std::int64_t tiles) {
  auto const ctas = 2 * s.cluster_k;
  return ctas <= task.entry.resources.max_cluster &&
         tiles * (s.split_k / s.cluster_k) <= 2 * task.device.clusters_of(ctas);
}

// The schedule with `split_k` CTAs that share K, and its cluster.
std::optional<Proposal> split(Task const& task, std::int64_t split_k) {
  auto const tiles = tiles_of_c(task.geometry, task.entry.traits);
  Schedule s;
  s.split_k = split_k;
  s.cluster_k = cluster_of(task, split_k, tiles);
  if (s.cluster_k == 1) return std::nullopt;
  Proposal const alone = proposal(task, s, {});
  if (!fit_with_multicast(task, s, tiles)) return alone;
  Proposal const with_multicast = proposal(task, s, multicast(task, true));
  return with_multicast.estimate.us < alone.estimate.us ? with_multicast : alone;
}

// CTAs that share a tile's K leave no tile without one at a time, and have two tiles of K or more each. They are a
// cluster, or several: then as many as there is room for.
std::vector<std::int64_t> splits_of_k(Task const& task) {
  Traits const& t = task.entry.traits;
  Extents const x = cute_py::extents_of(task.judged);
  auto const tiles = std::max<std::int64_t>(model::ctas(x, t), 1);
  auto const most = model::tiles(x.k, t.tile[2]) / 2;
  std::vector<std::int64_t> found;
  auto const add = [&](std::int64_t count) {
    if (count <= most && std::find(found.begin(), found.end(), count) == found.end()) found.push_back(count);
  };
  for (std::int64_t size = 2; size <= task.entry.resources.max_cluster; size *= 2) {
    if (tiles * size <= task.device.multiprocessors) add(size);
    auto const clusters = std::min(task.device.clusters_of(size) / tiles, kMostClusters);
    if (clusters > 1) add(size * clusters);
  }
  return found;
}

void propose(Task const& task, bool may_split_k, std::vector<Proposal>& proposals) {
  proposals.push_back(proposal(task, {}, multicast(task, false)));
  if (!may_split_k) return;
  for (auto const split_k : splits_of_k(task)) {
    if (auto const found = split(task, split_k)) proposals.push_back(*found);
  }
}

// Can CTAs be a cluster like this? Two tiles at most share what they load, and are both there where K is split; the
// CTAs that share K are 1, 2, 4 or 8.
bool is_possible(Task const& task, Schedule const& s) {
  std::int64_t const splits = task.entry.resources.max_cluster;  // 0: K is not split, and two may share what they load
  bool const is_of_two = s.cluster_m >= 1 && s.cluster_n >= 1 && s.cluster_m * s.cluster_n <= 2;
  if (!is_of_two || s.cluster_k < 1 || s.cluster() > std::max<std::int64_t>(splits, 2)) return false;
  if (s.has_split_k() && splits == 0) return false;
  if (!s.has_split_k()) return s.cluster_k == 1;
  bool const is_power_of_two = (s.cluster_k & (s.cluster_k - 1)) == 0;
  if (s.cluster_k == 1 || !is_power_of_two || s.split_k % s.cluster_k != 0) return false;
  auto const tiles_of_first = [&](Modes const& modes, int tile) {
    return model::tiles(extent_in_tiles(task.geometry, modes), tile);
  };
  return s.split_k / s.cluster_k <= kMostClusters &&
         tiles_of_first(task.geometry.m, task.entry.traits.tile[0]) % s.cluster_m == 0 &&
         tiles_of_first(task.geometry.n, task.entry.traits.tile[1]) % s.cluster_n == 0;
}

std::optional<Proposal> complete(Task const& task, Schedule const& wanted) {
  bool const is_open = wanted.cluster_k == 0;
  if (wanted.split_k > kMostClusters * std::max(task.entry.resources.max_cluster, 1)) return std::nullopt;
  if (wanted.has_split_k() && task.geometry.k.size() == 0) return std::nullopt;
  if (!is_open && !is_possible(task, wanted)) return std::nullopt;
  Schedule s = wanted;
  if (is_open && wanted.has_split_k()) {
    auto const found = split(task, wanted.split_k);
    if (!found) return std::nullopt;
    s = found->schedule;
  }
  Multicast const together = !is_open || s.has_split_k() ? Multicast{s.cluster_m, s.cluster_n} : multicast(task, false);
  if (is_open && !s.has_split_k()) s = {};
  s.raster = wanted.raster;
  auto const tile = task.entry.traits.tile[0] * together.m;
  if (wanted.raster < 0 ||
      wanted.raster > std::max<std::int64_t>(in_tiles(task.geometry, task.geometry.m, tile) / tile, 1)) {
    return std::nullopt;
  }
  return proposal(task, s, together);
}

}  // namespace

extern Rules const gemm_sm90_rules;
Rules const gemm_sm90_rules{&propose, &complete};

}  // namespace cute_py::kernels
