#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ones.hpp"
#include "problem/decision.hpp"
#include "problem/folded.hpp"
#include "problem/geometry.hpp"

// The steps that compute a product: mostly one, more where a sum of one operand or a pack comes first.
namespace cute_py::dispatch {

// Where an array of a step is: in one of the caller's arrays, in the workspace, among the Ones, or where A or B was
// split before.
enum class Source { a, b, c, d, bias, residual, workspace, one, split_a, split_b };
inline constexpr int kSources = 10;

// An array of a step, as an offset in bytes from its source.
struct Place {
  Source source = Source::a;
  std::int64_t offset = 0;
};

enum class Purpose { multiply, copy, sum_a, sum_b, pack_a, pack_b, unpack_d, split_a, split_b, combine };

// In words.
char const* name_of(Purpose purpose);

// Arrays of a step of emulated precision: exponents of A's rows and of B's, and residues.
struct PlanePlaces {
  Place exponents[2];
  Place residues;
};

struct Step {
  Purpose purpose;
  Geometry geometry;        // folded, and as the kernel sees it
  bool transposed = false;  // relative to the step as it is meant
  PerRole<Place> places;
  bool takes_scalars = false;    // the caller's alpha, beta and scale; otherwise 1, 0 and 1
  Entry const* entry = nullptr;  // none, if every candidate refuses
  Estimate estimate;
  Schedule schedule;
  std::int64_t schedule_offset = 0;  // of its memory in the workspace
  std::int64_t clear_bytes = 0;      // of D, from its beginning, that are 0 before it
  std::optional<PlanePlaces> planes = std::nullopt;
};

struct Question;  // dispatch/choose.hpp

struct Program {
  std::vector<Step> steps;
  std::int64_t workspace_bytes = 0;
  std::vector<Candidate> candidates;  // of the multiplication, the chosen one first
  std::string refused;                // why there is no such program, and a way out; "" if there is one

  double us() const;  // what it is expected to take
};

// The steps of a product. An index of A alone, or of B alone, that is summed over is summed first, into the workspace,
// if that saves work; if the product is batch_invariant, always. A factor that no kernel reads in vectors is packed
// into the workspace, if that is faster. A result that kernels would scatter is written there, and then unpacked.
Program make_program(FoldedProduct const& product, Question const& question);

}  // namespace cute_py::dispatch
