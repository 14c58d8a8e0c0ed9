#pragma once

#include <cstdint>

#include <cute/config.hpp>

// CTAs that count themselves in memory which nobody has cleared.
namespace cute_py::kernels {

// Numbers at which up to kMost CTAs of a launch count themselves each. One holds anything at first; then the launch's own
// number and how many have come; and 0 when all have, so that a graph can launch the kernel again as it is.
struct Arrivals {
  using Number = unsigned long long;
  static constexpr unsigned kMost = 15;

  Number* numbers = nullptr;
  Number launch = 0;  // Arguments::launch

  // Before a CTA counts itself at a number, one of its threads makes it ready.
  CUTE_DEVICE void make_ready(std::int64_t at) const {
    Number const seen = atomicCAS(numbers + at, zero(), launch);
    bool const is_ready = seen == 0 || (seen & ~Number{kMost}) == launch;
    if (!is_ready) atomicCAS(numbers + at, seen, launch);
  }

  // Counts the CTA. Is it the last of so many?
  CUTE_DEVICE bool comes_last(std::int64_t at, unsigned of) const {
    bool const is_last = atomicAdd(numbers + at, Number{1}) == launch + (of - 1);
    if (is_last) atomicCAS(numbers + at, launch + of, zero());
    return is_last;
  }

 private:
  // Computed, because ptxas 13.0 does not always wait until a register that it sets to zero itself is zero.
  CUTE_DEVICE Number zero() const { return launch & kMost; }
};

}  // namespace cute_py::kernels
