#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/program.hpp"
#include "instances/registry.hpp"
#include "problem/decision.hpp"
#include "problem/folded.hpp"
#include "problem/packing.hpp"
#include "problem/request.hpp"

// Choosing is data: a geometry, a device and a table go in; out come decisions with what each would take, or the
// reasons why there are none. Nothing here touches a device or remembers anything.
namespace cute_py::dispatch {

using instances::Registry;

// For what, and among what, a choice is made.
struct Question {
  Target target;
  Platform const& platform;
  DeviceInfo const& device;
  std::string_view kernel;  // "auto", a kernel's name or a variant's
  Registry const& registry;
  std::optional<Config> config = std::nullopt;  // in place of a choice
  std::int64_t workspace_limit = kNoLimit;      // bytes
  bool is_void = false;                         // is what is asked for another program's, so that nothing is chosen?
  bool may_split_k = true;
  bool has_packed = false;  // are A or B packed for the kernel?
  double us_of_zeros = 0;   // that a kernel waits for which reads the gaps between their lines
};

// Does `name` ask for this entry: "auto", a kernel's name or a variant's?
bool matches(Traits const& traits, std::string_view name);

// Of two that differ by less, the simpler one is chosen: in one launch, as it is asked for, of the earlier family.
inline constexpr double kTie = 0.03;

struct Choice {
  std::vector<Candidate> candidates;  // the chosen one first, then by what they take; none if every entry refuses
  std::vector<Step> steps;            // of the chosen one; without one, a step without an entry
  std::int64_t workspace_bytes = 0;   // with those that were reserved before
};

// A product whose arrays are at `places`. It may be computed as C^T = B A^T, and, if its tiles are too few for the
// device and K is long, with split-K, whose sums are added in a fixed order; not for a kernel that was named.
// If it is batch_invariant, neither, but for the order in which D lies, and nothing is chosen by M, N or L.
Choice choose(Purpose purpose, FoldedProduct const& product, PerRole<Place> const& places, Question const& question,
              std::int64_t reserved_bytes);

// An entry that cannot be taken, and why.
struct Rejection {
  Entry const* entry;
  unsigned refusals;
};

// The entries that were asked for and refuse a geometry, which is folded, in the order of the table.
std::vector<Rejection> rejections(Geometry const& geometry, Question const& question);

}  // namespace cute_py::dispatch
