#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>

#include <cute/tensor.hpp>

#include "catalogue/lift.hpp"
#include "catalogue/records.hpp"

// Records of atoms, of tiled copies and MMAs, and of Configs, from their types.
namespace cute_py::catalogue {

// What a type is called in C++: `cute_py::kernels::Sgemm1<float, (cute_py::Major)0, ...>`.
template <class T>
std::string cpp_name() {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> const name(abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, &status),
                                                    std::free);
  return name.get();
}

// The name of a type without its namespaces, that of a template without its arguments.
inline std::string unqualified(std::string const& name) {
  std::size_t const arguments = name.find('<');
  std::size_t const colon = name.rfind("::", arguments);
  std::size_t const begin = colon == std::string::npos ? 0 : colon + 2;
  return name.substr(begin, arguments == std::string::npos ? arguments : arguments - begin);
}

// An element type or an atom by the name that CuTe has for it, such as half_t or SM80_CP_ASYNC_CACHEALWAYS<uint128_t>.
template <class T>
struct TypeName {
  static std::string value() {
    if constexpr (!std::is_integral_v<T>) return unqualified(cpp_name<T>());
    return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T)) + "_t";
  }
};
template <int bits, bool is_signed>
struct TypeName<cutlass::integer_subbyte<bits, is_signed>> {
  static std::string value() { return (is_signed ? "int" : "uint") + std::to_string(bits) + "_t"; }
};
template <int count, class T>
struct TypeName<cute::sparse_elem<count, T>> {
  static std::string value() { return "sparse_elem<" + std::to_string(count) + "," + TypeName<T>::value() + ">"; }
};
template <template <class, class...> class Template, class First, class... Rest>
struct TypeName<Template<First, Rest...>> {
  static std::string value() {
    return unqualified(cpp_name<Template<First, Rest...>>()) + "<" + TypeName<First>::value() + ">";
  }
};

template <class T>
ValueType value_type() {
  return {TypeName<T>::value(), cute::sizeof_bits_v<T>};
}

// The layouts of MMA_Traits.
struct MmaLayouts {
  layout::IntTuple shape_mnk;
  layout::Layout thr_id;
  layout::Layout a;
  layout::Layout b;
  layout::Layout c;
};

template <class ShapeMnk, class ThrId, class A, class B, class C>
MmaLayouts mma_layouts() {
  return {lift_int_tuple(ShapeMnk{}), lift(ThrId{}), lift(A{}), lift(B{}), lift(C{})};
}

template <class Traits, class = void>
struct HasScales : std::false_type {};
template <class Traits>
struct HasScales<Traits, std::void_t<decltype(Traits::SFVecSize)>> : std::true_type {};

template <class Traits, class = void>
struct HasScaleLayouts : std::false_type {};
template <class Traits>
struct HasScaleLayouts<Traits, std::void_t<typename Traits::SFALayout>> : std::true_type {};

template <class Type, int length>
ScaleRecord scales() {
  return {value_type<Type>(), length, std::nullopt, std::nullopt};
}

template <class Type, int length, class A, class B>
ScaleRecord scales_of_threads() {
  return {value_type<Type>(), length, lift(A{}), lift(B{})};
}

template <class Traits>
MmaRecord reflect_mma(char const* name, int architecture) {
  MmaLayouts const l = mma_layouts<typename Traits::Shape_MNK, typename Traits::ThrID, typename Traits::ALayout,
                                   typename Traits::BLayout, typename Traits::CLayout>();
  return {name,
          architecture,
          l.shape_mnk,
          l.thr_id,
          l.a,
          l.b,
          l.c,
          value_type<typename Traits::ValTypeA>(),
          value_type<typename Traits::ValTypeB>(),
          value_type<typename Traits::ValTypeC>(),
          value_type<typename Traits::ValTypeD>()};
}

template <class Traits>
CopyRecord reflect_copy(char const* name, int architecture) {
  return {name,
          architecture,
          lift(typename Traits::ThrID{}),
          lift(typename Traits::SrcLayout{}),
          lift(typename Traits::DstLayout{}),
          lift(typename Traits::RefLayout{})};
}

template <class Operation, class AtomLayout, class Permutations>
TiledMmaRecord reflect(cute::TiledMMA<cute::MMA_Atom<Operation>, AtomLayout, Permutations> const&) {
  return {reflect_mma<cute::MMA_Traits<Operation>>(TypeName<Operation>::value().c_str(), 0), lift(AtomLayout{}),
          lift_tiler(Permutations{})};
}

template <class Operation, class T, class LayoutTV, class Tiler>
TiledCopyRecord reflect(cute::TiledCopy<cute::Copy_Atom<Operation, T>, LayoutTV, Tiler> const&) {
  return {reflect_copy<cute::Copy_Traits<Operation>>(TypeName<Operation>::value().c_str(), 0), value_type<T>(),
          lift(LayoutTV{}), lift_tiler(Tiler{})};
}

template <class Config, class = void>
struct HasTileOfA : std::false_type {};
template <class Config>
struct HasTileOfA<Config, std::void_t<typename Config::SmemLayoutA>> : std::true_type {};

template <class Config, class = void>
struct PartitionsByThreads : std::false_type {};
template <class Config>
struct PartitionsByThreads<Config, std::void_t<typename Config::ThreadLayoutC>> : std::true_type {};

template <class Config, class = void>
struct HasTiledCopies : std::false_type {};
template <class Config>
struct HasTiledCopies<Config, std::void_t<typename Config::TiledCopyA>> : std::true_type {};

template <class Config, class = void>
struct HasTiledMma : std::false_type {};
template <class Config>
struct HasTiledMma<Config, std::void_t<typename Config::TiledMma>> : std::true_type {};

template <class Config, class = void>
struct HasOwners : std::false_type {};
template <class Config>
struct HasOwners<Config, std::void_t<typename Config::OwnersC>> : std::true_type {};

template <class Config, class = void>
struct HasBoxes : std::false_type {};
template <class Config>
struct HasBoxes<Config, std::void_t<decltype(Config::copy_rows_a)>> : std::true_type {};

template <class Config, class = void>
struct HasRoles : std::false_type {};
template <class Config>
struct HasRoles<Config, std::void_t<decltype(Config::consumer_threads)>> : std::true_type {};

template <class Config>
ConfigRecord reflect_config() {
  using Storage = typename Config::SharedStorage;
  ConfigRecord r{cpp_name<Config>(),
                 lift_int_tuple(typename Config::CtaTiler{}),
                 value_type<typename Config::TA>(),
                 value_type<typename Config::TB>(),
                 value_type<typename Config::TC>(),
                 std::nullopt,
                 lift(typename Config::SmemLayoutB{}),
                 0,
                 offsetof(Storage, b),
                 std::nullopt,
                 std::nullopt,
                 std::nullopt,
                 std::nullopt,
                 std::nullopt,
                 std::nullopt,
                 std::nullopt,
                 std::nullopt,
                 std::nullopt,
                 std::nullopt};
  if constexpr (HasTileOfA<Config>::value) {
    r.smem_a = lift(typename Config::SmemLayoutA{});
    r.smem_offset_a = offsetof(Storage, a);
  }
  if constexpr (PartitionsByThreads<Config>::value) {
    r.threads_a = lift(typename Config::ThreadLayoutA{});
    r.threads_b = lift(typename Config::ThreadLayoutB{});
    r.threads_c = lift(typename Config::ThreadLayoutC{});
  }
  if constexpr (HasTiledCopies<Config>::value) {
    r.copy_a = reflect(typename Config::TiledCopyA{});
    r.copy_b = reflect(typename Config::TiledCopyB{});
  }
  if constexpr (HasTiledMma<Config>::value) r.mma = reflect(typename Config::TiledMma{});
  if constexpr (HasBoxes<Config>::value) {
    constexpr int steps = cute::size<2>(typename Config::CtaTiler{});
    r.box_a = {{Config::copy_rows_a, steps}};
    r.box_b = {{Config::copy_rows_b, steps}};
  }
  if constexpr (HasRoles<Config>::value) {
    r.roles = {Config::consumer_threads, Config::threads - Config::consumer_threads, Config::threads_of_tile};
  }
  if constexpr (HasOwners<Config>::value) r.owners_c = lift(typename Config::OwnersC{});
  return r;
}

}  // namespace cute_py::catalogue
