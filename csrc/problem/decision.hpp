#pragma once

#include <cstdint>
#include <vector>

#include "problem/device.hpp"
#include "problem/entry.hpp"
#include "problem/geometry.hpp"

// What a choice is made of: decisions, and what they are expected to take.
namespace cute_py {

// Factors that are brought into dense arrays first, and a result that is written to one and then brought to its place:
// one bit for each.
using Packs = unsigned;
inline constexpr Packs kPackA = 1;
inline constexpr Packs kPackB = 2;
inline constexpr Packs kPackD = 4;

// How one product is computed, completely. `exchanged`: as C^T = B A^T. `parts`: K is cut in so many, and the last CTA
// of a tile to finish adds their sums, or those of a cluster do. `packs`: of the product as it is asked for.
struct Decision {
  Entry const* entry = nullptr;
  bool exchanged = false;
  std::int64_t parts = 1;
  std::int64_t ctas = 0;  // of the launch that multiplies; 0 on a CPU
  bool in_pairs = false;  // as Cut has it
  Packs packs = 0;

  friend bool operator==(Decision const& x, Decision const& y) {
    return x.entry == y.entry && x.exchanged == y.exchanged && x.parts == y.parts &&
           x.packs == y.packs;  // CTAs and pairs follow from these
  }
};

// What an estimate says limits a kernel.
enum class Bound : std::uint8_t { latency, math, memory };

constexpr char const* name_of(Bound bound) {
  switch (bound) {
    case Bound::latency:
      return "latency";
    case Bound::math:
      return "math";
    case Bound::memory:
      return "memory";
  }
  return "";
}

struct Estimate {
  double us = 0;
  Bound bound = Bound::latency;
};

// A way to compute a product, and what it is expected to take in all its steps.
struct Candidate {
  Decision decision;
  Estimate estimate;
};

// The numbers of elements of the groups that an estimate is for: those of the geometry, or, where bits must not depend
// on them, some that are always the same.
struct Extents {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t l = 1;
  std::int64_t parts = 1;       // that K is cut in; k is then that of a part, and l has all of them
  std::int64_t in_cluster = 1;  // parts whose CTAs are a cluster
  bool in_pairs = false;        // as Cut has it
};

// What a family of kernels knows of its own speed, and what nobody else knows. The geometry is folded, and one that the
// entry takes.
struct Rules {
  Estimate (*estimate)(Geometry const& geometry, Extents const& extents, Traits const& traits,
                       DeviceInfo const& device);

  // CTAs of a launch; 0 on a CPU.
  std::int64_t (*ctas)(Geometry const& geometry, Extents const& extents, Traits const& traits);

  // Appends the numbers of parts of K, 2 or more, that are worth an estimate.
  void (*propose_parts)(Extents const& extents, Traits const& traits, DeviceInfo const& device,
                        std::vector<std::int64_t>& parts);
};

}  // namespace cute_py
