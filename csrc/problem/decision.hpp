#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "problem/device.hpp"
#include "problem/entry.hpp"
#include "problem/geometry.hpp"
#include "problem/schedule.hpp"

// What a choice is made of: decisions, and what they are expected to take.
namespace cute_py {

// Factors that are brought into dense arrays first, and a result that is written to one and then brought to its place:
// one bit for each.
using Packs = unsigned;
inline constexpr Packs kPackA = 1;
inline constexpr Packs kPackB = 2;
inline constexpr Packs kPackD = 4;

// How one product is computed, completely. `exchanged`: as C^T = B A^T. `packs`: of the product as it is asked for.
struct Decision {
  Entry const* entry = nullptr;
  bool exchanged = false;
  Schedule schedule;
  Packs packs = 0;

  friend bool operator==(Decision const& x, Decision const& y) {
    return x.entry == y.entry && x.exchanged == y.exchanged && x.schedule == y.schedule && x.packs == y.packs;
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

// The numbers of elements of the groups.
struct Extents {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t l = 1;
};

inline Extents extents_of(Geometry const& g) { return {g.m.size(), g.n.size(), g.k.size(), g.l.size()}; }

// What a family is asked about one of its variants: a product that it takes, and the device. What is estimated is
// `judged`: the product, or, where bits must not depend on extents, one that is always the same. Both are folded.
struct Task {
  Geometry const& geometry;
  Geometry const& judged;
  Entry const& entry;  // a variant
  DeviceInfo const& device;
};

// A complete schedule for a task, and what its launch is expected to take.
struct Proposal {
  Schedule schedule;
  Estimate estimate;
};

// What a family of kernels knows of itself, and what nobody else knows.
struct Rules {
  // Appends the schedules that are worth a look, the one without split-K first; no other unless `may_split_k`.
  void (*propose)(Task const& task, bool may_split_k, std::vector<Proposal>& proposals);

  // The schedule that somebody asks for, with what is left open, 0 or 1, decided; nothing if it cannot be done.
  std::optional<Proposal> (*complete)(Task const& task, Schedule const& wanted);
};

}  // namespace cute_py
