#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "instances/registry.hpp"
#include "problem/device.hpp"
#include "problem/geometry.hpp"

// Choosing is data: a geometry, a device and a table go in, a choice or every candidate's reasons come out. Nothing
// here touches a GPU or remembers anything.
namespace cute_py::dispatch {

using instances::Registry;

// Why an entry cannot run a product. A set of bits, so that asking costs nothing; `describe` puts them into words.
enum Refusal : unsigned {
  kNone = 0,
  kInstructionSet = 1u << 0,
  kComputeCapability = 1u << 1,
  kSharedMemory = 1u << 2,
  kExtent = 1u << 3,
  kGrid = 1u << 4,
  kDivisibility = 1u << 5,
  kMajorA = 1u << 6,
  kMajorB = 1u << 7,
  kMajorC = 1u << 8,
  kAlignmentA = 1u << 9,
  kAlignmentB = 1u << 10,
  kAlignmentC = 1u << 11,
  kCompute = 1u << 12,
  kFactorTypes = 1u << 13,
  kResultTypes = 1u << 14,
  kModes = 1u << 15,
  kConjugate = 1u << 16,
  kInvariance = 1u << 17,
  kEpilogue = 1u << 18,
  kTooLarge = 1u << 19,
};

// The one legality rule, for a forced choice and for an automatic one. The geometry is folded.
unsigned refusals(Traits const& traits, Geometry const& geometry, DeviceInfo const& device);

std::string describe(unsigned refusals, Traits const& traits, Geometry const& geometry, DeviceInfo const& device);

struct Candidate {
  Entry const* entry;
  unsigned refusals;
};

struct Choice {
  Geometry geometry;  // folded, and possibly transposed
  bool transposed = false;
  Entry const* entry = nullptr;  // none, if every candidate refuses
};

// Does `name` ask for this entry: "auto", a kernel's name or a variant's?
bool matches(Traits const& traits, std::string_view name);

// The candidate that fits best: the one made for these majornesses, and among those the last in the table.
Choice select(Geometry const& geometry, Target target, DeviceInfo const& device, std::string_view name,
              Registry const& registry);

// Every entry of the target that matches the name, with its refusals, in the order of the table. The geometry is
// folded.
std::vector<Candidate> candidates(Geometry const& geometry, Target target, DeviceInfo const& device,
                                  std::string_view name, Registry const& registry);

}  // namespace cute_py::dispatch
