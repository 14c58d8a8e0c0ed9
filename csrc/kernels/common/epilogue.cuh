#pragma once

#include <cstdint>

#include <cute/tensor.hpp>

#include "kernels/common/modes.cuh"
#include "numeric/epilogue.hpp"

// Epilogue: what happens to a sum, D = alpha * acc + beta * C, or with bias, activation, residual and scale.
namespace cute_py::kernels {

// Scalars, and where C, D, bias and residual are. T is what the epilogue computes in.
template <class T>
struct Epilogue {
  T alpha;
  T beta;
  bool is_plain;  // D = alpha * acc + beta * D, and nothing more
  bool in_place;  // is_plain, and D has the accumulator's type

  bool reads_c;
  bool has_bias;
  bool has_residual;
  bool saturate;
  Activation activation;
  T scale;
  bool along_n;  // adjacent threads write D along n, not m
  int run;       // elements of D that lie side by side in that direction, wherever it is written
  ModeMap<4> m;  // in C, D, bias and residual
  ModeMap<4> n;
  void* data[4];
  DType type[4];
};

// A bias of a tile's rows, or of its columns, may be brought to shared memory; any other is read where it is.
enum class BiasOf : std::uint8_t { none, rows, columns, elements };

enum EpilogueArray { kEpilogueC, kEpilogueD, kEpilogueBias, kEpilogueResidual };

// One product of a batch: its arrays.
template <class T>
struct EpilogueOf {
  Epilogue<T> const& e;
  void* data[4];

  CUTE_DEVICE EpilogueOf(Epilogue<T> const& epilogue, Batch const& batch, unsigned product) : e(epilogue) {
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) data[i] = e.data[i];
    if (batch.epilogue.rank == 0) return;
    auto const offsets = batch.epilogue(batch.first + product);
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) {
      data[i] = static_cast<char*>(data[i]) + offsets.in[i] * bytes_of(e.type[i]);
    }
  }

  // Of a plain epilogue, which needs D alone: its product is at_d elements on.
  CUTE_DEVICE EpilogueOf(Epilogue<T> const& epilogue, std::int64_t at_d) : e(epilogue), data{} {
    data[kEpilogueD] = static_cast<char*>(e.data[kEpilogueD]) + at_d * bytes_of(e.type[kEpilogueD]);
  }

  // Writes the element of D for a sum, given where its row and its column are. `further`: types that arrays may have beside
  // those of all kernels.
  template <DTypeSet further = 0>
  CUTE_DEVICE void finish(T const& acc, typename ModeMap<4>::Offsets const& at_m,
                          typename ModeMap<4>::Offsets const& at_n) const {
    auto const load = [&](int array) {
      return numeric::load_as<T, numeric::kReadableAs<T> | further>(data[array], e.type[array], at_m.in[array] + at_n.in[array]);
    };
    T x = numeric::times<T>(e.alpha, acc);
    if (e.reads_c) x = numeric::axpby<T>(e.alpha, acc, e.beta, load(kEpilogueC));
    if (e.has_bias) x = x + load(kEpilogueBias);
    x = numeric::activate(e.activation, x);
    if (!(e.scale == T(1))) x = numeric::times<T>(e.scale, x);
    if (e.has_residual) x = x + load(kEpilogueResidual);
    numeric::store_as<T, numeric::kWritableFrom<T> | further>(data[kEpilogueD], e.type[kEpilogueD],
                                                              at_m.in[kEpilogueD] + at_n.in[kEpilogueD], x, e.saturate);
  }
};

// alpha times a sum, as an element of D. Whole numbers need no floating-point arithmetic if alpha is 1. `IsDone` in the place
// of alpha: an epilogue in registers has finished the sums.
struct IsDone {};
template <class D, class Sum>
CUTE_DEVICE D scaled(IsDone, Sum const& sum) {
  return numeric::narrow<D>(sum, false);
}
template <class D, class T, class Sum>
CUTE_DEVICE D scaled(T const& alpha, Sum const& sum) {
  if constexpr (cute::is_same_v<D, Sum> && std::is_integral_v<D>) {
    if (alpha == T(1)) return sum;
  }
  return numeric::narrow<D>(alpha * numeric::convert<T>(sum), false);
}

// A tile's rows and columns in D, as numbers of M and of N.
struct TileOfD {
  int first_m;
  int first_n;
  int rows;  // that exist
  int columns;
};

}  // namespace cute_py::kernels
