#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cpu/arithmetic.hpp"
#include "cpu/isa.hpp"
#include "problem/entry.hpp"

// How a family of CPU kernels becomes entries of the registry. A family is a class:
//
//   kernel            its name, such as cpu_small
//   rules             its cost model, in its folder's rules.cpp
//   List              of its variants
//   limit<V>(t)       narrows the traits of a variant, which take any modes, strides and epilogue
//   prepare<V>(g)     the launch of a variant for a geometry
namespace cute_py::cpu {

// What is compiled for an instruction set, of which `widest` is the last that there is such a variant for; and what is
// compiled once, for any processor.
template <Compute compute_, Isa isa_, Isa widest>
struct Variant {
  static constexpr Compute compute = compute_;
  static constexpr Isa isa = isa_;
  static constexpr Isa widest_isa = widest;
  static std::string name_of_isa() { return std::string("_") + name_of(isa); }
};
template <Compute compute_>
struct PortableVariant {
  static constexpr Compute compute = compute_;
  static constexpr Isa isa = Isa::baseline;
  static constexpr Isa widest_isa = Isa::baseline;
  static std::string name_of_isa() { return ""; }
};

template <class... V>
struct VariantList {};

template <class... V, class... W>
constexpr VariantList<V..., W...> operator+(VariantList<V...>, VariantList<W...>) {
  return {};
}

template <Isa isa, Isa widest, Compute... compute>
using VariantsForIsa = VariantList<Variant<compute, isa, widest>...>;

template <Compute... compute, Isa... isa>
constexpr auto variants_for_each(IsaList<isa...> isas) {
  return (VariantsForIsa<isa, isas.widest, compute...>{} + ...);
}

// For each instruction set of a list, a variant of each of these compute types.
template <class IsaList, Compute... compute>
using Variants = decltype(variants_for_each<compute...>(IsaList{}));

// What CPU kernels have in common: any modes and any epilogue, element by element.
constexpr Traits host_traits(char const* name, char const* kernel, Compute compute) {
  Traits traits{};
  traits.name = name;
  traits.kernel = kernel;
  traits.operands.letters = "any";
  traits.operands.kind = OperandRule::Kind::strided;
  traits.target = Target::cpu;
  traits.types.compute = compute;
  traits.types.factors = factor_types(compute);
  traits.types.results = result_types(compute);
  traits.types.conjugates = true;
  traits.modes = {kMaxModes, kMaxModes, kMaxModes};
  traits.fuses = true;
  traits.tile[0] = traits.tile[1] = traits.tile[2] = 1;
  traits.types.epilogue = epilogue_types(traits.types.results);
  return traits;
}

// It is given its threads per call.
inline constexpr Resources kHostResources{1, 0, 1, 0, 1, 0};

template <class Family, class V>
Entry entry_of() {
  static std::string const name = Family::kernel + V::name_of_isa() + letters_of(V::compute);
  Traits traits = host_traits(name.c_str(), Family::kernel, V::compute);
  traits.needs.isa = V::isa;
  traits.needs.widest_isa = V::widest_isa;
  Family::template limit<V>(traits);
  auto const prepare = [](char const*, Geometry const& g, Schedule const&) { return Family::template prepare<V>(g); };
  return {traits, kHostResources, Family::rules, prepare};
}

template <class Family, class... V>
void add_list(std::vector<Entry>& entries, VariantList<V...>) {
  (entries.push_back(entry_of<Family, V>()), ...);
}

template <class Family>
void add_variants(std::vector<Entry>& entries) {
  add_list<Family>(entries, typename Family::List{});
}

}  // namespace cute_py::cpu
