#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "problem/box_rules.hpp"
#include "problem/geometry.hpp"

// What SM90's TMA is told of an array (its tensor map), as plain data.
namespace cute_py {

inline constexpr int kBoxModes = box_rules::kMostModes;

// What its addresses and strides are multiples of, in bytes.
inline constexpr int kBoxAlignment = box_rules::kAlignment;

// An array of up to five modes, the first of stride 1, and the box of it that one copy moves. In shared memory a box is
// dense, its first mode first, its 16-byte pieces swizzled within spans of `swizzle_bytes`.
struct TensorBox {
  DType type = DType::f16;
  bool to_tfloat32 = false;  // float32 is rounded on the way to shared memory
  int rank = 0;
  std::int64_t extent[kBoxModes] = {1, 1, 1, 1, 1};
  std::int64_t stride[kBoxModes] = {};  // in elements
  int box[kBoxModes] = {1, 1, 1, 1, 1};
  int swizzle_bytes = 128;

  // A mode is one of a group, or has one element if the group has no such mode; of a box it has `length`.
  void set(int mode, Modes const& group, int which, Role role, int length) {
    bool const exists = which < group.rank();
    extent[mode] = exists ? std::max<std::int64_t>(group[which].extent, 1) : 1;
    stride[mode] = exists && extent[mode] > 1 ? group[which].stride[role] : kBoxAlignment / bytes_of(type);
    box[mode] = length;
  }
};

// The rules of TMA that a box of an array at `data` breaks.
std::vector<std::string> broken_rules(TensorBox const& box, void const* data);

// The same with an address, as TMA reads it: opaque, and a parameter of a kernel.
struct alignas(128) TensorMap {
  unsigned char bytes[128];
};

// Why TMA cannot follow an array: for its address, for a stride, of the first mode or of another, or for modes
// beyond the fifth.
struct Obstacle {
  enum class Kind { none, address, first_stride, stride, modes };
  Kind kind = Kind::none;
  std::int64_t number = 0;  // the stride, or how many modes there are
};

// Can TMA follow an array? A tile has elements of the first mode of `fast`, along which they lie side by side,
// and of the first of `other`; of up to three modes that are left it has one, and where a stride is 0, there is nothing
// to follow.
inline Obstacle obstacle_to_boxes(Geometry const& g, Role role, Modes const& fast, Modes const& other) {
  if (!g.is_aligned(role, kBoxAlignment)) return {Obstacle::Kind::address};
  int const element = bytes_of(g.type[role]);
  auto const can_follow = [&](Mode const& mode) {
    auto const bytes = mode.stride[role] * element;
    return bytes > 0 && box_rules::is_aligned(bytes) && box_rules::is_in_reach(bytes);
  };
  if (fast.rank() > 0 && fast[0].extent != 1 && fast[0].stride[role] != 1) {
    return {Obstacle::Kind::first_stride, fast[0].stride[role]};
  }
  if (other.rank() > 0 && other[0].extent != 1 && !can_follow(other[0])) {
    return {Obstacle::Kind::stride, other[0].stride[role]};
  }
  int modes = 2;
  Obstacle found;
  for_each_group(g, [&](Modes const& group) {
    bool const is_tiled = &group == &fast || &group == &other;
    for (int i = is_tiled ? 1 : 0; i < group.rank(); ++i) {
      if (group[i].stride[role] == 0 || group[i].extent == 1) continue;
      ++modes;
      if (!can_follow(group[i])) found = {Obstacle::Kind::stride, group[i].stride[role]};
    }
  });
  if (modes > kBoxModes) found = {Obstacle::Kind::modes, modes};
  return found;
}

inline bool lies_in_boxes(Geometry const& g, Role role, Modes const& fast, Modes const& other) {
  return obstacle_to_boxes(g, role, fast, other).kind == Obstacle::Kind::none;
}

// Of factors of a type, the type of D that TMA stores, if there is nothing more to do than to scale sums.
constexpr DType type_in_boxes(DType factor) {
  return factor == DType::i8 ? DType::i32 : is_float8(factor) ? DType::bf16 : factor;
}

// Of products of planes: whole sums, or what is left of them modulo a number.
constexpr DType type_in_boxes(DType factor, Compute compute) {
  return compute == Compute::planes ? DType::f32 : compute == Compute::residues ? DType::i8 : type_in_boxes(factor);
}

// May TMA store it, too? TMA reads single elements, and writes pieces of 16 bytes, the last one of a line as
// well.
inline bool may_store_boxes(Geometry const& g, Role role, Modes const& fast, Modes const& other) {
  auto const bytes = (fast.rank() > 0 ? fast[0].extent : 1) * bytes_of(g.type[role]);
  return bytes % kBoxAlignment == 0 && lies_in_boxes(g, role, fast, other);
}

// Of products whose operands TMA loads: the types that C, bias and residual may have where the whole epilogue is done
// in registers.
inline constexpr DTypeSet kInRegisters = types(DType::f32) | types(DType::f16) | types(DType::bf16);

// Are the elements of a tile of a group so near to one another that 32 bits hold how far?
inline bool has_short_strides(Modes const& group, Role role) {
  constexpr std::int64_t kMost = std::int64_t{1} << 22;  // elements: a tile has 256 rows, or columns, at most
  return group.rank() == 0 || (-kMost < group[0].stride[role] && group[0].stride[role] < kMost);
}

// May TMA store D, because the epilogue is done in registers? `along_n`: D's unit stride is in N.
inline bool finishes_in_boxes(Geometry const& g, bool along_n) {
  if (g.type[Role::d] != type_in_boxes(g.type[Role::a], g.compute)) return false;
  // Lines of residues end with pieces of 16 bytes.
  if (g.compute == Compute::residues) return along_n && lies_in_boxes(g, Role::d, g.n, g.m);
  if (!(along_n ? may_store_boxes(g, Role::d, g.n, g.m) : may_store_boxes(g, Role::d, g.m, g.n))) return false;
  if (g.is_plain() && !g.reads_c) return true;
  // Vectors of C are read and written as such.
  if ((g.is_plain() && g.c_is_d) || g.saturate || g.compute == Compute::i32) return false;
  for (Role const role : {Role::c, Role::bias, Role::residual}) {
    if (!g.has(role)) continue;
    if (!contains(kInRegisters, g.type[role]) || !has_short_strides(g.m, role) || !has_short_strides(g.n, role))
      return false;
  }
  return true;
}

}  // namespace cute_py
