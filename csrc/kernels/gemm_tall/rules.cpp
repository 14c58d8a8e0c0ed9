#include "kernels/common/model.hpp"
#include "kernels/gemm_tall/plan.hpp"

// Cost model of gemm_tall: DRAM for the lines of its tiles, or the instructions of its threads.
namespace cute_py::kernels {
namespace {

// Fitted to 700 runs of contractions with small K or N on an H200, November 2026, which they meet within 17 % on
// average.
//
// Of a multiprocessor, in a microsecond: instructions of threads. A load of A and a result take some.
constexpr double kInstructionsPerUs = 113e3;
constexpr double kOfLoad = 4.7;
constexpr double kOfResult = 26;

// A wave of CTAs: its way in and out, and the latency of each `steps` of K, one bundle of loads ahead.
constexpr double kUsOfWave = 2.3;
constexpr double kUsOfSteps = 0.91;
constexpr int kSteps = 4;

// Of the shorter of the times for instructions and memory, what does not overlap; and the factor for lines of D that
// end within a sector.
constexpr double kBeside = 0.7;
constexpr double kPartsOfSectors = 2;

double instructions_of_multiply(Compute compute) {
  switch (compute) {
    case Compute::f64:
      return 1.9;
    case Compute::c64:
      return 3.6;
    default:
      return 1;
  }
}

TallLimits limits_of(Traits const& t) { return TallLimits::of_sums(bytes_of(type_of_sums(t.types.compute))); }

// Bytes moved for each that is needed, where a tile's elements are contiguous in runs of this many.
double waste_of_run(double run, DType type) { return std::max(1.0, model::kSectorBytes / (run * bytes_of(type))); }

// The contiguous elements of an array that a tile has: `whole` is its other group, all of whose elements it has.
double run_of_tile(TallPlan const& plan, std::int64_t TallPlan::TiledMode::* stride, Modes const& whole, Role role) {
  double run = 1;
  for (bool longer = true; longer;) {
    longer = false;
    auto const extend = [&](std::int64_t of, std::int64_t extent) {
      if (extent <= 1 || static_cast<double>(of) != run) return;
      run *= static_cast<double>(extent);
      longer = true;
    };
    for (auto const& x : plan.modes()) extend(x.*stride, x.tile);
    for (Mode const& x : whole) extend(x.stride[role], x.extent);
  }
  return run;
}

Estimate estimate(Geometry const& given, Extents const& x, Entry const& v, DeviceInfo const& device) {
  Geometry const g = with_coalesced_m(given);
  Traits const& t = v.traits;
  TallPlan const plan(g, limits_of(t));
  double const waste_a = waste_of_run(run_of_tile(plan, &TallPlan::TiledMode::a, g.k, Role::a), g.type[Role::a]);
  double const waste_d = waste_of_run(run_of_tile(plan, &TallPlan::TiledMode::d, g.n, Role::d), g.type[Role::d]);
  auto const blocks = static_cast<double>(model::tiles(x.n, t.tile[1]));
  auto const ctas = static_cast<double>(plan.tiles()) * blocks * static_cast<double>(x.l);
  auto const k = static_cast<double>(x.k);

  double const bytes_a = model::bytes_of_operand(g, Role::a) * waste_a;
  double bytes = bytes_a;
  for (Role const role : {Role::b, Role::c, Role::d, Role::bias, Role::residual}) {
    if (!g.has(role)) continue;
    double const factor = role == Role::b || waste_d == 1 ? 1 : waste_d * kPartsOfSectors;
    bytes += model::bytes_of_operand(g, role) * factor;
  }
  double const memory =
      std::max(bytes / model::memory_speed(device), (bytes_a * (blocks - 1) + bytes) / model::cache_speed(device));

  double const of_row = k * (t.tile[1] * instructions_of_multiply(t.types.compute) + kOfLoad) +
                        static_cast<double>(std::min<std::int64_t>(x.n, t.tile[1])) * kOfResult;
  double const scale = static_cast<double>(device.clock_mhz) / model::kTableClockMhz;
  double const of_cta = limits_of(t).rows * of_row / (kInstructionsPerUs * scale);
  double const math = of_cta * std::max(1.0, ctas / device.multiprocessors);
  double const latency = (kUsOfWave + kUsOfSteps * k / kSteps) * model::ceil_div(ctas, model::slots(v, device));
  Estimate result = model::larger(math, memory, latency);
  result.us += device.profile.launch_us + kBeside * std::min(math, memory);
  if (!model::is_plain(g)) {
    result.us += ctas * limits_of(t).rows * t.tile[1] / (device.multiprocessors * model::kFinishedPerUs);
  }
  return result;
}

std::int64_t ctas(Geometry const& g, Traits const& t) {
  return TallPlan(with_coalesced_m(g), limits_of(t)).tiles() * model::tiles(g.n.size(), t.tile[1]) * g.l.size();
}

}  // namespace

extern Rules const gemm_tall_rules;
Rules const gemm_tall_rules = model::kRules<&estimate, &ctas>;

}  // namespace cute_py::kernels
