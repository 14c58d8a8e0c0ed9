#include "problem/packing.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "problem/workspace.hpp"

namespace cute_py {
namespace {

std::int64_t length(std::int64_t stride) {
  return stride == 0 ? std::numeric_limits<std::int64_t>::max() : std::abs(stride);
}

// Does a mode go on where one before it ends, in all arrays but one?
bool follow_elsewhere(Mode const& x, Mode const& y, Role but) {
  for (int i = 0; i < kRoles; ++i) {
    auto const role = static_cast<Role>(i);
    if (role != but && y.stride[role] != x.extent * x.stride[role]) return false;
  }
  return true;
}

}  // namespace

std::vector<Mode*> by_stride(Modes& modes, Role role) {
  std::vector<Mode*> order;
  for (Mode& mode : modes) order.push_back(&mode);
  std::stable_sort(order.begin(), order.end(),
                   [role](Mode const* x, Mode const* y) { return length(x->stride[role]) < length(y->stride[role]); });
  return order;
}

Packed packed_factor(Folded const& product, Role factor, PackingStyle const& style) {
  Geometry const& g = *product;
  bool const k_major = style.k_major;
  Packed result{g, {}, 0, false};
  Geometry& p = result.product;
  Geometry& copy = result.copy;
  copy.compute = Compute::copy;
  for (Role const role : {Role::a, Role::b, Role::d}) set_array(copy, role, g.type[factor]);
  copy.log2_alignment[Role::a] = g.log2_alignment[factor];

  std::int64_t next = 1;
  auto const place = [&](Mode& mode) {
    if (mode.extent == 1) return;
    if (mode.stride[factor] == 0 && !style.repeats) return;  // repeated before, repeated after
    Mode moved{mode.extent, {}, false, false};
    moved.stride[Role::a] = mode.stride[factor];
    moved.stride[Role::d] = next;
    copy.m.push_back(moved);
    mode.stride[factor] = next;
    next *= mode.extent;
  };
  // Modes of K in the order that the other factor has, those of M and N in that of the result.
  Role const other = factor == Role::a ? Role::b : Role::a;
  Modes& own = factor == Role::a ? p.m : p.n;
  auto const own_order = by_stride(own, Role::d);
  auto const k_order = by_stride(p.k, other);
  auto const vector = std::max(style.vector_bytes / bytes_of(g.type[factor]), 1);
  auto const end_line = [&] { next = ceil_div(next, vector) * vector; };
  // Rows that do not follow one another in the result are no line for a kernel either: the second run of them begins
  // with a vector.
  auto const& first = k_major ? k_order : own_order;
  for (std::size_t i = 0; i < first.size(); ++i) {
    bool const follows = i == 0 || follow_elsewhere(*first[i - 1], *first[i], factor);
    if (!k_major && !follows) end_line();
    place(*first[i]);
  }
  auto const line = next;
  end_line();
  result.has_gaps = k_major && next != line;
  if (style.long_line_bytes > 0 && next * bytes_of(g.type[factor]) >= style.long_line_bytes) {
    auto const of_cache = style.cache_line_bytes / bytes_of(g.type[factor]);
    next = ceil_div(next, of_cache) * of_cache;
  }
  for (Mode* const mode : k_major ? own_order : k_order) place(*mode);
  for (Mode* const mode : by_stride(p.l, Role::d)) place(*mode);

  set_array(p, factor, g.type[factor]);
  (factor == Role::a ? p.padded_a : p.padded_b) = vector > 1;
  result.bytes = workspace_bytes_of(next, g.type[factor]);
  return result;
}

Modes const* fastest_in_result(Geometry const& geometry) {
  auto shortest = std::numeric_limits<std::int64_t>::max();
  Modes const* found = nullptr;
  for_each_group(geometry, [&](Modes const& modes) {
    for (Mode const& mode : modes) {
      if (mode.extent == 1 || length(mode.stride[Role::d]) >= shortest) continue;
      shortest = length(mode.stride[Role::d]);
      found = &modes;
    }
  });
  return found;
}

Packed packed_result(Geometry const& geometry) {
  Packed result{geometry, {}, 0, false};
  Geometry& p = result.product;
  Geometry& copy = result.copy;
  copy.compute = Compute::copy;
  for (Role const role : {Role::a, Role::b, Role::d}) set_array(copy, role, geometry.type[Role::d]);
  copy.log2_alignment[Role::d] = geometry.log2_alignment[Role::d];
  std::int64_t next = 1;
  // Rows and columns in the order that the factors have.
  for (auto const& [modes, role] : {std::pair{&p.m, Role::a}, std::pair{&p.n, Role::b}, std::pair{&p.l, Role::d}}) {
    for (Mode* const mode : by_stride(*modes, role)) {
      if (mode->extent == 1) continue;
      Mode moved{mode->extent, {}, false, false};
      moved.stride[Role::a] = next;
      moved.stride[Role::d] = mode->stride[Role::d];
      copy.m.push_back(moved);
      mode->stride[Role::d] = next;
      next *= mode->extent;
    }
  }
  set_array(p, Role::d, geometry.type[Role::d]);
  p.c_is_d = false;
  result.bytes = workspace_bytes_of(next, geometry.type[Role::d]);
  return result;
}

}  // namespace cute_py
