#include "kernels/common/model.hpp"
#include "kernels/permute/plan.hpp"

// Cost model of permute: the time of DRAM for the lines of its tiles.
namespace cute_py::kernels {
namespace {

// Beside a launch, and beside the kernels before and after it, as what packs factors is.
constexpr double kUsOfTiles = 0.3;

PermuteLimits limits_of(int bytes) {
  switch (bytes) {
    case 1:
      return PermuteLimits::of<1>();
    case 2:
      return PermuteLimits::of<2>();
    case 4:
      return PermuteLimits::of<4>();
    case 8:
      return PermuteLimits::of<8>();
    default:
      return PermuteLimits::of<16>();
  }
}

// Bytes in a microsecond: as memory delivers them, or fewer in accesses of one byte or two, and lines that begin
// anywhere.
double speed(PermutePlan::Way const& way, int bytes, DeviceInfo const& device) {
  constexpr double kAccessesPerCycle = 4;  // of a multiprocessor
  double const memory = model::memory_speed(device);
  return way.word_bytes < 4 ? std::min(memory, kAccessesPerCycle * device.multiprocessors * device.clock_mhz * bytes)
                            : memory;
}

Estimate estimate(Geometry const& g, Extents const& x, Entry const& v, DeviceInfo const& device) {
  Traits const& t = v.traits;
  int const moved = t.operands.moved_bytes;
  PermutePlan const plan(g, moved, limits_of(moved));
  double const bytes = static_cast<double>(x.m) * bytes_of(g.type[Role::d]);
  double const us = bytes / speed(plan.a(), moved, device) + bytes / speed(plan.d(), moved, device);
  double const full = std::min(1.0, static_cast<double>(plan.tiles()) / device.multiprocessors);
  // Of two variants that DRAM bounds alike, the one with wider accesses.
  double const per_access = 1 + 0.1 / moved;
  return {device.profile.launch_us + kUsOfTiles + us * per_access / full, Bound::memory};
}

std::int64_t ctas(Geometry const& g, Traits const& t) {
  return PermutePlan(g, t.operands.moved_bytes, limits_of(t.operands.moved_bytes)).tiles();
}

}  // namespace

extern Rules const permute_rules;
Rules const permute_rules = model::kRules<&estimate, &ctas>;

}  // namespace cute_py::kernels
