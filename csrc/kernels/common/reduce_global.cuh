#pragma once

#include <cstdint>
#include <limits>

#include <cute/tensor.hpp>

#include "kernels/common/arrival_counter.cuh"
#include "kernels/common/mode_map.hpp"
#include "kernels/common/aligned_array.hpp"
#include "problem/schedule.hpp"

// Reduce policy: split-K through global memory. Each split of K is summed by a CTA of its own. Splits are the leaves of an
// 8-ary tree: at each node the last CTA to arrive reduces the partial sums of all, in their order, and goes up; the one at
// the root has the whole and runs the epilogue. No CTA waits for another, and the order of adds depends on the number of
// splits alone. Not stream-K: all splits of a launch but the last have equally many tiles of K.
namespace cute_py::kernels {

// Split-K: how the CTAs of a launch share K. blockIdx.z counts the splits of a product, then products.
struct SplitK {
  Divisor count;                                // of a product
  int tiles = std::numeric_limits<int>::max();  // of K, in each but the last
  std::uint32_t grid_m = 1;                     // tiles of C
  std::uint32_t grid_n = 1;
  ArrivalCounters counters;  // (node,split of a tile)
  void* partials = nullptr;  // (values of 16 bytes,thread,values,split of a tile)

  struct Split {
    std::uint32_t l;       // the product
    std::uint32_t number;  // of the split
    int begin;             // its tiles of K
    int end;
  };

  CUTE_HOST_DEVICE Split operator()(std::uint32_t z, int k_tiles) const {
    std::uint32_t const l = count.divide(z);
    std::uint32_t const number = z - l * count.divisor;
    if (count.divisor == 1) return {l, 0, 0, k_tiles};
    int const begin = static_cast<int>(number) * tiles;
    return {l, number, begin, cute::min(begin + tiles, k_tiles)};
  }

  // This CTA's tile of C, by its number.
  CUTE_DEVICE std::uint32_t tile(std::uint32_t l) const { return (l * grid_n + blockIdx.y) * grid_m + blockIdx.x; }

  // A node of the tree: its first split, and how many children it has, each of `step` splits.
  struct Node {
    std::uint32_t first;
    std::uint32_t children;
  };

  CUTE_HOST_DEVICE Node node(std::uint32_t number, std::uint32_t step) const {
    std::uint32_t const first = number & ~(step * kFanIn - 1);  // a power of two
    std::uint32_t const rest = (count.divisor - first + step - 1) / step;
    return {first, rest < kFanIn ? rest : kFanIn};
  }
};

// Prepares the counters that a CTA may arrive at, by its first thread, long before it arrives.
CUTE_DEVICE void prepare_counters(SplitK const& split_k, std::uint32_t l, std::uint32_t number)
{
  std::uint32_t const count = split_k.count.divisor;
  if (count == 1 || threadIdx.x != 0) return;
  std::int64_t const of_tile = std::int64_t{split_k.tile(l)} * count;
  std::uint32_t level = 0;
  CUTE_NO_UNROLL
  for (std::uint32_t step = 1; step < count; step *= kFanIn, ++level) {
    prepare_counter(split_k.counters, of_tile + split_k.node(number, step).first + level);
  }
}

// Reduces the partial sums of all splits of this CTA's tile, of which the first `used` values of acc count. Returns whether
// this CTA is the one that has the whole, in acc. Requires: prepare_counters() was called, and no thread still needs the
// shared memory after a barrier.
template <int Threads, class Acc>
CUTE_DEVICE bool reduce_global(SplitK const& split_k, std::uint32_t l, std::uint32_t number, int used, Acc& acc, void* shared)
{
  using T = typename Acc::value_type;
  constexpr int values = decltype(cute::size(acc))::value;
  constexpr int together = values * sizeof(T) % 16 == 0 ? 16 / static_cast<int>(sizeof(T)) : 1;
  using Vector = AlignedArray<T, together>;
  constexpr int vectors = values / together;
  std::uint32_t const count = split_k.count.divisor;
  if (count == 1) return true;
  std::uint32_t const tile = split_k.tile(l);
  Vector* const partials =
      static_cast<Vector*>(split_k.partials) + std::int64_t{tile} * count * vectors * Threads + threadIdx.x;
  auto const at = [&](std::uint32_t split, int vector) -> Vector& {
    return partials[(std::int64_t{split} * vectors + vector) * Threads];
  };

  std::uint32_t level = 0;
  for (std::uint32_t step = 1; step < count; step *= kFanIn, ++level) {
    auto const [first, children] = split_k.node(number, step);
    if (children > 1) {
      CUTE_UNROLL
      for (int v = 0; v < vectors; ++v) {
        Vector own;
        CUTE_UNROLL
        for (int i = 0; i < together; ++i) own.x[i] = acc(v * together + i);
        if (v * together < used) at(number, v) = own;
      }
      if (!arrives_last(split_k.counters, std::int64_t{tile} * count + first + level, children, threadIdx.x,
                        *static_cast<bool*>(shared), CtaBarrier{})) {
        return false;
      }
      // Loads of four children are in flight at a time; where there are fewer, the last child is loaded again and not added.
      cute::clear(acc);
      CUTE_NO_UNROLL
      for (std::uint32_t i = 0; i < children; i += 4) {
        CUTE_UNROLL
        for (int v = 0; v < vectors; ++v) {
          if (v * together < used) {
            Vector of[4];
            CUTE_UNROLL
            for (std::uint32_t j = 0; j < 4; ++j) of[j] = at(first + cute::min(i + j, children - 1) * step, v);
            CUTE_UNROLL
            for (std::uint32_t j = 0; j < 4; ++j) {
              CUTE_UNROLL
              for (int x = 0; x < together; ++x) {
                T& sum = acc(v * together + x);
                sum = i + j < children ? T(sum + of[j].x[x]) : sum;
              }
            }
          }
        }
      }
    }
    number = first;
  }
  return true;
}

}  // namespace cute_py::kernels
