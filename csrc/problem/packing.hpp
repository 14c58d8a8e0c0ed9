#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "problem/decision.hpp"
#include "problem/folded.hpp"
#include "problem/geometry.hpp"

// Pre-packing: a factor that is brought into a dense array first, because kernels read it too slowly where it lies; a
// result that they write to one, because they would scatter it. What a target's kernels want is the target's.
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
  int vector_bytes = 0;              // lines end with vectors of so many bytes; 0: anywhere
  std::int64_t long_line_bytes = 0;  // lines of as many bytes or more begin with a line of the L2 of so many:
  int cache_line_bytes = 0;
  bool repeats = false;  // what is repeated before is written out
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

  // Sets of arrays whose packing is worth a look, for a product that takes so long without.
  std::vector<Packs> (*worth_packing)(FoldedProduct const& product, double us, DeviceInfo const& device);

  // The product with a packed factor; nothing if it cannot be laid out as kernels want it.
  std::optional<Packed> (*pack)(Folded const& product, Role factor);

  // What is packed takes at most so many bytes, unless somebody asks for it.
  std::int64_t (*most_packed_bytes)(DeviceInfo const& device);

  // May a kernel take a product with factors that were packed for it?
  bool (*reads_packed)(Traits const& traits);

  // Does it multiply what lies between the lines of a packed factor, which have to be 0 then?
  bool (*reads_gaps)(Traits const& traits);

  double copies_take = 1;  // relative to their estimates, where they are a choice

  // Does the number of threads decide which kernel is the fastest, but must not decide about bits?
  bool has_threads = false;
};

}  // namespace cute_py
