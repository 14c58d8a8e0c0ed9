#pragma once

#include <array>
#include <cstring>
#include <type_traits>

#include <cute/tensor.hpp>

#include "emulator/cta.hpp"

// Instructions of a whole warp, done from their traits: (thread,value) -> coordinate says what each thread holds. The
// lanes meet, each leaves what it has in a buffer, and each takes from it what it gets.
namespace cute_py::emulator {

inline constexpr int kWarp = 32;

// The thread and the value of each element of a factor, from the layout (thread,value) -> element.
template <class LayoutTV, int elements>
constexpr auto holders() {
  constexpr int values = cute::size<1>(LayoutTV{});
  std::array<std::uint16_t, elements> holder{};
  for (int t = 0; t < kWarp; ++t) {
    for (int v = 0; v < values; ++v) {
      holder[static_cast<int>(LayoutTV{}(t, v))] = static_cast<std::uint16_t>(t * values + v);
    }
  }
  return holder;
}

// D = A B^T + C, k ascending. The fragments are each lane's own.
template <class Traits, class D, class A, class B, class C>
void warp_mma(D& d, A const& a, B const& b, C const& c) {
  constexpr int m = cute::size<0>(typename Traits::Shape_MNK{});
  constexpr int n = cute::size<1>(typename Traits::Shape_MNK{});
  constexpr int k = cute::size<2>(typename Traits::Shape_MNK{});
  constexpr int values_a = cute::size<1>(typename Traits::ALayout{});
  constexpr int values_b = cute::size<1>(typename Traits::BLayout{});
  using Sum = typename Traits::ValTypeC;
  static_assert((values_a + values_b) * sizeof(Sum) * kWarp <= kWarpBufferBytes);
  static constexpr auto holder_a = holders<typename Traits::ALayout, m * k>();
  static constexpr auto holder_b = holders<typename Traits::BLayout, n * k>();

  auto const lane = static_cast<int>(thread_index().x) % kWarp;
  auto* const all_a = static_cast<Sum*>(warp_buffer());
  auto* const all_b = all_a + kWarp * values_a;
  for (int v = 0; v < values_a; ++v) all_a[lane * values_a + v] = static_cast<Sum>(a(v));
  for (int v = 0; v < values_b; ++v) all_b[lane * values_b + v] = static_cast<Sum>(b(v));
  warp_barrier();
  for (int v = 0; v < cute::size(d); ++v) {
    auto const element = static_cast<int>(typename Traits::CLayout{}(lane, v));
    auto const row = element % m;
    auto const column = element / m;
    Sum sum = c(v);
    for (int p = 0; p < k; ++p) {
      auto const x = all_a[holder_a[row + p * m]];
      auto const y = all_b[holder_b[column + p * n]];
      if constexpr (std::is_floating_point_v<Sum>) {
        sum = std::fma(x, y, sum);
      } else {
        sum += x * y;
      }
    }
    d(v) = sum;
  }
}

// ldmatrix: each lane gives 16 bytes of shared memory, and gets others, 2 bytes at a time.
template <class Traits, class Source, class Destination>
void warp_copy(Source const& source, Destination& destination) {
  static_assert(kWarp * 16 <= kWarpBufferBytes);
  auto const lane = static_cast<int>(thread_index().x) % kWarp;
  auto* const message = static_cast<unsigned char*>(warp_buffer());
  cute::Tensor wide = cute::recast<cute::uint128_t>(source);
  cute::uint128_t const given = wide(0);
  std::memcpy(message + static_cast<int>(typename Traits::SrcLayout{}(lane, 0)) / 8, &given, sizeof(given));
  warp_barrier();
  cute::Tensor halves = cute::recast<std::uint16_t>(destination);
  for (int i = 0; i < cute::size(halves); ++i) {
    std::uint16_t half;
    std::memcpy(&half, message + static_cast<int>(typename Traits::DstLayout{}(lane, 16 * i)) / 8, sizeof(half));
    halves(i) = half;
  }
}

}  // namespace cute_py::emulator

// Chosen over CuTe's own, which would call the instruction, because they are made for fewer types.
namespace cute {

template <class Op, class TD, class LD, class TA, class LA, class TB, class LB, class TC, class LC,
          class = enable_if_t<size(typename MMA_Traits<Op>::ThrID{}) == cute_py::emulator::kWarp>>
void mma_unpack(MMA_Traits<Op> const&, Tensor<TD, LD>& d, Tensor<TA, LA> const& a, Tensor<TB, LB> const& b,
                Tensor<TC, LC> const& c) {
  cute_py::emulator::warp_mma<MMA_Traits<Op>>(d, a, b, c);
}

template <class Op, class S, class LS, class D, class LD,
          class = enable_if_t<size(typename Copy_Traits<Op>::ThrID{}) == cute_py::emulator::kWarp>>
void copy_unpack(Copy_Traits<Op> const&, Tensor<S, LS> const& source, Tensor<D, LD>& destination) {
  cute_py::emulator::warp_copy<Copy_Traits<Op>>(source, destination);
}

}  // namespace cute
