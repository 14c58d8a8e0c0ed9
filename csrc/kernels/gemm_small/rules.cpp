#include "kernels/common/model.hpp"
#include "kernels/common/operand_modes.hpp"

// Cost model of gemm_small. Many products in vectors: the bandwidth of DRAM. Large products: the math. Few products:
// the latency of K.
namespace cute_py::kernels {
namespace {

// H200, November 2026: TFLOP/s of a full device, and microseconds of 64 steps of k.
struct Speed {
  double tflops;
  double us_of_k;
};

Speed speed_of(Traits const& t) {
  if (contains(t.types.factors, DType::f16) || contains(t.types.factors, DType::bf16)) return {49, 2.3};
  switch (t.types.compute) {
    case Compute::f64:
      return {15, 4.6};
    case Compute::c64:
      return {6, 4.6};
    case Compute::c128:
      return {3, 4.6};
    default:
      return {24, 4.2};
  }
}

constexpr double kUsOfCta = 3;
constexpr double kOfMemory = 0.9;  // of its speed

// Elements that a full device reads in a microsecond, where they do not lie in vectors: contiguous, and scattered ones.
constexpr double kContiguous = 90e3;
constexpr double kScattered = 45e3;

double up(std::int64_t extent, int multiple) { return static_cast<double>(model::tiles(extent, multiple) * multiple); }

// Of an operand, microseconds of a full device beyond what memory takes.
double us_by_elements(Geometry const& g, Role role, double elements) {
  OperandModes const x{g, role};
  if (lies_in_vectors(x, Major::mn) || lies_in_vectors(x, Major::k)) return 0;
  auto const along = std::min(shortest_stride(x.mn(), role), shortest_stride(x.k(), role));
  return elements / (along == 1 ? kContiguous : kScattered);
}

Estimate estimate(Geometry const& g, Extents const& x, Entry const& v, DeviceInfo const& device) {
  Traits const& t = v.traits;
  Speed const speed = speed_of(t);
  auto const l = static_cast<double>(x.l);
  auto const k = static_cast<double>(x.k);
  double const full = std::min(1.0, l / device.multiprocessors) * device.multiprocessors / model::kTableMultiprocessors;
  double const math = 2 * up(x.m, 4) * up(x.n, 4) * k * l / (speed.tflops * 1e6 * full);
  double const elements = us_by_elements(g, Role::a, static_cast<double>(x.m) * k * l) +
                          us_by_elements(g, Role::b, static_cast<double>(x.n) * k * l);
  double const memory = std::max(model::memory_bytes(g) / (model::memory_speed(device) * kOfMemory), elements / full);
  Estimate result = model::larger(math, memory, speed.us_of_k * k / 64);
  result.us += device.profile.launch_us + kUsOfCta;
  return result;
}

std::int64_t ctas(Geometry const& g, Traits const&) { return g.l.size(); }

}  // namespace

extern Rules const gemm_small_rules;
Rules const gemm_small_rules = model::kRules<&estimate, &ctas>;

}  // namespace cute_py::kernels
