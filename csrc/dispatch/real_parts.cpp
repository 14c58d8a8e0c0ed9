#include "dispatch/real_parts.hpp"

namespace cute_py::dispatch {
namespace {

DType real_type(DType type) { return type == DType::c64 ? DType::f32 : type == DType::c128 ? DType::f64 : type; }

bool is_read_or_written(Geometry const& g, Role role) { return role != Role::a && role != Role::b && g.has(role); }

}  // namespace

std::optional<Geometry> in_real_parts(Geometry const& geometry) {
  Geometry g = geometry;
  if (!is_complex(g.compute) || !g.multiplies || !g.real_scalars || g.saturate) return std::nullopt;
  if (g.b_is_one) g.type[Role::b] = real_type(g.type[Role::b]);  // its first number
  bool const of_a = is_complex(g.type[Role::a]);
  Role const complex = of_a ? Role::a : Role::b;
  if (of_a == is_complex(g.type[Role::b]) || (of_a ? g.conj_a : g.conj_b)) return std::nullopt;
  Modes& parts_in = of_a ? g.m : g.n;
  if (parts_in.rank() == kMaxModes) return std::nullopt;

  Mode parts{2, {}, false, false};
  auto const split = [&](Role role) {
    g.type[role] = real_type(g.type[role]);
    for_each_group(g, [role](Modes& modes) {
      for (Mode& mode : modes) mode.stride[role] *= 2;
    });
    parts.stride[role] = 1;
  };
  split(complex);
  for (int i = 0; i < kRoles; ++i) {
    auto const role = static_cast<Role>(i);
    if (!is_read_or_written(g, role)) continue;
    if (!is_complex(g.type[role])) return std::nullopt;
    split(role);
  }
  Modes with_parts({parts});
  for (Mode const& mode : parts_in) with_parts.push_back(mode);
  parts_in = with_parts;
  g.compute = g.compute == Compute::c64 ? Compute::f32 : Compute::f64;
  g.conj_a = g.conj_b = false;
  return g;
}

}  // namespace cute_py::dispatch
