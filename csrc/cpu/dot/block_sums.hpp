#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/arithmetic.hpp"
#include "cpu/dot/dot.hpp"

namespace cute_py::cpu {

// Blocked summation, compensated in float64: adds the sums of the blocks of K of some elements, in their order and
// always in the same way. Those of a group are added in the type of the accumulator, those of groups in a wider sum.
template <class T>
struct BlockSums {
  static constexpr bool kCompensates = std::is_same_v<T, double>;

  SumsKernel<T> const& kernel;
  std::int64_t count;
  T* group;        // of the blocks of a group so far; unused if there is one block
  SumOf<T>* sums;  // of groups so far, and their compensation; unused if there is one group
  SumOf<T>* compensation;

  // acc: the sums of a block, and after the last one those of all.
  void add(std::int64_t block, bool is_last, T* acc) const {
    auto const in_group = block % kBlocksOfGroup;
    bool const goes_on = !is_last && in_group + 1 < kBlocksOfGroup;
    if (count == 1) {  // a sum of many numbers, whose blocks are many: a call takes longer than an addition
      if (in_group > 0) *acc = static_cast<T>(*acc + *group);
      if (goes_on) *group = *acc;
    } else {
      if (in_group > 0) kernel.add(count, group, acc);
      if (goes_on) std::copy_n(acc, count, group);
    }
    if (goes_on) return;
    bool const is_first = block < kBlocksOfGroup;
    if (is_last && is_first) return;
    kernel.accumulate(count, acc, sums, kCompensates ? compensation : nullptr, is_first);
    if (is_last) kernel.finalise(count, sums, kCompensates ? compensation : nullptr, acc);
  }
};

}  // namespace cute_py::cpu
