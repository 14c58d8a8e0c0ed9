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

// Choosing is data: a geometry, a device and a table go in; decisions with estimates come out, or the reasons why there
// are none. No function here touches a device or has state.
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
  bool is_void = false;                         // is the forced decision one of another program? Nothing is chosen then
  bool may_split_k = true;
  bool has_packed = false;                           // are A or B packed for the kernel?
  SplitFactor const* split[2] = {nullptr, nullptr};  // the caller's A and B, if they were split before
  double us_of_zeros = 0;                            // the time to clear padding, for kernels that read it
};

// Does `name` select this entry: "auto", a kernel's name or a variant's?
bool matches(Traits const& traits, std::string_view name);

// Of two estimates that differ by less, the simpler candidate is chosen: without split-K, else the one proposed first
// (D written along its unit stride, an earlier family before a later).
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

// The entries that were selected and refuse a geometry, which is folded, in the order of the table.
std::vector<Rejection> rejections(Geometry const& geometry, Question const& question);

}  // namespace cute_py::dispatch
