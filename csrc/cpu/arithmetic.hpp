#pragma once

#include <algorithm>
#include <cstdint>
#include <new>

#include "numeric/types.hpp"

// What the engine and the loops have in common: types, and in which order sums are made.
namespace cute_py::cpu {

// KC: steps of k of a block, whose products are summed in one accumulator for each element: as many as let a panel of B
// stay in L1.
inline constexpr std::int64_t kBlockOfK = 384;

// So many blocks make a group, whose sums are added in the type of the accumulator: they lose next to nothing. The sums
// of groups are added in a wider sum.
inline constexpr std::int64_t kBlocksOfGroup = 16;

// Multiply-adds that a thread is worth starting for: of register tiles, and of loops that wait for memory. A small
// product takes as long as kLeastWork of them, however few it has.
inline constexpr double kWorkPerThread = 1 << 21;
inline constexpr double kWorkPerThreadOfLoops = 1 << 18;
inline constexpr double kLeastWork = 512;

// How many threads share so much work; an estimate counts fractions of them.
inline double threads_for(double work, double of_thread, std::int64_t most) {
  return std::clamp(work / of_thread, 1.0, static_cast<double>(std::max<std::int64_t>(most, 1)));
}

// So many multiply-adds lie between two questions whether to stop.
inline constexpr std::int64_t kWorkUnchecked = 1 << 22;

// What a kind of product is computed with.
template <Compute compute>
struct Arithmetic;
template <>
struct Arithmetic<Compute::f32> {
  using Accumulator = float;
  using Scalar = float;  // of the innermost loops
};
template <>
struct Arithmetic<Compute::tf32> : Arithmetic<Compute::f32> {};
template <>
struct Arithmetic<Compute::f64> {
  using Accumulator = double;
  using Scalar = double;
};
template <>
struct Arithmetic<Compute::c64> {
  using Accumulator = numeric::complex64;
  using Scalar = float;
};
template <>
struct Arithmetic<Compute::c128> {
  using Accumulator = numeric::complex128;
  using Scalar = double;
};
template <>
struct Arithmetic<Compute::i32> {
  using Accumulator = std::int32_t;
  using Scalar = std::uint32_t;
};

// Those before fast_f32, for which a host computes in float32.
inline constexpr int kComputesOnHost = static_cast<int>(Compute::fast_f32);

// The end of a variant's name; copies are of all types.
constexpr char const* letters_of(Compute compute) {
  constexpr char const* kLetters[kComputesOnHost] = {"_f32", "_tf32", "_f64", "_c64", "_c128", "_i32"};
  return compute == Compute::copy ? "" : kLetters[static_cast<int>(compute)];
}

// Scalars of a number: two of a complex one.
template <Compute compute>
inline constexpr int kParts = numeric::kIsComplex<typename Arithmetic<compute>::Accumulator> ? 2 : 1;

template <class T>
struct AlignedBuffer {
  explicit AlignedBuffer(std::int64_t elements)
      : data(static_cast<T*>(::operator new(std::max<std::int64_t>(elements, 1) * sizeof(T), std::align_val_t{64}))) {}
  AlignedBuffer(AlignedBuffer const&) = delete;
  AlignedBuffer& operator=(AlignedBuffer const&) = delete;
  ~AlignedBuffer() { ::operator delete(data, std::align_val_t{64}); }

  T* data;
};

// Columns of so many bytes that are about to be written.
inline void prefetch_columns(char const* data, std::int64_t bytes, std::int64_t stride, std::int64_t columns) {
  constexpr std::int64_t kBytesOfLine = 64;
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < bytes; i += kBytesOfLine) __builtin_prefetch(data + j * stride + i, 1);
    __builtin_prefetch(data + j * stride + bytes - 1, 1);
  }
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

}  // namespace cute_py::cpu
