#include "problem/decision.hpp"

#include <algorithm>

// How fast a core is, roughly: what matters is which is the fastest.
namespace cute_py::cpu {
namespace {

// Multiply-adds of a core in a microsecond, in float32.
double speed_of(Traits const& t) {
  double const wide = t.isa == Isa::avx512 ? 50e3 : t.isa == Isa::avx2 ? 30e3 : 8e3;
  switch (t.compute) {
    case Compute::f64:
      return wide / 2;
    case Compute::c64:
      return wide / 4;
    case Compute::c128:
      return wide / 8;
    default:
      return wide;
  }
}

// Of a call. The wider the vectors the less, so that products of all sizes take one kernel, whose bits are the same.
double call_us(Traits const& t) { return t.isa == Isa::avx512 ? 1 : t.isa == Isa::avx2 ? 1.1 : 1.2; }

constexpr double kBytesPerUs = 10e3;

// A result whose rows follow one another is written in vectors.
constexpr double kScattered = 1.05;

Estimate engine(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  double const work =
      static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.k) * static_cast<double>(x.l);
  double const results = static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.l);
  double const threads = std::clamp(work / (1 << 21), 1.0, static_cast<double>(std::max(device.multiprocessors, 1)));
  bool const follow = g.m.rank() == 0 || g.m[0].stride[Role::d] == 1;
  double const math = work / (speed_of(t) * threads);
  double const memory = results * bytes_of(g.type[Role::d]) * (follow ? 1 : kScattered) / kBytesPerUs;
  return {call_us(t) + math + memory, math > memory ? Bound::math : Bound::memory};
}

Estimate reference(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  Estimate slow = engine(g, x, t, device);
  slow.us *= 100;
  return slow;
}

Estimate copy(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const&) {
  return {call_us(t) + 2 * static_cast<double>(x.m) * bytes_of(g.type[Role::d]) / kBytesPerUs, Bound::memory};
}

std::int64_t ctas(Geometry const&, Extents const&, Traits const&) { return 0; }

void no_parts(Extents const&, Traits const&, DeviceInfo const&, std::vector<std::int64_t>&) {}

}  // namespace

extern Rules const engine_rules;
extern Rules const reference_rules;
extern Rules const copy_rules;
Rules const engine_rules{&engine, &ctas, &no_parts};
Rules const reference_rules{&reference, &ctas, &no_parts};
Rules const copy_rules{&copy, &ctas, &no_parts};

}  // namespace cute_py::cpu
