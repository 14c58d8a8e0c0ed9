#pragma once

#include <cmath>

#include <cute/tensor.hpp>

#include "kernels/modes.cuh"
#include "numeric/epilogue.hpp"

// What happens to the sums: C = alpha * acc + beta * C, or the whole epilogue of a Problem.
namespace cute_py::kernels {

// Scalars, and where C, D, bias and residual are. T is what the epilogue computes in.
template <class T>
struct Epilogue {
  T alpha;
  T beta;
  bool in_place;  // D = alpha * acc + beta * D, all of the accumulator's type, and nothing more

  bool reads_c;
  bool has_bias;
  bool has_residual;
  bool saturate;
  Activation activation;
  T scale;
  ModeMap<4> m;  // in C, D, bias and residual
  ModeMap<4> n;
  void* data[4];
  DType type[4];
};

enum EpilogueArray { kEpilogueC, kEpilogueD, kEpilogueBias, kEpilogueResidual };

// One product of a batch: its arrays.
template <class T>
struct EpilogueOf {
  Epilogue<T> const& e;
  void* data[4];

  CUTE_DEVICE EpilogueOf(Epilogue<T> const& epilogue, Batch const& batch, unsigned product) : e(epilogue)
  {
    auto const offsets = batch.epilogue(batch.first + product);
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) {
      data[i] = static_cast<char*>(e.data[i]) + offsets.in[i] * bytes_of(e.type[i]);
    }
  }

  // Writes the element of D for a sum, given where its row and its column are.
  CUTE_DEVICE void finish(T const& acc, typename ModeMap<4>::Offsets const& at_m,
                          typename ModeMap<4>::Offsets const& at_n) const
  {
    auto const load = [&](int array) {
      return numeric::load_as<T>(data[array], e.type[array], at_m.in[array] + at_n.in[array]);
    };
    T x = e.alpha * acc;
    if (e.reads_c) x = numeric::axpby<T>(e.alpha, acc, e.beta, load(kEpilogueC));
    if (e.has_bias) x = x + load(kEpilogueBias);
    x = numeric::activate(e.activation, x);
    if (!(e.scale == T(1))) x = x * e.scale;
    if (e.has_residual) x = x + load(kEpilogueResidual);
    numeric::store_as(data[kEpilogueD], e.type[kEpilogueD], at_m.in[kEpilogueD] + at_n.in[kEpilogueD], x, e.saturate);
  }
};

// Writes every element of the CTA's tile that lies inside shape, by the whole epilogue. The sums travel through shared
// memory, some columns at a time, so that neighbouring threads write neighbouring rows and each has one row.
//
// acc and coord are partitioned alike; coord holds coordinates in the whole matrix, of which `origin` is the tile's
// first. Requires: no thread still needs the shared memory, or will after a barrier; Threads is a multiple of TileM.
template <int TileM, int TileN, int Threads, int SharedBytes, class T, class AccEngine, class AccLayout,
          class CoordEngine, class CoordLayout, class Origin, class Shape>
CUTE_DEVICE void store_fused(EpilogueOf<T> const& product, cute::Tensor<AccEngine, AccLayout> const& acc,
                             cute::Tensor<CoordEngine, CoordLayout> const& coord, Origin const& origin,
                             Shape const& shape, void* shared)
{
  using Acc = typename AccEngine::value_type;
  constexpr int pad = 16 / sizeof(Acc);  // so that the threads of a tensor core's tile write to different banks
  constexpr int room = SharedBytes / int((TileM + pad) * sizeof(Acc));
  constexpr int columns = room < TileN ? room : TileN;
  static_assert(Threads % TileM == 0 && columns > 0);
  auto const at = [](int row, int column) { return column * (TileM + pad) + row; };
  auto* const sums = static_cast<Acc*>(shared);                                                         // (TileM,columns)
  int const first_m = cute::get<0>(origin);
  int const first_n = cute::get<1>(origin);
  int const row = threadIdx.x % TileM;
  bool const row_exists = first_m + row < cute::get<0>(shape);
  auto const at_m = product.e.m(row_exists ? first_m + row : 0);

  CUTE_NO_UNROLL
  for (int chunk = 0; chunk < TileN; chunk += columns) {
    __syncthreads();  // all threads have read what was here before

    CUTE_UNROLL
    for (int i = 0; i < cute::size(acc); ++i) {
      int const column = cute::get<1>(coord(i)) - first_n - chunk;
      if (0 <= column && column < columns) {
        sums[at(cute::get<0>(coord(i)) - first_m, column)] = acc(i);
      }
    }

    __syncthreads();  // the sums of these columns, written by all threads, become visible to all threads

    CUTE_NO_UNROLL
    for (int column = threadIdx.x / TileM; column < columns; column += Threads / TileM) {
      int const n = first_n + chunk + column;
      if (row_exists && chunk + column < TileN && n < cute::get<1>(shape)) {
        product.finish(numeric::convert<T>(sums[at(row, column)]), at_m, product.e.n(n));
      }
    }
  }
}

// Writes every element of the tile in place. beta == 0 does not read C.
template <class T, class AccEngine, class AccLayout, class DstEngine, class DstLayout>
CUTE_DEVICE void store(T alpha, cute::Tensor<AccEngine, AccLayout> const& acc, T beta,
                       cute::Tensor<DstEngine, DstLayout>& dst)
{
  CUTE_UNROLL
  for (int i = 0; i < cute::size(acc); ++i) {
    dst(i) = beta == T(0) ? alpha * acc(i) : numeric::axpby<T>(alpha, acc(i), beta, dst(i));
  }
}

// The same in vectors as wide as the layout of dst allows, up to 16 bytes. Requires: dst is aligned to its vectors.
template <class T, class AccEngine, class AccLayout, class DstEngine, class DstLayout>
CUTE_DEVICE void store_vectors(T alpha, cute::Tensor<AccEngine, AccLayout> const& acc, T beta,
                               cute::Tensor<DstEngine, DstLayout>& dst)
{
  auto result = cute::make_fragment_like(acc);
  if (beta != T(0)) {
    cute::copy_aligned(dst, result);
  }
  CUTE_UNROLL
  for (int i = 0; i < cute::size(acc); ++i) {
    result(i) = beta == T(0) ? alpha * acc(i) : numeric::axpby<T>(alpha, acc(i), beta, result(i));
  }
  cute::copy_aligned(result, dst);
}

// Writes the elements whose coordinate lies inside shape in place and touches no other.
template <class T, class AccEngine, class AccLayout, class CoordEngine, class CoordLayout, class Shape, class DstEngine,
          class DstLayout>
CUTE_DEVICE void store_inside(T alpha, cute::Tensor<AccEngine, AccLayout> const& acc,
                              cute::Tensor<CoordEngine, CoordLayout> const& coord, Shape const& shape, T beta,
                              cute::Tensor<DstEngine, DstLayout>& dst)
{
  CUTE_UNROLL
  for (int i = 0; i < cute::size(acc); ++i) {
    if (cute::elem_less(coord(i), shape)) {
      dst(i) = beta == T(0) ? alpha * acc(i) : numeric::axpby<T>(alpha, acc(i), beta, dst(i));
    }
  }
}

}  // namespace cute_py::kernels
