#pragma once

#include <cute/tensor.hpp>

#include "kernels/common/aligned_array.hpp"
#include "kernels/common/operand.hpp"

// Reduce policy: sliced-K (split-K within a CTA). The warps of a CTA share K: each slice of warps has all results of the
// tile, and sums every kSlicedK-th step, or group of steps, of K.
namespace cute_py::kernels {

// Reduces the partial sums of all slices through shared memory, in their order, and calls then(sums, coords) with a thread's
// share of its results: the first of its columns in the first slice, the next in the second. acc and coords are
// (MMA,MMA_M,MMA_N), and so are sums and coords of a share. The threads of a slice follow one another.
//
// Requires: no thread still needs the shared memory after a barrier.
template <class Config, int SharedBytes, class Acc, class Coords, class Then>
CUTE_DEVICE void reduce_sliced_k(Acc& acc, Coords const& coords, void* shared, Then const& then)
{
  using namespace cute;
  constexpr int sliced_k = kSlicedK<typename Config::TiledMma>;
  if constexpr (sliced_k == 1) {
    then(acc, coords);
  } else {
    using T = typename Acc::value_type;
    constexpr int together = 16 / static_cast<int>(sizeof(T));
    using Vector = AlignedArray<T, together>;
    constexpr int values = decltype(size(acc))::value;
    constexpr int vectors = values / together;
    constexpr int vectors_of_share = vectors / sliced_k;
    constexpr int columns_of_share = decltype(size<2>(acc))::value / sliced_k;
    static_assert(vectors_of_share * sliced_k * together == values && columns_of_share > 0);
    static_assert(SharedBytes >= Config::threads * values * int(sizeof(T)), "room for the partial sums of all threads");
    constexpr int threads_of_slice = Config::threads / sliced_k;
    int const own_slice = static_cast<int>(threadIdx.x) / threads_of_slice;
    Vector* const partials = static_cast<Vector*>(shared) + static_cast<int>(threadIdx.x) % threads_of_slice;
    auto const at = [&](int slice, int vector) -> Vector& {
      return partials[(slice * vectors + vector) * threads_of_slice];
    };

    __syncthreads();  // all threads have read what was in shared memory

    CUTE_UNROLL
    for (int v = 0; v < vectors; ++v) {
      Vector own;
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) own.x[i] = acc(v * together + i);
      at(own_slice, v) = own;
    }

    __syncthreads();  // the partial sums of all slices become visible to all threads

    auto const shares = make_tile(_, _, Int<columns_of_share>{});
    Tensor total = make_fragment_like(logical_divide(acc, shares)(_, _, make_coord(_, 0)));
    clear(total);
    CUTE_UNROLL
    for (int slice = 0; slice < sliced_k; ++slice) {
      CUTE_UNROLL
      for (int v = 0; v < vectors_of_share; ++v) {
        Vector const some = at(slice, own_slice * vectors_of_share + v);
        CUTE_UNROLL
        for (int i = 0; i < together; ++i) total(v * together + i) = total(v * together + i) + some.x[i];
      }
    }
    then(total, logical_divide(coords, shares)(_, _, make_coord(_, own_slice)));
  }
}

}  // namespace cute_py::kernels
