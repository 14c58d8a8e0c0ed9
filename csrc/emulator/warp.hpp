#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <type_traits>

#include <cute/tensor.hpp>

#include "emulator/cta.hpp"

// Instructions of a whole warp, done from their traits: (thread,value) -> coordinate says what each thread holds. The
// templates make tables of the traits; warp.cpp does the work, once for every instruction.
namespace cute_py::emulator {

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

// The element of each value of each thread, the other way round.
template <class LayoutTV>
constexpr auto elements_of() {
  constexpr int values = cute::size<1>(LayoutTV{});
  std::array<std::uint16_t, kWarp * values> element{};
  for (int t = 0; t < kWarp; ++t) {
    for (int v = 0; v < values; ++v) element[t * values + v] = static_cast<std::uint16_t>(LayoutTV{}(t, v));
  }
  return element;
}

// How a tensor core decodes a type; of what it adds exactly, as integers, or one after the other, nothing.
template <class T>
constexpr numeric::FactorFormat format_of_factor() {
  if constexpr (std::is_same_v<T, cute::bfloat16_t>) return numeric::format_of("bf16");
  if constexpr (std::is_same_v<T, cute::tfloat32_t>) return numeric::format_of("tf32");
  if constexpr (std::is_same_v<T, cute::float_e4m3_t>) return numeric::format_of("e4m3");
  if constexpr (std::is_same_v<T, cute::float_e5m2_t>) return numeric::format_of("e5m2");
  return numeric::format_of("f16");
}

// A number of a kernel as one of the emulator's, or the other way round.
template <class To, class From>
To number_as(From const& x) {
  if constexpr (std::is_convertible_v<From, To>) {
    return static_cast<To>(x);
  } else {
    return To(x.real(), x.imag());
  }
}

template <class Traits, class D, class A, class B, class C>
void warp_mma(D& d, A const& a, B const& b, C const& c) {
  constexpr int m = cute::size<0>(typename Traits::Shape_MNK{});
  constexpr int n = cute::size<1>(typename Traits::Shape_MNK{});
  constexpr int k = cute::size<2>(typename Traits::Shape_MNK{});
  constexpr int values_a = cute::size<1>(typename Traits::ALayout{});
  constexpr int values_b = cute::size<1>(typename Traits::BLayout{});
  constexpr int values_c = cute::size<1>(typename Traits::CLayout{});
  using Sum = cute::conditional_t<cute::is_complex_v<typename Traits::ValTypeC>, std::complex<double>,
                                  typename Traits::ValTypeC>;
  constexpr auto bytes = cute::max(sizeof(Sum), sizeof(numeric::Factor));
  static_assert((values_a + values_b) * bytes * kWarp <= kWarpBufferBytes);
  static constexpr auto holder_a = holders<typename Traits::ALayout, m * k>();
  static constexpr auto holder_b = holders<typename Traits::BLayout, n * k>();
  static constexpr auto element_c = elements_of<typename Traits::CLayout>();
  using Factor = typename Traits::ValTypeA;
  static constexpr WarpMma mma{m,
                               n,
                               k,
                               values_a,
                               values_b,
                               values_c,
                               holder_a.data(),
                               holder_b.data(),
                               element_c.data(),
                               static_cast<int>(sizeof(Factor)),
                               format_of_factor<Factor>(),
                               format_of_factor<typename Traits::ValTypeB>()};

  Sum own_a[values_a];
  Sum own_b[values_b];
  Sum sums[values_c];
  for (int v = 0; v < values_a; ++v) own_a[v] = number_as<Sum>(a(v));
  for (int v = 0; v < values_b; ++v) own_b[v] = number_as<Sum>(b(v));
  for (int v = 0; v < values_c; ++v) sums[v] = number_as<Sum>(c(v));
  multiply(mma, own_a, own_b, sums);
  for (int v = 0; v < values_c; ++v) d(v) = number_as<typename Traits::ValTypeD>(sums[v]);
}

// ldmatrix: each lane gives 16 bytes of shared memory, and gets others, 2 bytes at a time.
template <class Traits, class Source, class Destination>
void warp_copy(Source const& source, Destination& destination) {
  static_assert(kWarp * 16 <= kWarpBufferBytes);
  auto const lane = static_cast<int>(thread_index().x) % kWarp;
  cute::Tensor wide = cute::recast<cute::uint128_t>(source);
  cute::uint128_t const given = wide(0);
  cute::Tensor halves = cute::recast<std::uint16_t>(destination);
  constexpr int count = decltype(cute::size(halves))::value;
  std::uint16_t places[count];
  std::uint16_t taken[count];
  for (int i = 0; i < count; ++i) {
    places[i] = static_cast<std::uint16_t>(static_cast<int>(typename Traits::DstLayout{}(lane, 16 * i)) / 8);
  }
  exchange(&given, static_cast<int>(typename Traits::SrcLayout{}(lane, 0)) / 8, places, count, taken);
  for (int i = 0; i < count; ++i) halves(i) = taken[i];
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
