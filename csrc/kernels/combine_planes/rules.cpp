#include "kernels/common/model.hpp"
#include "problem/planes.hpp"

// Cost model of combine_planes: residues are read and results written once. Without residues, exponents alone are read.
namespace cute_py::kernels {
namespace {

constexpr double kUsOfTiles = 0.5;
// Residues that a GPU reconstructs from in a microsecond, as measured on an H200, 4096x4096, November 2026.
constexpr double kNumbersPerUs = 1.35e6;
constexpr double kWidePerUs = 1.12e6;

Estimate estimate(Geometry const& g, Extents const& x, Entry const&, DeviceInfo const& device) {
  double const elements = static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.l);
  double const scale = device.multiprocessors / model::kTableMultiprocessors * device.clock_mhz / model::kTableClockMhz;
  if (!g.planes.has_residues()) {
    constexpr double kElementsPerUs = 8e6;
    return {device.profile.launch_us + kUsOfTiles + elements / (kElementsPerUs * scale), Bound::latency};
  }
  double const bytes = elements * (g.planes.planes() + (g.reads_c ? 2 : 1) * bytes_of(g.type[Role::d]));
  double const memory = bytes / model::memory_speed(device);
  double const math =
      elements * g.planes.planes() / ((scalar_bytes_of(g.type[Role::a]) == 4 ? kNumbersPerUs : kWidePerUs) * scale);
  return {device.profile.launch_us + kUsOfTiles + std::max(memory, math), memory > math ? Bound::memory : Bound::math};
}

std::int64_t ctas(Geometry const& g, Traits const& t) {
  return model::tiles(g.m.size() * g.l.size(), t.tile[0]) * model::tiles(g.n.size(), t.tile[1]);
}

}  // namespace

extern Rules const combine_planes_rules;
Rules const combine_planes_rules = model::kRules<&estimate, &ctas>;

}  // namespace cute_py::kernels
