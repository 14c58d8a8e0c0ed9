#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/choose.hpp"
#include "dispatch/program.hpp"
#include "dispatch/refusals.hpp"
#include "execution/location.hpp"
#include "execution/staging.hpp"
#include "problem/product.hpp"

// From a request to its result. `explain` reads the outline, a plan keeps what is prepared, a call runs it.
namespace cute_py::execution {

// The plan of a product: where it runs, and in what steps.
struct Outline {
  Product product;
  Location location;
  std::optional<Staging> staging;
  dispatch::Program program;
  bool tuned = false;  // it was looked up, not chosen
};

Outline make_outline(Request const& request);

// What was asked to make it.
dispatch::Question question_of(Request const& request, Outline const& outline);

// Why no kernel takes a step: the reasons of every candidate, for messages.
std::string refusals_text(Request const& request, Outline const& outline, dispatch::Step const& step);

// An outline whose kernels are ready to run.
struct Prepared {
  Function function;
  Outline outline;
  std::vector<std::unique_ptr<Launch>> launches;  // by step

  std::int64_t workspace_bytes() const { return outline.program.workspace_bytes; }

  // The most that a step takes on a host beside the arrays and the workspace, in all threads.
  std::int64_t scratch_bytes() const;
};

// Throws UnsupportedProblemError, with the reasons of every candidate, if no kernel takes a step.
std::shared_ptr<Prepared const> prepare(Request const& request);

// A factor that is split for later products of emulated precision: a program of one step, which is run with memory of
// `bytes` for it, aligned to 256, as Arguments::split[0].
struct PreparedSplit {
  Prepared prepared;
  std::int64_t bytes;
  std::int64_t planes_at;
};

// Of A, as the A of a product of A and B. Throws OperandError if its compute has no planes, UnsupportedProblemError if
// no kernel splits it.
PreparedSplit prepare_split(Request const& request);

// Everything of a request that prepare() may look at: all but the places of arrays and numbers that decide nothing.
class Key {
 public:
  Key() = default;
  explicit Key(Request const& request) { assign(request); }

  void assign(Request const& request);
  std::size_t hash() const { return hash_; }
  friend bool operator==(Key const& x, Key const& y) {
    return x.hash_ == y.hash_ && x.count_ == y.count_ && std::equal(x.first_, x.first_ + x.count_, y.first_) &&
           x.others_ == y.others_;
  }

 private:
  void add(std::uint64_t word) {
    if (count_ < kFirst) {
      first_[count_++] = word;
    } else {
      others_.push_back(word);
    }
  }
  void add(std::string_view text);
  void add(View const* view);

  // The key of a usual request allocates nothing.
  static constexpr std::size_t kFirst = 64;
  std::uint64_t first_[kFirst];
  std::size_t count_ = 0;
  std::vector<std::uint64_t> others_;
  std::size_t hash_ = 0;
};

// What was prepared for a request like this one; null if that was not done, or too long ago. Labels of the request's
// function need not be known.
std::shared_ptr<Prepared const> find_prepared(Key const& key);
void keep_prepared(Key const& key, std::shared_ptr<Prepared const> const& prepared);

// Warms up a program: work that later runs do not repeat. The GPU that it runs on is current.
void warm_up(Prepared const& prepared);

// Runs the steps in order. On a GPU it returns after the last launch, unless arrays are staged or `wait`. Without a
// workspace, one is made for the call, on its stream.
void run(Prepared const& prepared, Arguments arguments, Execution const& execution, bool wait,
         void* workspace = nullptr);

}  // namespace cute_py::execution
