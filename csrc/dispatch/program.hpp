#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/select.hpp"
#include "problem/device.hpp"
#include "problem/ones.hpp"
#include "problem/problem.hpp"

// The steps that compute a problem: mostly one, more where a sum is better taken in parts.
namespace cute_py::dispatch {

// Where an array of a step is: in one of the caller's arrays, in the workspace, or among the Ones.
enum class Source { a, b, c, d, bias, residual, workspace, one };
inline constexpr int kSources = 8;

// An array of a step, as an offset in bytes from its source.
struct Place {
  Source source = Source::a;
  std::int64_t offset = 0;
};

struct Step {
  char const* what;              // in words
  Problem problem;               // its pointers mean nothing
  bool transposed = false;       // relative to the step as it is meant
  std::array<Place, 6> places;   // of A, B, C, D, bias and residual
  Entry const* entry = nullptr;  // none, if every candidate refuses
};

struct Program {
  std::vector<Step> steps;
  std::int64_t workspace_bytes = 0;

  bool is_complete() const;
};

// The steps of a problem. Pointers of the problem matter for their alignment only.
//
// - An index of A alone, or of B alone, that is summed over is summed first, into the workspace, if that saves work; if
//   the problem is batch_invariant, always.
// - A product with too few tiles for the device and a long K is computed in parts of K. The last step adds their sums
// in
//   a fixed order. Not if the problem is batch_invariant, nor for a kernel that was named.
Program make_program(Problem const& problem, Target target, DeviceInfo const& device, std::string_view name,
                     Registry const& registry);

// The step's problem with pointers: `base` has an address for each source.
Problem resolved(Step const& step, std::array<void*, kSources> const& base);

}  // namespace cute_py::dispatch
