#pragma once

#include "kernels/common/epilogue.cuh"
#include "kernels/common/registers.cuh"
#include "kernels/common/wgmma.hpp"
#include "problem/tensor_box.hpp"

// The whole epilogue of a warpgroup's sums in its registers, before TMA stores them.
namespace cute_py::kernels {

// Loads the bias of a tile's rows, or of its columns, two numbers for each thread of a warpgroup, as they are in memory. If
// `is_flat`, M and N have one mode each, and there are no batches.
template <class T, class ProductOf>
CUTE_DEVICE void load_bias(Epilogue<T> const& e, ProductOf const& product_of, bool is_flat, TileOfD const& tile,
                           BiasOf which, std::uint32_t (&bits)[2]) {
  bool const of_columns = which == BiasOf::columns;
  auto const& along = of_columns ? e.n : e.m;
  void const* data = e.data[kEpilogueBias];
  std::int64_t first = (of_columns ? tile.first_n : tile.first_m) * along.stride[kEpilogueBias][0];
  if (!is_flat) {
    data = product_of().data[kEpilogueBias];
    first = e.m.offset(tile.first_m, kEpilogueBias) + e.n.offset(tile.first_n, kEpilogueBias);
  }
  int const thread = thread_for_now() % 128;
  CUTE_UNROLL
  for (int i = 0; i < 2; ++i) {
    int const x = thread + 128 * i;
    if (x >= (of_columns ? tile.columns : tile.rows)) continue;
    auto const at = first + x * along.stride[kEpilogueBias][0];  // tiles lie along the first mode
    bits[i] = bytes_of(e.type[kEpilogueBias]) == 4 ? static_cast<std::uint32_t const*>(data)[at]
                                                   : static_cast<std::uint16_t const*>(data)[at];
  }
}

// Brings the bias of a tile's rows, or of its columns, to shared memory, for a warpgroup, whose barrier it is.
template <class Barrier>
CUTE_DEVICE void bias_to_shared(Epilogue<float> const& e, std::uint32_t const (&bits)[2], float* bias_of_tile,
                                Barrier const& barrier) {
  CUTE_UNROLL
  for (int i = 0; i < 2; ++i) {
    float number = 0;
    numeric::with_type<kInRegisters>(e.type[kEpilogueBias], [&](auto const& sample) {
      using S = std::decay_t<decltype(sample)>;
      cute::conditional_t<sizeof(S) == 4, std::uint32_t, std::uint16_t> const same = bits[i];
      number = numeric::convert<float>(reinterpret_cast<S const&>(same));
    });
    bias_of_tile[threadIdx.x % 128 + 128 * i] = number;
  }
  barrier.sync();  // the bias becomes visible to the warpgroup
}

// Adds the elements of C, of a bias or of a residual to all sums of a warpgroup, where they are.
template <class Sums, class Accumulators>
CUTE_DEVICE void add_array(EpilogueOf<float> const& product, Accumulators& acc, TileOfD const& tile, int array) {
  auto const& e = product.e;
  constexpr int count = decltype(cute::size(acc))::value;
  if (tile.rows <= 0) return;
  int const thread = thread_for_now();
  int const first_row = wgmma_row(thread);
  int const first_column = wgmma_column(thread);
  float const times = array == kEpilogueC ? e.beta : 1.0f;
  auto const stride_m = static_cast<int>(e.m.stride[array][0]);
  auto const stride_n = static_cast<int>(e.n.stride[array][0]);
  auto const of_tile = e.m.offset(tile.first_m, array) + e.n.offset(tile.first_n, array);
  auto const first = of_tile + first_row * stride_m + first_column * stride_n;
  // For an element beyond the edge, the last one of its row or column is read: loads without a predicate, several in
  // flight.
  int const last_row = tile.rows - 1 - first_row;
  int const last_column = tile.columns - 1 - first_column;
  numeric::with_type<kInRegisters>(e.type[array], [&](auto const& sample) {
    using S = std::decay_t<decltype(sample)>;
    S const* const from = static_cast<S const*>(product.data[array]) + first;
    constexpr int together = 8;
    CUTE_UNROLL
    for (int block = 0; block < count; block += together) {
      if (Sums::column(block) >= tile.columns) continue;
      S some[together];
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) {
        some[i] = from[cute::min(Sums::row(block + i), last_row) * stride_m +
                       cute::min(Sums::column(block + i), last_column) * stride_n];
      }
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) {
        acc(block + i) = numeric::axpby(1.0f, acc(block + i), times, numeric::convert<float>(some[i]));
      }
    }
  });
}

// All of the epilogue but alpha, on a warpgroup's sums in registers. `tile` begins with the warpgroup's first row. The code
// of the most frequent epilogues is contiguous, because an instruction cache miss takes longer than the code.
template <class Sums, class Accumulators, class ProductOf>
CUTE_DEVICE void finish_all(Epilogue<float> const& e, ProductOf const& product_of, Accumulators& acc, TileOfD const& tile,
                            BiasOf bias, float const* bias_of_tile) {
  constexpr int count = decltype(cute::size(acc))::value;
  bool const has_elements = bias == BiasOf::elements && e.has_bias;
  bool adds = e.reads_c || has_elements;  // arrays that have an element for each sum
  CUTE_NO_UNROLL
  for (int after = 0; after < 2; ++after) {  // the activation
    if (__builtin_expect(adds, 0)) {
      auto const product = product_of();
      CUTE_NO_UNROLL
      for (int array = after ? kEpilogueResidual : kEpilogueC; array <= kEpilogueResidual; array += 2) {  // C, then a bias
        if (array == kEpilogueC ? e.reads_c : array == kEpilogueResidual || has_elements) {
          add_array<Sums>(product, acc, tile, array);
        }
      }
    }
    if (after) break;

    int const thread = thread_for_now();
    if (bias == BiasOf::columns) {
      float const* const own = bias_of_tile + wgmma_column(thread);
      CUTE_UNROLL
      for (int i = 0; i < count; ++i) acc(i) += own[Sums::column(i)];
    } else if (bias == BiasOf::rows) {
      float const* const own = bias_of_tile + wgmma_row(thread);
      CUTE_UNROLL
      for (int i = 0; i < count; ++i) acc(i) += own[Sums::row(i)];
    }
    if (e.activation == Activation::gelu) {
      // Four at a time, of 16 columns, if there are any: more at a time would spill registers.
      CUTE_UNROLL
      for (int first = 0; first < count; first += 8) {
        if (Sums::column(first) >= tile.columns) continue;
        CUTE_UNROLL
        for (int i = first; i < first + 8; ++i) acc(i) = numeric::fast_gelu(acc(i));
      }
    } else {
      numeric::with_short_activation(e.activation, [&](auto const& function) {
        CUTE_UNROLL
        for (int i = 0; i < count; ++i) acc(i) = function(acc(i));
      });
    }
    if (e.scale != 1.0f) {
      CUTE_UNROLL
      for (int i = 0; i < count; ++i) acc(i) = e.scale * acc(i);
    }
    adds = e.has_residual;
    if (!adds) break;
  }
}

}  // namespace cute_py::kernels
