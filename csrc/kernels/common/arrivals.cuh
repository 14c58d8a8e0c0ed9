#pragma once

#include <cstdint>

#include <cute/config.hpp>

#include "kernels/common/arrivals.hpp"

// CTAs count themselves.
namespace cute_py::kernels {

inline constexpr Arrivals::Number kMostArrivals = 15;

// Computed, because ptxas 13.0 does not always wait until a register that it sets to zero itself is zero.
CUTE_DEVICE Arrivals::Number zero_for(Arrivals const& arrivals) { return arrivals.launch & kMostArrivals; }

// Before a CTA counts itself at a number, one of its threads makes it ready.
CUTE_DEVICE void make_ready(Arrivals const& arrivals, std::int64_t at) {
  auto* const number = arrivals.numbers + at;
  auto const seen = atomicCAS(number, zero_for(arrivals), arrivals.launch);
  bool const is_ready = seen == 0 || (seen & ~kMostArrivals) == arrivals.launch;
  if (!is_ready) atomicCAS(number, seen, arrivals.launch);
}

// Counts the CTA. Is it the last of so many?
CUTE_DEVICE bool counts_last(Arrivals const& arrivals, std::int64_t at, unsigned of) {
  auto* const number = arrivals.numbers + at;
  bool const is_last = atomicAdd(number, Arrivals::Number{1}) == arrivals.launch + (of - 1);
  if (is_last) atomicCAS(number, arrivals.launch + of, zero_for(arrivals));
  return is_last;
}

}  // namespace cute_py::kernels
