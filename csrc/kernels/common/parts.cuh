#pragma once

#include <cstdint>
#include <limits>

#include <cute/tensor.hpp>

#include "kernels/common/arrivals.cuh"
#include "kernels/common/mode_map.hpp"
#include "kernels/common/neighbours.hpp"

// K in parts: each is summed by a CTA of its own, and the CTA that is the last to finish adds the sums, in an order that
// does not depend on which that is.
namespace cute_py::kernels {

// So many neighbouring sums become one, by the last of their CTAs, and so many of these again, until one is left.
inline constexpr std::uint32_t kPartsTogether = 8;

// How the CTAs of a launch share K. blockIdx.z counts the parts of a product, then products.
struct Parts {
  Divisor count;                                // of a product
  int tiles = std::numeric_limits<int>::max();  // of K, in each but the last
  std::uint32_t grid_m = 1;                     // tiles of C
  std::uint32_t grid_n = 1;
  Arrivals arrived;             // (node,part of a tile)
  void* sums = nullptr;         // (values of 16 bytes,thread,values,part of a tile)

  struct One {
    std::uint32_t l;       // the product
    std::uint32_t number;  // the part
    int begin;             // its tiles of K
    int end;
  };

  CUTE_HOST_DEVICE One operator()(std::uint32_t z, int k_tiles) const {
    std::uint32_t const l = count.divide(z);
    std::uint32_t const number = z - l * count.divisor;
    if (count.divisor == 1) return {l, 0, 0, k_tiles};
    int const begin = static_cast<int>(number) * tiles;
    return {l, number, begin, cute::min(begin + tiles, k_tiles)};
  }

  // This CTA's tile of C, by its number.
  CUTE_DEVICE std::uint32_t tile(std::uint32_t l) const { return (l * grid_n + blockIdx.y) * grid_m + blockIdx.x; }

  // Sums that become one: up to so many, each of `step` parts, the first of which begins with this part.
  struct Together {
    std::uint32_t first;
    std::uint32_t summands;
  };

  CUTE_HOST_DEVICE Together together(std::uint32_t number, std::uint32_t step) const {
    std::uint32_t const first = number & ~(step * kPartsTogether - 1);  // a power of two
    std::uint32_t const rest = (count.divisor - first + step - 1) / step;
    return {first, rest < kPartsTogether ? rest : kPartsTogether};
  }
};

// What a CTA has to have done with one of its threads, the first, before its sums are added.
CUTE_DEVICE void expect_parts(Parts const& parts, std::uint32_t l, std::uint32_t number)
{
  std::uint32_t const count = parts.count.divisor;
  if (count == 1 || threadIdx.x != 0) return;
  std::int64_t const of_tile = std::int64_t{parts.tile(l)} * count;
  std::uint32_t level = 0;
  CUTE_NO_UNROLL
  for (std::uint32_t step = 1; step < count; step *= kPartsTogether, ++level) {
    make_ready(parts.arrived, of_tile + parts.together(number, step).first + level);
  }
}

// Adds the sums of the parts of this CTA's tile. Returns whether this CTA is the one that has them all, in acc, of which
// the first `used` values count. Requires: expect_parts() was called, and no thread still needs the shared memory after
// a barrier.
//
// A CTA whose sums others may add writes them, and then counts itself: whoever counts last finds all of them written.
template <int Threads, class Acc>
CUTE_DEVICE bool add_parts(Parts const& parts, std::uint32_t l, std::uint32_t number, int used, Acc& acc,
                           void* shared)
{
  using T = typename Acc::value_type;
  constexpr int values = decltype(cute::size(acc))::value;
  constexpr int together = values * sizeof(T) % 16 == 0 ? 16 / static_cast<int>(sizeof(T)) : 1;
  using Vector = Neighbours<T, together>;
  constexpr int vectors = values / together;
  std::uint32_t const count = parts.count.divisor;
  if (count == 1) return true;
  std::uint32_t const tile = parts.tile(l);
  Vector* const sums = static_cast<Vector*>(parts.sums) + std::int64_t{tile} * count * vectors * Threads + threadIdx.x;
  auto const at = [&](std::uint32_t part, int vector) -> Vector& {
    return sums[(std::int64_t{part} * vectors + vector) * Threads];
  };
  bool* const is_last = static_cast<bool*>(shared);

  std::uint32_t level = 0;
  for (std::uint32_t step = 1; step < count; step *= kPartsTogether, ++level) {
    auto const [first, summands] = parts.together(number, step);
    if (summands > 1) {
      CUTE_UNROLL
      for (int v = 0; v < vectors; ++v) {
        Vector own;
        CUTE_UNROLL
        for (int i = 0; i < together; ++i) own.x[i] = acc(v * together + i);
        if (v * together < used) at(number, v) = own;
      }

      __syncthreads();  // all threads have written their sums, and have read what was in shared memory

      if (threadIdx.x == 0) {
        __threadfence();
        *is_last = counts_last(parts.arrived, std::int64_t{tile} * count + first + level, summands);
        __threadfence();
      }

      __syncthreads();  // whether this CTA is the last one becomes visible to all threads

      if (!*is_last) {
        return false;
      }
      // Those of four parts are on their way at a time; of fewer, the last one again, which is not added.
      cute::clear(acc);
      CUTE_NO_UNROLL
      for (std::uint32_t i = 0; i < summands; i += 4) {
        CUTE_UNROLL
        for (int v = 0; v < vectors; ++v) {
          if (v * together < used) {
            Vector of[4];
            CUTE_UNROLL
            for (std::uint32_t j = 0; j < 4; ++j) of[j] = at(first + cute::min(i + j, summands - 1) * step, v);
            CUTE_UNROLL
            for (std::uint32_t j = 0; j < 4; ++j) {
              CUTE_UNROLL
              for (int x = 0; x < together; ++x) {
                T& sum = acc(v * together + x);
                sum = i + j < summands ? T(sum + of[j].x[x]) : sum;
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
