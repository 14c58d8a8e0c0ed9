#pragma once

#include <string>

#include "problem/device.hpp"
#include "problem/entry.hpp"
#include "problem/geometry.hpp"

namespace cute_py::dispatch {

// Why an entry cannot run a product. A set of bits, so that asking costs nothing; `describe` puts them into words.
enum Refusal : unsigned {
  kNone = 0,
  kInstructions = 1u << 0,
  kSharedMemory = 1u << 2,
  kExtent = 1u << 3,
  kTiles = 1u << 4,
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
  kOperandA = 1u << 20,
  kOperandB = 1u << 21,
  kOrder = 1u << 25,
  kNotBuilt = 1u << 26,
};

// The legality rule, for a forced choice and for an automatic one. The geometry is folded. A family may propose nothing
// for what is legal but beyond its schedules; that is no refusal, and the next family is asked.
unsigned refusals(Traits const& traits, Geometry const& geometry, DeviceInfo const& device);
unsigned refusals(Entry const& entry, Geometry const& geometry, DeviceInfo const& device);

std::string describe(unsigned refusals, Traits const& traits, Geometry const& geometry, DeviceInfo const& device);

}  // namespace cute_py::dispatch
