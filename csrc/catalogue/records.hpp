#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "layout/layout.hpp"
#include "layout/swizzle.hpp"

// The static world as values.
namespace cute_py::catalogue {

// An element type of CuTe: its C++ name and its size.
struct ValueType {
  std::string name;
  int bits;
};

// The scales of a block-scaled product: one for each `length` elements along K.
struct ScaleRecord {
  ValueType type;
  int length;
  std::optional<layout::Layout> layout_a;  // (thread,value) -> flat (m,k) of the element it scales
  std::optional<layout::Layout> layout_b;
};

// MMA_Traits: which element of A (M,K), B (N,K) and C (M,N) each thread holds as which value.
struct MmaRecord {
  std::string name;
  int architecture;  // of the first GPU that has it: 80 for SM80; 0 for one that is no instruction
  layout::IntTuple shape_mnk;
  layout::Layout thr_id;
  layout::Layout layout_a;  // (thread,value) -> flat (m,k)
  layout::Layout layout_b;
  layout::Layout layout_c;
  ValueType a;
  ValueType b;
  ValueType c;
  ValueType d;
  std::optional<ScaleRecord> scales = std::nullopt;
};

// Copy_Traits: which bit of the source and of the destination each thread moves as which value.
struct CopyRecord {
  std::string name;
  int architecture;
  layout::Layout thr_id;
  layout::Layout layout_src;  // (thread,value) -> bit
  layout::Layout layout_dst;
  layout::Layout layout_ref;
};

struct TiledMmaRecord {
  MmaRecord atom;
  layout::Layout atom_layout;  // (M,N,K) -> atom
  layout::Tiler permutations;
};

struct TiledCopyRecord {
  CopyRecord atom;
  ValueType value_type;
  layout::Layout layout_tv;  // (thread,value) -> coordinate in the tile
  layout::Tiler tiler;
};

using SmemLayoutRecord = std::variant<layout::Layout, layout::ComposedLayout>;

// The consumer threads of a CTA, and behind them the producer's, one of which starts TMA loads. `of_tile`: the
// consumers that share a tile; where these are fewer than all, the schedule is ping-pong.
struct RolesRecord {
  int multiplying;
  int copying;
  int of_tile;
};

// Everything about a Config that is a layout.
struct ConfigRecord {
  std::string cpp_type;        // what C++ calls it
  layout::IntTuple cta_tiler;  // (BLK_M,BLK_N,BLK_K)
  ValueType a;
  ValueType b;
  ValueType c;

  // (m,k,...) -> element of the operand's shared memory, and where that begins in the CTA's, in bytes. A may go
  // straight to registers.
  std::optional<SmemLayoutRecord> smem_a;
  SmemLayoutRecord smem_b;
  std::size_t smem_offset_a;
  std::size_t smem_offset_b;

  // Of a kernel that partitions by thread layouts.
  std::optional<layout::Layout> threads_a;  // (m,k) -> thread
  std::optional<layout::Layout> threads_b;
  std::optional<layout::Layout> threads_c;

  // Of one that partitions by tiled copies and a tiled MMA.
  std::optional<TiledCopyRecord> copy_a;
  std::optional<TiledCopyRecord> copy_b;
  std::optional<TiledMmaRecord> mma;

  // Of one whose sums change hands, who writes them: (thread,value) -> flat (m,n).
  std::optional<layout::Layout> owners_c;

  // Of a kernel whose operands TMA loads: rows, or columns, and steps of k of a box.
  std::optional<std::array<int, 2>> box_a;
  std::optional<std::array<int, 2>> box_b;

  // Of one whose warpgroups have tasks of their own.
  std::optional<RolesRecord> roles;
};

}  // namespace cute_py::catalogue
