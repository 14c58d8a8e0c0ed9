#include "kernels/common/model.hpp"
#include "problem/residues.hpp"

// Cost model of split_planes: the operand is read twice and its planes are written once; residues take arithmetic.
namespace cute_py::kernels {
namespace {

// Beside a launch: residues are long programs, read by few CTAs at a time where there are few rows.
constexpr double kUsOfTiles = 1;
constexpr double kUsOfResidues = 4;
constexpr double kUsOfWide = 6;
constexpr double kStepUs = 2e-3;  // of K, of one thread
// Residues that a GPU finds in a microsecond, of float32 with 7 moduli in its own arithmetic; relative to that, of
// factors along whose rows threads go. All as measured on an H200, 4096x4096, November 2026.
constexpr double kNumbersPerUs = 1.5e6;
constexpr double kWidePerUs = 1.25e6;
constexpr double kAlongRows = 0.72;
constexpr double kMemory = 0.8;  // of what a copy reaches

Estimate estimate(Geometry const& g, Extents const& x, Entry const&, DeviceInfo const& device) {
  double const elements = static_cast<double>(x.m) * static_cast<double>(x.k);
  double const read = elements * bytes_of(g.type[Role::a]);
  double const written = elements * g.planes.planes() * bytes_of(g.planes.type());
  double const again = std::max(read - 0.5 * device.profile.l2_bytes, 0.0);
  auto const shortest = [&](Modes const& modes) { return shortest_stride(modes, Role::a); };
  bool const is_along_k = shortest(g.k) < shortest(g.m);
  double const along = is_along_k ? 1 : kAlongRows;
  double const memory = (read + again + written) / (model::memory_speed(device) * kMemory * along);
  double const scale = device.multiprocessors / model::kTableMultiprocessors * device.clock_mhz / model::kTableClockMhz;
  bool const is_narrow = scalar_bytes_of(g.type[Role::a]) == 4 && g.planes.count == kModuliOfFast<float>;
  double const per_us = (is_narrow ? kNumbersPerUs : kWidePerUs) * along * scale;
  double const math = g.planes.has_residues() ? elements * g.planes.planes() / per_us : 0;
  // Rows are read before they are split, by the same threads; along M by few.
  double const latency = (is_along_k ? 1 : 3) + static_cast<double>(x.k) * (is_along_k ? kStepUs / 32 : kStepUs / 4);
  double const fixed = !g.planes.has_residues() ? kUsOfTiles : is_narrow ? kUsOfResidues : kUsOfWide;
  return {device.profile.launch_us + fixed + std::max({memory, math, latency}),
          memory > math ? Bound::memory : Bound::math};
}

std::int64_t ctas(Geometry const& g, Traits const& t) { return model::tiles(g.m.size(), t.tile[0]); }

}  // namespace

extern Rules const split_planes_rules;
Rules const split_planes_rules = model::kRules<&estimate, &ctas>;

}  // namespace cute_py::kernels
