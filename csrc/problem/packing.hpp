#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "problem/decision.hpp"
#include "problem/folded.hpp"
#include "problem/geometry.hpp"

// Pre-packing of badly strided operands: a factor is copied to a dense array first, because kernels read it too slowly
// where it lies; a result that kernels would scatter is written to one. Each target has its own rules.
namespace cute_py {

struct Packed {
  Geometry product;       // with the dense array in the place of the other
  Geometry copy;          // from A to D
  std::int64_t bytes;     // that it takes
  bool has_gaps = false;  // between its lines, which have to be 0
};

// How a factor is packed.
struct PackingStyle {
  bool k_major;
  int vector_bytes = 0;              // lines end with vectors of this size; 0: anywhere
  std::int64_t long_line_bytes = 0;  // lines of this size or more begin with a line of L2:
  int cache_line_bytes = 0;
  bool repeats = false;  // a stride of 0 is written out
};

// The product with a factor in a dense array, the modes of K in the order that the other factor has, those of M or N in
// that of the result.
Packed packed_factor(Folded const& product, Role factor, PackingStyle const& style);

// The product with a dense result, M first.
Packed packed_result(Geometry const& geometry);

// The modes of a factor's own: M, or N.
inline Modes const& own_modes(Geometry const& g, Role factor) { return factor == Role::a ? g.m : g.n; }

// The group of the mode that varies fastest in the result; null if it has one element.
Modes const* fastest_in_result(Geometry const& geometry);

// Modes by their strides in an array, those of stride 0 last.
std::vector<Mode*> by_stride(Modes& modes, Role role);

// What the kernels of a target have in common, beyond their families.
struct Platform {
  // The product that is computed in place of one whose arithmetic no kernel has.
  void (*adapt)(Geometry& geometry);

  // Sets of arrays to consider for packing, for a product that takes `us` without.
  std::vector<Packs> (*worth_packing)(FoldedProduct const& product, double us, DeviceInfo const& device);

  // The product with a packed factor; nothing if it cannot be laid out as kernels want it.
  std::optional<Packed> (*pack)(Folded const& product, Role factor);

  // The most bytes of packed arrays, unless a decision is forced.
  std::int64_t (*most_packed_bytes)(DeviceInfo const& device);

  // May a kernel take a product with factors that were packed for it?
  bool (*reads_packed)(Traits const& traits);

  // Does a kernel multiply the padding between the lines of a packed factor? It has to be 0 then.
  bool (*reads_gaps)(Traits const& traits);

  double copies_take = 1;  // relative to their estimates, where they are a choice

  // Does the choice of the fastest kernel depend on the number of threads, on which bits must not depend?
  bool has_threads = false;
};

}  // namespace cute_py
