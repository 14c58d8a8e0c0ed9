#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "kernels/common/operand_modes.hpp"
#include "problem/decision.hpp"

// Cost model of a kernel that gives each tile of C to a CTA: waves of CTAs, each as long as its K, against the bytes
// that have to move.
namespace cute_py::kernels::model {

// The H200 that the families' tables of speeds were measured on, November 2026. docs/perf/cost-model.md says how. What
// belongs to a GPU, and not to a kernel, is in its profile (problem/device.hpp).
inline constexpr double kTableClockMhz = 1980;
inline constexpr double kTableMultiprocessors = 132;

inline constexpr double kSectorBytes = 32;       // the least that memory moves
inline constexpr double kScattered = 4;          // of scattered results: a sector is read, and a part of it written
inline constexpr double kSectorsFarApart = 2.5;  // factor of DRAM time for sectors that are not contiguous
inline constexpr double kUncoalescedSector = 2;  // factor of L2 time for sectors of which each serves one access
inline constexpr double kBeside = 0.2;  // of the shorter of the times for math and memory, what does not overlap
inline constexpr double kTileQuantisation = 1.3;  // factor for waves of tiles that lie mostly beyond the edge
inline constexpr double kUncoalesced = 0.05;      // the addition for reads across the unit stride

// Results of a multiprocessor in a microsecond that get the whole epilogue element by element.
inline constexpr double kFinishedPerUs = 700;

// The measured speed of a kernel.
struct Speed {
  double tflops;       // of all multiprocessors, on a large problem; a complex multiply-add counts as one, not four
  double alone;        // of a multiprocessor's speed, what one CTA on it reaches
  double us_per_wave;  // what a CTA takes beside its K: the first tile's way in, the results' way out
  double accesses_per_us = 0;  // of a multiprocessor: accesses to A and B, each as wide as they allow; 0: no limit
};

// Speeds by tile. The last row stands for tiles that are not in the table: a new tile gets a row.
template <class Speed>
struct OfTile {
  int m;
  int n;
  Speed speed;
};

template <class Speed, std::size_t count>
Speed const& speed_of_tile(OfTile<Speed> const (&table)[count], Traits const& t) {
  for (auto const& row : table) {
    if (row.m == t.tile[0] && row.n == t.tile[1]) return row.speed;
  }
  return table[count - 1].speed;
}

// The speed of types that are in builds which nobody has timed, by that of float32.
constexpr Speed untimed(Speed speed, Compute compute) {
  if (compute == Compute::f64) speed.tflops /= 2;
  if (compute == Compute::c64) speed.tflops /= 4;
  if (compute == Compute::c128) speed.tflops /= 8;
  return speed;
}

// Accesses of a CTA to A and B for one step of K.
inline double accesses(Geometry const& g, Traits const& t) {
  auto const of = [&](Role role, Major major, int rows) {
    return static_cast<double>(rows) * bytes_of(g.type[role]) / access_along({g, role}, major).bytes;
  };
  return of(Role::a, t.operands.major_a, t.tile[0]) + of(Role::b, t.operands.major_b, t.tile[1]);
}

inline double ceil_div(double a, double b) { return std::ceil(a / b); }

inline std::int64_t up(std::int64_t x, std::int64_t y) { return x / y + (x % y != 0); }

inline std::int64_t tiles(std::int64_t extent, int tile) { return up(extent, tile); }

inline std::int64_t ctas(Extents const& x, Traits const& t) {
  return tiles(x.m, t.tile[0]) * tiles(x.n, t.tile[1]) * x.l;
}

// How many CTAs a device runs at a time.
inline double slots(Entry const& v, DeviceInfo const& device) {
  return static_cast<double>(device.multiprocessors) * v.resources.ctas_per_multiprocessor;
}

// Bytes per microsecond.
inline double memory_speed(DeviceInfo const& device) {
  return device.memory_gb_per_s * 1e3 * device.profile.memory_efficiency;
}
inline double cache_speed(DeviceInfo const& device) {
  return device.profile.l2_bytes_per_cycle * device.multiprocessors * device.clock_mhz;
}

// Bytes moved for each byte that is needed, if adjacent threads go along the first mode of a group (coalescing).
inline double waste(Modes const& modes, Role role, DType type) {
  if (modes.rank() == 0) return 1;
  auto const stride = static_cast<double>(std::abs(modes[0].stride[role]));
  if (stride == 0) return 1;
  auto const bytes = static_cast<double>(bytes_of(type));
  auto const run = std::min<double>(static_cast<double>(modes[0].extent) * bytes, kSectorBytes);
  return stride == 1 ? std::max(1.0, kSectorBytes / run * 0.5 + 0.5) : std::min(stride, kSectorBytes / bytes);
}

// The bytes of an operand, of the elements that there are: along a stride of 0 there are no others.
inline double bytes_of_operand(Geometry const& g, Role role) {
  double elements = 1;
  for_each_group(g, [&](Modes const& modes) {
    for (Mode const& mode : modes) {
      if (mode.stride[role] != 0) elements *= static_cast<double>(mode.extent);
    }
  });
  return elements * bytes_of(g.type[role]);
}

// Does a contiguous run end within a sector, and the next line of the tile not continue there?
inline bool ends_in_sector(Modes const& modes, Modes const& across, Role role, DType type) {
  if (modes[0].stride[role] != 1 || static_cast<double>(modes[0].extent) * bytes_of(type) >= kSectorBytes) return false;
  return across.rank() > 0 ? across[0].stride[role] != modes[0].extent : modes.rank() > 1;
}

// The least bytes that are read and written.
inline double least_bytes(Geometry const& g) {
  double bytes = 0;
  for (int i = 0; i < kRoles; ++i) {
    if (g.has(static_cast<Role>(i))) bytes += bytes_of_operand(g, static_cast<Role>(i));
  }
  return bytes;
}

// The least bytes that are read and written, and those that stores waste, of a kernel that writes results along m, or
// along n where that is better.
inline double memory_bytes(Geometry const& g, bool writes_along_n = false) {
  double bytes = 0;
  auto const wasted_along = [&](Modes const& modes, Modes const& across, Role role) {
    bool const scatters =
        modes.rank() > 0 && (std::abs(modes[0].stride[role]) > 2 || ends_in_sector(modes, across, role, g.type[role]));
    return waste(modes, role, g.type[role]) * (scatters ? kScattered : 1);
  };
  auto const wasted = [&](Role role) {
    double const along_m = wasted_along(g.m, g.n, role);
    return writes_along_n ? std::min(along_m, wasted_along(g.n, g.m, role)) : along_m;
  };
  for (int i = 0; i < kRoles; ++i) {
    auto const role = static_cast<Role>(i);
    if (!g.has(role)) continue;
    bool const is_factor = role == Role::a || role == Role::b;
    bytes += bytes_of_operand(g, role) * (is_factor ? 1 : wasted(role));
  }
  return bytes;
}

// Of a factor: bytes moved for each byte that is needed, by a kernel whose threads go along `major`, or along the
// better one of its two groups.
inline double waste_of_factor(Geometry const& g, Role role, Major major, bool takes_any) {
  Modes const& mn = role == Role::a ? g.m : g.n;
  double const along_mn = waste(mn, role, g.type[role]);
  double const along_k = waste(g.k, role, g.type[role]);
  if (takes_any) return std::min(along_mn, along_k);
  return major == Major::mn ? along_mn : along_k;
}

// Do most accesses take a sector of their own? Lines that end within a sector waste less.
inline bool is_uncoalesced(double wasted) { return wasted > 1.5; }

// Of a factor: what L2 delivers for each byte, in the time of contiguous bytes.
inline double sectors(double wasted) { return is_uncoalesced(wasted) ? wasted * kUncoalescedSector : wasted; }

inline bool is_contiguous_in(Modes const& modes, Role role) {
  return std::any_of(modes.begin(), modes.end(), [role](Mode const& mode) { return mode.stride[role] == 1; });
}

// Of a factor: bytes that DRAM moves for each byte, where L2 has evicted a sector before another part of it is used. A
// tile has the parts along its own first modes at once; those along another mode of K, or of L, come later.
inline double waste_of_evicted(Geometry const& g, Role role, double wasted, int tile_mn) {
  if (wasted <= 1) return 1;
  Modes const& mn = role == Role::a ? g.m : g.n;
  double before = 1;  // elements of the modes before the contiguous one
  for (Mode const& mode : mn) {
    if (mode.stride[role] == 1) return std::max(1.0, wasted * std::min(1.0, before / tile_mn));
    before *= static_cast<double>(mode.extent);
  }
  return wasted;
}

inline Estimate larger(double math, double memory, double latency) {
  if (memory >= math && memory >= latency) return {memory, Bound::memory};
  return math >= latency ? Estimate{math, Bound::math} : Estimate{latency, Bound::latency};
}

// Are results the sums times alpha, or that and beta times what was there?
inline bool is_plain(Geometry const& g) { return g.is_plain() && (!g.reads_c || g.c_is_d); }

// `reads_any_major`: the kernel's threads go along whichever mode of an operand is contiguous.
inline Estimate tiled(Geometry const& g, Extents const& x, Entry const& v, DeviceInfo const& device, Speed const& speed,
                      bool reads_any_major) {
  Traits const& t = v.traits;
  double const scale = static_cast<double>(device.clock_mhz) / kTableClockMhz;
  double const rate = speed.tflops * 1e6 / kTableMultiprocessors * scale;  // flops of a multiprocessor in a microsecond
  double const k_tiles = static_cast<double>(tiles(std::max<std::int64_t>(x.k, 1), t.tile[2]));
  double math = 2.0 * t.tile[0] * t.tile[1] * t.tile[2] * k_tiles / rate;  // of a CTA that has a multiprocessor's speed
  if (speed.accesses_per_us > 0 && g.multiplies) {
    math = std::max(math, accesses(g, t) * t.tile[2] * k_tiles / (speed.accesses_per_us * scale));
  }
  auto const count = static_cast<double>(ctas(x, t));
  double const at_once = slots(v, device);
  double const resident = v.resources.ctas_per_multiprocessor;

  // Whole waves, and then a last one, in which a multiprocessor may have fewer CTAs.
  double const waves = std::floor(count / at_once);
  double const rest = count - waves * at_once;
  double us = waves * (resident * math + speed.us_per_wave);
  if (rest > 0) {
    double const share = ceil_div(rest, device.multiprocessors);
    double const efficiency = resident > 1 ? speed.alone + (1 - speed.alone) * (share - 1) / (resident - 1) : 1;
    us += share * math / efficiency + speed.us_per_wave;
  }

  if (waves >= 1 && (4 * x.m <= t.tile[0] || 4 * x.n <= t.tile[1])) us *= kTileQuantisation;

  double const wasted_a = waste_of_factor(g, Role::a, t.operands.major_a, reads_any_major);
  double const wasted_b = waste_of_factor(g, Role::b, t.operands.major_b, reads_any_major);
  if (g.multiplies) us *= 1 + kUncoalesced * ((wasted_a > 1) + (wasted_b > 1));

  double memory = least_bytes(g) / memory_speed(device);
  double const with_scattered = memory_bytes(g, t.fuses) / memory_speed(device);
  double cache = 0;
  if (g.multiplies) {
    double const of_a = static_cast<double>(x.m) * static_cast<double>(tiles(x.n, t.tile[1])) *
                        bytes_of(g.type[Role::a]) * sectors(wasted_a);
    double const of_b = static_cast<double>(x.n) * static_cast<double>(tiles(x.m, t.tile[0])) *
                        bytes_of(g.type[Role::b]) * sectors(wasted_b);
    double const busy = std::min(1.0, count / device.multiprocessors);
    double const lines = static_cast<double>(x.k) * static_cast<double>(x.l);
    cache = (of_a + of_b) * lines / (cache_speed(device) * busy);
    // CTAs go along m first: those of a column of tiles share B, and each column reads A again.
    double const columns = static_cast<double>(tiles(x.n, t.tile[1]));
    double const rounds = std::max(1.0, static_cast<double>(tiles(x.m, t.tile[0])) / at_once);
    auto const evicted = [&](Role role, double wasted_of, int tile_mn, double times) {
      double const bytes = bytes_of_operand(g, role);
      double const of_product = is_contiguous_in(g.l, role) ? bytes : bytes / static_cast<double>(g.l.size());
      double const far = waste_of_evicted(g, role, wasted_of, tile_mn);
      return far > 1 && of_product > device.profile.l2_bytes ? bytes * far * times * kSectorsFarApart : 0;
    };
    double const far_apart =
        evicted(Role::a, wasted_a, t.tile[0], columns) + evicted(Role::b, wasted_b, t.tile[1], rounds);
    memory = std::max(memory, far_apart / memory_speed(device));
  }
  double const arrival = std::max(memory, cache);
  Estimate estimate = larger(us, std::max(arrival, with_scattered), 0);
  estimate.us += kBeside * std::min(us, std::max(wasted_a, wasted_b) > 1 ? arrival : memory);
  estimate.us += device.profile.launch_us;
  if (!is_plain(g)) estimate.us += count * t.tile[0] * t.tile[1] / (device.multiprocessors * kFinishedPerUs);
  return estimate;
}

// Do results lie in vectors of 16 bytes?
inline bool writes_vectors(Geometry const& g) {
  OperandModes const d{g, Role::d};
  auto const in_vectors = [&](Major major, Modes const& modes) {
    auto const access = access_along(d, major);
    return access.whole && access.bytes == 16 && modes.size() * bytes_of(g.type[Role::d]) % 16 == 0;
  };
  return in_vectors(Major::mn, g.m) || in_vectors(Major::k, g.n);
}

// The time of tiles that are written element by element; `per_us`: elements of a multiprocessor in a microsecond.
inline double us_of_elements(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device,
                             double per_us = 5000) {
  if (writes_vectors(g)) return 0;
  return static_cast<double>(ctas(x, t)) * t.tile[0] * t.tile[1] / (device.multiprocessors * per_us);
}

// The geometry that a task's estimate is for, with split-K: K is that of a CTA, and L counts the splits, too.
inline Extents extents_of(Task const& task, Schedule const& s) {
  Extents x = cute_py::extents_of(task.judged);
  if (!s.has_split_k()) return x;
  x.k = s.k_tiles * task.entry.traits.tile[2];
  x.l *= s.split_k;
  return x;
}

// The time to reduce the partial sums of split-K through global memory. At each node of the tree the last CTA to arrive
// counts, and reads the partial sums of its children, four at a time.
inline double us_to_reduce(std::int64_t count, double bytes) {
  constexpr double kLevelUs = 1.5;
  constexpr double kReadUs = 0.5;
  constexpr double kBytesPerUs = 32e3;  // of a CTA
  double us = 0;
  for (auto left = count; left > 1; left = up(left, std::int64_t{kFanIn})) {
    auto const reads = static_cast<double>(up(std::min(left, std::int64_t{kFanIn}), 4));
    us += kLevelUs + reads * (kReadUs + bytes / kBytesPerUs);
  }
  return us;
}

// Split-K: the most CTAs that are proposed to share the K of a tile. gemm_sm90 has clusters, and its own kMostClusters.
inline constexpr std::int64_t kMostSplits = 64;

// Candidates for split_k: CTAs that share K and fill a device which the tiles of C alone do not fill.
inline std::vector<std::int64_t> splits_of_k(Extents const& x, Entry const& v, DeviceInfo const& device) {
  Traits const& t = v.traits;
  constexpr std::int64_t kLeastTiles = 4;  // of K, of a CTA
  auto const most = std::min(tiles(x.k, t.tile[2]) / kLeastTiles, kMostSplits);
  auto const room = static_cast<std::int64_t>(slots(v, device)) / std::max<std::int64_t>(ctas(x, t), 1);
  std::vector<std::int64_t> found;
  for (std::int64_t const wanted : {room, room / 2, room / 4}) {
    auto const count = std::min(wanted, most);
    if (count >= 2 && (found.empty() || found.back() != count)) found.push_back(count);
  }
  return found;
}

// The schedule of split-K through global memory: about `wanted` CTAs share K, each with a multiple of the tiles that
// the kernel requires.
inline Schedule split_k(Task const& task, std::int64_t wanted, std::int64_t tiles_of_c) {
  Traits const& t = task.entry.traits;
  Resources const& r = task.entry.resources;
  auto const all = tiles(task.geometry.k.size(), t.tile[2]);
  Schedule s;
  s.ctas = tiles_of_c;
  if (wanted == 1) return s;
  s.k_tiles = up(up(all, wanted), r.split_tiles) * r.split_tiles;
  s.split_k = up(all, s.k_tiles);
  s.ctas *= s.split_k;
  s.reserve(tiles_of_c, r.sum_bytes);
  return s;
}

// The rules of a family whose CTAs compute a tile of C each, `ctas` of them without split-K.
using EstimateOf = Estimate (*)(Geometry const&, Extents const&, Entry const&, DeviceInfo const&);
using CtasOf = std::int64_t (*)(Geometry const&, Traits const&);

inline std::int64_t ctas_of_tiles(Geometry const& g, Traits const& t) { return ctas(cute_py::extents_of(g), t); }

template <EstimateOf estimate>
Proposal proposal(Task const& task, Schedule const& s) {
  Estimate found = estimate(task.judged, extents_of(task, s), task.entry, task.device);
  if (s.has_split_k()) found.us += us_to_reduce(s.split_k, task.entry.resources.sum_bytes);
  return {s, found};
}

template <EstimateOf estimate, CtasOf ctas_of>
void propose(Task const& task, bool may_split_k, std::vector<Proposal>& proposals) {
  auto const tiles_of_c = ctas_of(task.geometry, task.entry.traits);
  std::int64_t last = 1;
  proposals.push_back(proposal<estimate>(task, split_k(task, 1, tiles_of_c)));
  if (!may_split_k || task.entry.resources.sum_bytes == 0) return;
  for (auto const wanted : splits_of_k(cute_py::extents_of(task.judged), task.entry, task.device)) {
    Schedule const s = split_k(task, wanted, tiles_of_c);
    if (s.split_k > 1 && s.split_k != last) proposals.push_back(proposal<estimate>(task, s));
    last = s.split_k;
  }
}

template <EstimateOf estimate, CtasOf ctas_of>
std::optional<Proposal> complete(Task const& task, Schedule const& wanted) {
  if (wanted.cluster() > 1 || wanted.raster > 0) return std::nullopt;
  bool const may_split_k = task.entry.resources.sum_bytes > 0 && task.geometry.k.size() > 0;
  if (wanted.split_k != 1 && !may_split_k) return std::nullopt;
  if (wanted.split_k > tiles(task.geometry.k.size(), task.entry.traits.tile[2])) return std::nullopt;
  Schedule const s = split_k(task, wanted.split_k, ctas_of(task.geometry, task.entry.traits));
  if (s.split_k != wanted.split_k) return std::nullopt;
  return proposal<estimate>(task, s);
}

template <EstimateOf estimate, CtasOf ctas_of = &ctas_of_tiles>
inline constexpr Rules kRules{&propose<estimate, ctas_of>, &complete<estimate, ctas_of>};

}  // namespace cute_py::kernels::model
