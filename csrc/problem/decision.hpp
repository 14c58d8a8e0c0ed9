#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "problem/device.hpp"
#include "problem/entry.hpp"
#include "problem/geometry.hpp"
#include "problem/schedule.hpp"

// What a choice is made of: decisions, and their estimates.
namespace cute_py {

// Pre-packing, one bit for each array: a factor is packed into a dense array first; a result is written to one, and
// unpacked from there.
using Packs = unsigned;
inline constexpr Packs kPackA = 1;
inline constexpr Packs kPackB = 2;
inline constexpr Packs kPackD = 4;

// How one product is computed, completely. `exchanged`: as C^T = B A^T. `packs`: of the product before an exchange.
struct Decision {
  Entry const* entry = nullptr;
  bool exchanged = false;
  Schedule schedule;
  Packs packs = 0;

  friend bool operator==(Decision const& x, Decision const& y) {
    return x.entry == y.entry && x.exchanged == y.exchanged && x.schedule == y.schedule && x.packs == y.packs;
  }
};

// What bounds a kernel, by its estimate.
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

// A way to compute a product, and the estimate of all its steps.
struct Candidate {
  Decision decision;
  Estimate estimate;
};

// The numbers of elements of the groups.
struct Extents {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t l = 1;
};

inline Extents extents_of(Geometry const& g) { return {g.m.size(), g.n.size(), g.k.size(), g.l.size()}; }

// A question to a family about one of its variants: a product that the variant takes, and a device. The estimate is for
// `judged`: the product, or, where bits must not depend on extents, one canonical product. Both are folded.
struct Task {
  Geometry const& geometry;
  Geometry const& judged;
  Entry const& entry;  // a variant
  DeviceInfo const& device;
};

// A complete schedule for a task, and the estimate of its launch.
struct Proposal {
  Schedule schedule;
  Estimate estimate;
};

// The cost model and the schedules of a family of kernels. No other code has such knowledge of a family.
struct Rules {
  // Appends the schedules that are worth a look, the one without split-K first; no other unless `may_split_k`.
  void (*propose)(Task const& task, bool may_split_k, std::vector<Proposal>& proposals);

  // A forced schedule, completed where it is open (0 or 1); nothing if it cannot be done.
  std::optional<Proposal> (*complete)(Task const& task, Schedule const& wanted);
};

}  // namespace cute_py
