#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "cpu/arithmetic.hpp"
#include "cpu/line_kernel.hpp"
#include "cpu/loop_plan.hpp"
#include "numeric/epilogue.hpp"
#include "problem/entry.hpp"

namespace cute_py::cpu {

// Products of elements and short sums of them, written where they belong at once: rectangles along two modes, in the
// first of which the result is dense, are one call of a kernel.
template <Compute compute>
class Elements {
  using T = typename Arithmetic<compute>::Accumulator;

 public:
  Elements(LineKernel<T> const& kernel, Geometry const& g, LoopPlan const& plan, Arguments const& x)
      : kernel_(kernel), plan_(plan), x_(x), alpha_(numeric::scalar<T>(x.alpha)), steps_(plan.k) {
    i_ = plan.free[0];
    j_ = plan.free.rank() > 1 ? plan.free[1] : Mode{};
    for (int mode = 2; mode < plan.free.rank(); ++mode) rest_.push_back(plan.free[mode]);
    Mode const step = g.k.rank() == 0 ? Mode{} : g.k[0];
    a_ = {i_.stride[Role::a], j_.stride[Role::a], step.stride[Role::a]};
    b_ = {i_.stride[Role::b], j_.stride[Role::b], step.stride[Role::b]};
  }

  void run(Execution const& execution) const {
    // A factor that is read across lies in lines that stay in a nearest cache until all of them has been read.
    bool const across = is_across(a_) || is_across(b_);
    auto const most_i = across ? std::int64_t{128} : std::int64_t{4096};
    auto const parts_i = ceil_div(i_.extent, most_i);
    auto const most_j = std::max<std::int64_t>(kMostElements / std::min(i_.extent, most_i), 8);
    auto const parts_j = ceil_div(j_.extent, most_j);
    auto const count = parts_i * parts_j * rest_.size();
    double const work = static_cast<double>(plan_.elements) * static_cast<double>(std::max<std::int64_t>(steps_, 1));
    constexpr double kWorkPerThread = 1 << 18;
    auto const threads = static_cast<std::int64_t>(
        std::clamp(work / kWorkPerThread, 1.0,
                   static_cast<double>(std::min<std::int64_t>(std::max(execution.host_threads, 1), count))));
    // A moment that nobody notices lies between two questions whether to stop.
    constexpr std::int64_t kWorkUnchecked = 1 << 22;
    auto const of_rectangle = std::min(i_.extent, most_i) * std::min(j_.extent, most_j) * steps_;
    auto const chunk = std::max<std::int64_t>(
        1, std::min(count / (4 * threads), kWorkUnchecked / std::max<std::int64_t>(of_rectangle, 1)));
    parallel_for(static_cast<int>(threads), ceil_div(count, chunk), [&](std::int64_t c) {
      execution.check_interrupt();
      Place place(rest_, c * chunk / (parts_i * parts_j));
      auto part = c * chunk % (parts_i * parts_j);
      for (auto left = std::min(chunk, count - c * chunk); left > 0; --left) {
        auto const i = part % parts_i * most_i;
        auto const j = part / parts_i * most_j;
        multiply(place, i, std::min(most_i, i_.extent - i), j, std::min(most_j, j_.extent - j));
        if (++part == parts_i * parts_j) {
          part = 0;
          place.advance();
        }
      }
    });
  }

 private:
  static constexpr std::int64_t kMostElements = 8192;

  static bool is_across(ElementFactor const& x) { return x.i != 0 && x.i != 1 && x.j == 1; }

  // An element of the modes that a rectangle does not have, and where it is in each array.
  class Place {
   public:
    Place(Modes const& modes, std::int64_t index) : modes_(modes) {
      for (int mode = 0; mode < modes.rank(); ++mode) {
        auto const at = index % modes[mode].extent;
        index /= modes[mode].extent;
        index_.push_back(at);
        for (Role const role : kArrays) offset[role] += at * modes[mode].stride[role];
      }
    }

    void advance() {
      for (int mode = 0; mode < modes_.rank(); ++mode) {
        auto& at = index_[static_cast<std::size_t>(mode)];
        Mode const& of = modes_[mode];
        bool const ends = ++at == of.extent;
        for (Role const role : kArrays) offset[role] += ends ? -(of.extent - 1) * of.stride[role] : of.stride[role];
        if (!ends) return;
        at = 0;
      }
    }

    PerRole<std::int64_t> offset;

   private:
    static constexpr Role kArrays[] = {Role::a, Role::b, Role::d};
    Modes const& modes_;
    std::vector<std::int64_t> index_;
  };

  void multiply(Place const& place, std::int64_t i, std::int64_t count_i, std::int64_t j, std::int64_t count_j) const {
    auto const at = [&](Role role) {
      return static_cast<T*>(x_.data[role]) + place.offset[role] + i * i_.stride[role] + j * j_.stride[role];
    };
    kernel_.elements(count_i, count_j, steps_, at(Role::a), a_, at(Role::b), b_, alpha_, at(Role::d),
                     j_.stride[Role::d]);
  }

  LineKernel<T> const& kernel_;
  LoopPlan const& plan_;
  Arguments const& x_;
  T const alpha_;
  std::int64_t const steps_;  // of k
  Mode i_;
  Mode j_;
  Modes rest_;
  ElementFactor a_;
  ElementFactor b_;
};

}  // namespace cute_py::cpu
