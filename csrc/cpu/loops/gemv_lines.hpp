#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/loops/factors.hpp"

namespace cute_py::cpu {

// GEMV by lines: acc(i) of a part of a line along plan.free[0], from `first` on, over some steps of k. A factor is read
// where it lies, or converted into the scratch, some steps at a time.
template <Compute compute>
class GemvLines {
  using Scalar = typename Arithmetic<compute>::Scalar;

 public:
  explicit GemvLines(Factors<compute> const& of) : of_(of), line_(of.plan.free[0]) {}

  bool converts() const { return !of_.a.is_ready_along(line_) || !of_.b.is_ready_along(line_); }

  void sum(std::int64_t first, std::int64_t count, std::int64_t k, std::int64_t count_k, Scalar* acc,
           LoopScratch<compute>& s) const {
    auto const start_a = offset_of(of_.plan.free, Role::a, first);
    auto const start_b = offset_of(of_.plan.free, Role::b, first);
    // Of one factor that goes along the line, and is read where it lies, the kernel takes all (axpy of columns).
    bool const is_axpy = (line_.stride[Role::a] == 0) != (line_.stride[Role::b] == 0) && !converts() &&
                         of_.a.is_own_type && of_.b.is_own_type;
    bool is_first = true;
    of_.for_runs(k, count_k, [&](std::int64_t at_a, std::int64_t at_b, std::int64_t run) {
      auto const at_once = is_axpy ? run : kStepsAtOnce;
      for (std::int64_t p = 0; p < run; p += at_once) {
        auto const steps = std::min(at_once, run - p);
        auto const a = line_of(of_.a, start_a + at_a + p * of_.a.step, count, steps, s.a);
        auto const b = line_of(of_.b, start_b + at_b + p * of_.b.step, count, steps, s.b);
        of_.multiply(count, steps, a, b, acc, is_first);
        is_first = false;
      }
    });
  }

 private:
  LineFactor<Scalar> line_of(Factor<compute> const& x, std::int64_t offset, std::int64_t count, std::int64_t steps,
                             Scalar* buffer) const {
    auto const stride = line_.stride[x.role];
    if (x.is_own_type && (stride == 0 || stride == 1)) return {x.at(offset), stride == 1, x.step};
    auto const width = stride == 0 ? 1 : count;
    for (std::int64_t p = 0; p < steps; ++p) {
      of_.load(x, {offset + p * x.step, stride}, width, buffer + kParts<compute> * p * width);
    }
    return {buffer, stride != 0, width};
  }

  Factors<compute> const& of_;
  Mode const& line_;
};

}  // namespace cute_py::cpu
