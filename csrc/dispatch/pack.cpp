#include "dispatch/pack.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "dispatch/fold.hpp"
#include "dispatch/workspace.hpp"
#include "problem/access.hpp"
#include "problem/tensor_box.hpp"

namespace cute_py::dispatch {
namespace {

constexpr int kVectorBytes = 16;
constexpr int kCacheLine = 128;
constexpr int kLongLine = 512;  // bytes, which become a fifth more at most

Modes const& own_modes(Geometry const& g, Role factor) { return factor == Role::a ? g.m : g.n; }

// The fastest kernels of what is not of 16 bits are for k-major factors.
bool needs_k_major(Geometry const& g) {
  return g.compute == Compute::i32 || g.compute == Compute::tf32 || is_float8(g.type[Role::a]);
}

// Products of float8 have no kernels but those whose operands the copy engine brings: an operand that it cannot follow
// is packed, written out where it is repeated.
bool needs_boxes(Geometry const& g, Role factor) { return is_float8(g.type[factor]); }

// Kernels without tensor cores transpose a k-major factor on its way to shared memory, element by element.
bool reads_k_by_elements(Geometry const& g, Role factor) {
  return is_complex(g.compute) || (g.compute == Compute::f32 && g.type[factor] == DType::f32);
}

std::int64_t length(std::int64_t stride) {
  return stride == 0 ? std::numeric_limits<std::int64_t>::max() : std::abs(stride);
}

// Modes by their strides in an array.
std::vector<Mode*> by_stride(Modes& modes, Role role) {
  std::vector<Mode*> order;
  for (Mode& mode : modes) order.push_back(&mode);
  std::stable_sort(order.begin(), order.end(),
                   [role](Mode const* x, Mode const* y) { return length(x->stride[role]) < length(y->stride[role]); });
  return order;
}

// Does a mode go on where one before it ends, in all arrays but one?
bool follow_elsewhere(Mode const& x, Mode const& y, Role but) {
  for (int i = 0; i < kRoles; ++i) {
    auto const role = static_cast<Role>(i);
    if (role != but && y.stride[role] != x.extent * x.stride[role]) return false;
  }
  return true;
}

// With lines that end with vectors of so many bytes.
Packed pack_along(Geometry const& g, Role factor, bool k_major, int vector_bytes) {
  Packed result{g, {}, 0, false};
  Geometry& p = result.product;
  Geometry& copy = result.copy;
  copy.compute = Compute::copy;
  for (Role const role : {Role::a, Role::b, Role::d}) set_array(copy, role, g.type[factor]);
  copy.log2_alignment[Role::a] = g.log2_alignment[factor];

  std::int64_t next = 1;
  auto const place = [&](Mode& mode) {
    if (mode.extent == 1) return;
    if (mode.stride[factor] == 0 && !needs_boxes(g, factor)) return;  // repeated before, repeated after
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
  auto const vector = std::max(vector_bytes / bytes_of(g.type[factor]), 1);
  auto const end_line = [&] { next = ceil_div(next, vector) * vector; };
  // Rows that do not follow one another in the result are no line for a kernel either: the second run of them begins
  // with a vector, so that the copy engine can go there.
  auto const& first = k_major ? k_order : own_order;
  for (std::size_t i = 0; i < first.size(); ++i) {
    bool const follows = i == 0 || follow_elsewhere(*first[i - 1], *first[i], factor);
    if (!k_major && !follows) end_line();
    place(*first[i]);
  }
  auto const line = next;
  end_line();
  result.has_gaps = k_major && next != line;
  // Long lines begin with one of the second-level cache: a box's lines would take two of them each.
  if (vector > 1 && next * bytes_of(g.type[factor]) >= kLongLine) {
    auto const of_cache = kCacheLine / bytes_of(g.type[factor]);
    next = ceil_div(next, of_cache) * of_cache;
  }
  for (Mode* const mode : k_major ? own_order : k_order) place(*mode);
  for (Mode* const mode : by_stride(p.l, Role::d)) place(*mode);

  set_array(p, factor, g.type[factor]);
  (factor == Role::a ? p.padded_a : p.padded_b) = vector > 1;
  result.bytes = workspace_bytes_of(next, g.type[factor]);
  return result;
}

}  // namespace

bool is_worth_packing(Geometry const& geometry, Role factor) {
  Geometry const g = folded(geometry);
  if (needs_boxes(g, factor)) return !lies_in_boxes(g, factor, g.k, own_modes(g, factor));
  bool const along_k = lies_in_vectors(g, factor, g.k);
  return !along_k && (needs_k_major(g) || !lies_in_vectors(g, factor, own_modes(g, factor)));
}

namespace {

// The group of the mode that varies fastest in the result.
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

}  // namespace

bool is_worth_packing_result(Geometry const& geometry) { return fastest_in_result(geometry) == &geometry.l; }

bool has_short_rows(Geometry const& geometry) {
  constexpr std::int64_t kShort = 32;
  for (Modes modes : {geometry.m, geometry.n}) {
    std::int64_t run = 1;
    std::int64_t next = 0;
    for (Mode const* mode : by_stride(modes, Role::d)) {
      if (mode->extent == 1) continue;
      if (next != 0 && mode->stride[Role::d] != next) break;
      run *= mode->extent;
      next = mode->stride[Role::d] * mode->extent;
    }
    if (run < kShort && run < modes.size()) return true;
  }
  return false;
}

bool is_in_short_pieces(Geometry const& geometry) {
  Modes const* const group = fastest_in_result(geometry);
  if (group == nullptr) return false;
  if (group == &geometry.l) return true;
  constexpr std::int64_t kShort = 16;
  std::int64_t piece = 1;
  Modes modes = *group;
  for (Mode const* mode : by_stride(modes, Role::d)) {
    if (mode->stride[Role::d] == piece) piece *= mode->extent;
  }
  return piece < kShort;
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

bool is_worth_packing_on_host(Geometry const& geometry, Role factor) {
  // What is multiplied by so many rows of the other factor is packed by the engine, which has time for it, unless it
  // has few rows itself: those products pack nothing.
  constexpr std::int64_t kMany = 64;
  constexpr std::int64_t kFew = 8;
  Geometry const g = folded(geometry);
  Modes const& own = own_modes(g, factor);
  if (own_modes(g, factor == Role::a ? Role::b : Role::a).size() > kMany && own.size() > kFew) return false;
  auto const is_near = [&](Modes const& modes) { return modes.rank() > 0 && modes[0].stride[factor] == 1; };
  return g.k.rank() > 1 || own.rank() > 1 || !(is_near(g.k) || is_near(own));
}

Packed packed_on_host(Geometry const& geometry, Role factor) {
  constexpr std::int64_t kFew = 16;
  Geometry const g = folded(geometry);
  Modes const& own = own_modes(g, factor);
  return pack_along(g, factor, own.size() < kFew || fastest_group(factor, own, g.k) == 1, 0);
}

std::optional<Packed> packed(Geometry const& geometry, Role factor) {
  Geometry const g = folded(geometry);
  bool const is_k_major = !reads_k_by_elements(g, factor) && fastest_group(factor, own_modes(g, factor), g.k) == 1;
  // As it lies, if that can be and is of use. Gaps between lines along K would be multiplied, too.
  for (bool const k_major : {is_k_major, !is_k_major}) {
    if (needs_k_major(g) && !k_major) continue;
    Packed result = pack_along(g, factor, k_major, kVectorBytes);
    if (result.has_gaps && !needs_k_major(g)) continue;
    Geometry const p = folded(result.product);
    Modes const& own = own_modes(p, factor);
    if (!needs_boxes(g, factor) && lies_in_vectors(p, factor, k_major ? p.k : own)) return result;
    // Of 16 bits, the copy engine takes both majors, and lines that end within a vector.
    bool const in_boxes = needs_boxes(g, factor) || scalar_bytes_of(g.type[factor]) == 2;
    if (in_boxes && (k_major ? lies_in_boxes(p, factor, p.k, own) : lies_in_boxes(p, factor, own, p.k))) return result;
  }
  return std::nullopt;
}

}  // namespace cute_py::dispatch
