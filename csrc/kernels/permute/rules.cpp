#include "kernels/common/model.hpp"
#include "kernels/permute/plan.hpp"

// How fast permute is: as memory takes the lines that its tiles are made of.
namespace cute_py::kernels {
namespace {

constexpr double kUsOfTiles = 2.6;

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

// Of a part of memory's speed: accesses of one byte or two, and lines that begin anywhere.
double efficiency(PermutePlan::Way const& way, int bytes) { return way.word_bytes < 4 ? 0.25 * bytes : 1; }

Estimate estimate(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  int const moved = t.moved_bytes;
  PermutePlan const plan(g, moved, limits_of(moved));
  double const bytes = static_cast<double>(x.m) * bytes_of(g.type[Role::d]);
  double const us = bytes / efficiency(plan.a(), moved) + bytes / efficiency(plan.d(), moved);
  double const full = std::min(1.0, static_cast<double>(plan.tiles()) / device.multiprocessors);
  // Of two that memory makes equal, the one that moves more at a time.
  double const per_access = 1 + 0.1 / moved;
  return {model::kLaunchUs + kUsOfTiles + us * per_access / (model::memory_speed(device) * full), Bound::memory};
}

std::int64_t ctas(Geometry const& g, Extents const&, Traits const& t) {
  return PermutePlan(g, t.moved_bytes, limits_of(t.moved_bytes)).tiles();
}

void no_parts(Extents const&, Traits const&, DeviceInfo const&, std::vector<std::int64_t>&) {}

}  // namespace

extern Rules const permute_rules;
Rules const permute_rules{&estimate, &ctas, &no_parts};

}  // namespace cute_py::kernels
