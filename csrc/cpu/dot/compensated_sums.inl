// Compensated sums of lines: the sums of blocks of K, and of groups of these, element by element (block_sums.hpp)
//
// Order:  that of the calls. float32 is summed in float64; of float64 TwoSum keeps each rounding error, which the end
//         adds.
#include "cpu/dot/dot.hpp"
#include "cpu/simd.inl"

namespace cute_py::cpu {
namespace {

template <class T>
void add_line(std::int64_t count, T const* y, T* x) {
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) store(x + i, load(x + i) + load(y + i));
  for (; i < count; ++i) x[i] += reinterpret_cast<LooseElement<T> const*>(y)[i];
}

template <class T>
void accumulate_line(std::int64_t count, T const* acc, SumOf<T>* sums, SumOf<T>* compensation, bool first) {
  if (first) {
    for (std::int64_t i = 0; i < count; ++i) sums[i] = static_cast<SumOf<T>>(acc[i]);
    if (compensation == nullptr) return;
    for (std::int64_t i = 0; i < count; ++i) compensation[i] = 0;
  } else if (compensation == nullptr) {
    for (std::int64_t i = 0; i < count; ++i) sums[i] += static_cast<SumOf<T>>(acc[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      SumOf<T> const added = static_cast<SumOf<T>>(acc[i]);
      SumOf<T> const sum = sums[i] + added;
      SumOf<T> const seen = sum - sums[i];
      compensation[i] += (sums[i] - (sum - seen)) + (added - seen);
      sums[i] = sum;
    }
  }
}

template <class T>
void finalise_line(std::int64_t count, SumOf<T> const* sums, SumOf<T> const* compensation, T* acc) {
  if (compensation == nullptr) {
    for (std::int64_t i = 0; i < count; ++i) acc[i] = static_cast<T>(sums[i]);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    SumOf<T> const sum = sums[i] + compensation[i];
    acc[i] = static_cast<T>(sum == sum ? sum : sums[i]);  // the compensation of infinity is NaN
  }
}

template <class T>
constexpr SumsKernel<T> kSums = {.add = &add_line<T>, .accumulate = &accumulate_line<T>, .finalise = &finalise_line<T>};

}  // namespace
}  // namespace cute_py::cpu
