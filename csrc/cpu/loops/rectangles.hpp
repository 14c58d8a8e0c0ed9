#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "cpu/arithmetic.hpp"
#include "cpu/elementwise/elementwise.hpp"
#include "cpu/loops/plan.hpp"
#include "numeric/epilogue.hpp"
#include "problem/entry.hpp"

namespace cute_py::cpu {

// Products of elements and short sums of them, written where they belong at once: rectangles along two modes, in the
// first of which the result is dense, are one call of a kernel.
template <Compute compute>
class Rectangles {
  using T = typename Arithmetic<compute>::Accumulator;

 public:
  Rectangles(ElementwiseKernel<T> const& kernel, Geometry const& g, LoopPlan const& plan, Arguments const& x)
      : kernel_(kernel), plan_(plan), x_(x), alpha_(numeric::scalar<T>(x.alpha)), steps_(plan.k) {
    i_ = plan.free[0];
    j_ = plan.free.rank() > 1 ? plan.free[1] : Mode{};
    Mode const step = g.k.rank() == 0 ? Mode{} : g.k[0];
    a_ = {i_.stride[Role::a], j_.stride[Role::a], step.stride[Role::a]};
    b_ = {i_.stride[Role::b], j_.stride[Role::b], step.stride[Role::b]};
    numbers_ = numbers_of_short_lines(i_, j_, plan.k);
    // A factor that is read across lies in cache lines that stay in L1 until all of them has been read.
    bool const across = is_across(a_) || is_across(b_);
    most_i_ = std::min<std::int64_t>(i_.extent, across ? 128 : 4096);
    most_j_ = std::max<std::int64_t>(kMostElements / most_i_, 8);
    auto const parts_of = [](Mode const& mode, std::int64_t most) {
      Mode parts{ceil_div(mode.extent, most), {}, false, false};
      for (int r = 0; r < kRoles; ++r) {
        auto const role = static_cast<Role>(r);
        parts.stride[role] = most * mode.stride[role];
      }
      return parts;
    };
    // What goes on where a short j ends in the factor that is read across comes before the next part of i: such lines
    // hold that, too.
    constexpr std::int64_t kMostBytes = 4096;  // bytes from a part's first line to its last
    auto const stays_in_lines = [&](Mode const& mode) {
      Role const role = is_across(a_) ? Role::a : Role::b;
      auto const bytes = static_cast<std::int64_t>(sizeof(T)) * std::abs(mode.stride[role]);
      return across && bytes != 0 && bytes * mode.extent <= kMostBytes;
    };
    for (int mode = 2; mode < plan.free.rank(); ++mode) {
      if (stays_in_lines(plan.free[mode])) rest_.push_back(plan.free[mode]);
    }
    part_i_ = rest_.rank();
    rest_.push_back(parts_of(i_, most_i_));
    rest_.push_back(parts_of(j_, most_j_));
    for (int mode = 2; mode < plan.free.rank(); ++mode) {
      if (!stays_in_lines(plan.free[mode])) rest_.push_back(plan.free[mode]);
    }
  }

  void run(Execution const& execution) const {
    auto const count = rest_.size();
    double const work = static_cast<double>(plan_.elements) * static_cast<double>(std::max<std::int64_t>(steps_, 1));
    auto const threads = static_cast<std::int64_t>(
        threads_for(work, kWorkPerThreadOfLoops, std::min<std::int64_t>(execution.host_threads, count)));
    auto const of_rectangle = most_i_ * std::min(j_.extent, most_j_) * std::max<std::int64_t>(steps_, 1);
    auto const chunk = std::max<std::int64_t>(1, std::min(count / (4 * threads), kWorkUnchecked / of_rectangle));
    parallel_for(static_cast<int>(threads), ceil_div(count, chunk), [&](std::int64_t c) {
      execution.check_interrupt();
      Place place(rest_, c * chunk);
      Repeated repeated;
      for (auto left = std::min(chunk, count - c * chunk); left > 0; --left) {
        if (numbers_ == Role::c) {
          multiply(place);
        } else {
          multiply_short_lines(place, repeated);
        }
        place.advance();
      }
    });
  }

 private:
  static constexpr std::int64_t kMostElements = 8192;

  static bool is_across(ElementFactor const& x) { return x.i != 0 && x.i != 1 && x.j == 1; }

  // An element of the modes that a rectangle does not have, parts of those that it has, and where it is in each array.
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

    std::int64_t operator[](int mode) const { return index_[static_cast<std::size_t>(mode)]; }

    PerRole<std::int64_t> offset;

   private:
    static constexpr Role kArrays[] = {Role::a, Role::b, Role::d};
    Modes const& modes_;
    std::vector<std::int64_t> index_;
  };

  void multiply(Place const& place) const {
    auto const at = [&](Role role) { return static_cast<T*>(x_.data[role]) + place.offset[role]; };
    auto const count_i = std::min(most_i_, i_.extent - place[part_i_] * most_i_);
    auto const count_j = std::min(most_j_, j_.extent - place[part_i_ + 1] * most_j_);
    kernel_.rectangle(count_i, count_j, steps_, at(Role::a), a_, at(Role::b), b_, alpha_, at(Role::d),
                      j_.stride[Role::d]);
  }

  // Numbers of short lines, each as often as there are results of a line.
  struct Repeated {
    std::vector<T> numbers;
    void const* of = nullptr;  // which
    std::int64_t count = 0;
  };

  void multiply_short_lines(Place const& place, Repeated& repeated) const {
    auto const at = [&](Role role) { return static_cast<T*>(x_.data[role]) + place.offset[role]; };
    auto const lines = std::min(most_j_, j_.extent - place[part_i_ + 1] * most_j_);
    auto const count = lines * i_.extent;
    T const* const numbers = at(numbers_);
    if (repeated.of != numbers || repeated.count != count) {
      repeated.numbers.resize(static_cast<std::size_t>(count));
      for (std::int64_t j = 0; j < lines; ++j) {
        std::fill_n(repeated.numbers.begin() + j * i_.extent, i_.extent,
                    numeric::load(numbers + j * j_.stride[numbers_]));
      }
      repeated.of = numbers;
      repeated.count = count;
    }
    T const* const others = at(numbers_ == Role::a ? Role::b : Role::a);
    ElementFactor const line{1, 0, 0};
    kernel_.rectangle(count, 1, 1, others, line, repeated.numbers.data(), line, alpha_, at(Role::d), 0);
  }

  ElementwiseKernel<T> const& kernel_;
  LoopPlan const& plan_;
  Arguments const& x_;
  T const alpha_;
  std::int64_t const steps_;  // of k
  Mode i_;
  Mode j_;
  std::int64_t most_i_;  // in a rectangle
  std::int64_t most_j_;
  Modes rest_;  // and parts of i and of j
  int part_i_;  // the place of the former, before the latter
  ElementFactor a_;
  ElementFactor b_;
  Role numbers_;  // see numbers_of_short_lines
};

}  // namespace cute_py::cpu
