#include <algorithm>
#include <cstdlib>

#include "cpu/model.hpp"

// Copies: the bandwidth of the cache that holds both arrays, and what short pieces take.
namespace cute_py::cpu {
namespace {

Estimate estimate(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  Profile const p = model::profile_of(t, device);
  Modes modes = g.m;
  coalesce(modes);
  auto const elements = static_cast<double>(x.m);
  double us = 2 * model::us_to_write(p, elements * bytes_of(g.type[Role::d]));
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
      us += elements * p.piece_us / static_cast<double>(along_d.extent);
    } else if (std::min(along_d.extent, along_a.extent) < kShort) {
      us += elements * p.short_transposed_us;
    }
  }
  return {(p.call_us + us) * p.vector_slowdown, Bound::memory};
}

}  // namespace

extern Rules const transpose_rules;
Rules const transpose_rules = model::kRules<&estimate>;

}  // namespace cute_py::cpu
