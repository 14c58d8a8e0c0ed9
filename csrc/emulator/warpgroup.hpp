#pragma once

#include <array>
#include <cstdint>

#include <cute/tensor.hpp>

#include "emulator/sm90.hpp"
#include "emulator/warp.hpp"

// The instructions of a warpgroup, done from their traits.
namespace cute_py::emulator {

// The element of each value of each thread of a warpgroup.
template <class LayoutTV>
constexpr auto elements_of_warpgroup() {
  constexpr int values = cute::size<1>(LayoutTV{});
  std::array<std::uint16_t, kWarpgroup * values> element{};
  for (int t = 0; t < kWarpgroup; ++t) {
    for (int v = 0; v < values; ++v) element[t * values + v] = static_cast<std::uint16_t>(LayoutTV{}(t, v));
  }
  return element;
}

template <class T>
float number_of(void const* element) {
  T value;
  std::memcpy(static_cast<void*>(&value), element, sizeof(T));
  return static_cast<float>(value);
}

template <class Traits, class D, class A, class B>
void warpgroup_mma(Traits const& traits, D& d, A const& a, B const& b) {
  using Element = typename Traits::ValTypeA;
  constexpr int values = cute::size<1>(typename Traits::CLayout{});
  static constexpr auto element = elements_of_warpgroup<typename Traits::CLayout>();
  static constexpr WarpgroupMma mma{cute::size<0>(typename Traits::Shape_MNK{}),
                                    cute::size<1>(typename Traits::Shape_MNK{}),
                                    cute::size<2>(typename Traits::Shape_MNK{}),
                                    values,
                                    element.data(),
                                    &number_of<Element>,
                                    std::is_integral_v<typename Traits::ValTypeC>,
                                    format_of_factor<Element>(),
                                    format_of_factor<typename Traits::ValTypeB>()};
  static_assert(decltype(cute::cosize(d.layout()))::value == values, "a thread's values lie side by side");
  using KMajor = cute::SM90::GMMA::smem_desc<cute::SM90::GMMA::Major::K>;
  auto const factor = [](auto const& tensor, bool k_major) {
    return FactorInShared{cute::recast<std::uint64_t>(tensor)(0), k_major, static_cast<int>(sizeof(Element))};
  };
  auto const of_b = factor(b, std::is_same_v<typename Traits::FrgTypeB, KMajor>);
  bool const accumulates = traits.accumulate_ == cute::SM90::GMMA::ScaleOut::One;
  using FragmentOfA = typename cute::detail::FrgTypeA_or_Default<Traits>::type;
  if constexpr (std::is_same_v<FragmentOfA, Element>) {
    static_assert(sizeof(Element) == 4 && decltype(cute::cosize(a.layout()))::value == FactorInRegisters::kValues);
    warpgroup_multiply(mma, reinterpret_cast<std::uint32_t const*>(&a(0)), of_b, &d(0), accumulates);
  } else {
    warpgroup_multiply(mma, factor(a, std::is_same_v<FragmentOfA, KMajor>), of_b, &d(0), accumulates);
  }
}

}  // namespace cute_py::emulator

namespace cute {

template <class Op, class TD, class LD, class TA, class LA, class TB, class LB, class TC, class LC,
          class = enable_if_t<size(typename MMA_Traits<Op>::ThrID{}) == cute_py::emulator::kWarpgroup>, class = void>
void mma_unpack(MMA_Traits<Op> const& traits, Tensor<TD, LD>& d, Tensor<TA, LA> const& a, Tensor<TB, LB> const& b,
                Tensor<TC, LC> const&) {
  cute_py::emulator::warpgroup_mma(traits, d, a, b);
}

}  // namespace cute
