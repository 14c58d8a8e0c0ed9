#pragma once

#include <cute/tensor.hpp>

#include "catalogue/lift.hpp"
#include "catalogue/records.hpp"

// Records of atoms, of tiled copies and MMAs, and of Configs, from their types.
namespace cute_py::catalogue {

template <class T>
struct TypeName;

template <>
struct TypeName<float> {
  static constexpr char const* value = "float";
};
template <>
struct TypeName<double> {
  static constexpr char const* value = "double";
};
template <>
struct TypeName<cutlass::half_t> {
  static constexpr char const* value = "half_t";
};
template <>
struct TypeName<cutlass::bfloat16_t> {
  static constexpr char const* value = "bfloat16_t";
};
template <>
struct TypeName<cutlass::tfloat32_t> {
  static constexpr char const* value = "tfloat32_t";
};
template <>
struct TypeName<cutlass::float_e4m3_t> {
  static constexpr char const* value = "float_e4m3_t";
};
template <>
struct TypeName<cutlass::float_e5m2_t> {
  static constexpr char const* value = "float_e5m2_t";
};
template <>
struct TypeName<cutlass::complex<float>> {
  static constexpr char const* value = "complex<float>";
};
template <>
struct TypeName<cutlass::complex<double>> {
  static constexpr char const* value = "complex<double>";
};
template <>
struct TypeName<cute::SM80_8x8x4_GC64C64C64GC64_TN::GaussComplex> {
  static constexpr char const* value = "GaussComplex";
};
template <>
struct TypeName<cutlass::int4b_t> {
  static constexpr char const* value = "int4_t";
};
template <>
struct TypeName<cutlass::uint4b_t> {
  static constexpr char const* value = "uint4_t";
};
template <>
struct TypeName<cutlass::uint1b_t> {
  static constexpr char const* value = "uint1_t";
};
template <>
struct TypeName<cutlass::float_e2m1_t> {
  static constexpr char const* value = "float_e2m1_t";
};
template <>
struct TypeName<cutlass::float_e2m3_t> {
  static constexpr char const* value = "float_e2m3_t";
};
template <>
struct TypeName<cutlass::float_e3m2_t> {
  static constexpr char const* value = "float_e3m2_t";
};
template <>
struct TypeName<std::int8_t> {
  static constexpr char const* value = "int8_t";
};
template <>
struct TypeName<std::uint8_t> {
  static constexpr char const* value = "uint8_t";
};
template <>
struct TypeName<std::int16_t> {
  static constexpr char const* value = "int16_t";
};
template <>
struct TypeName<std::int32_t> {
  static constexpr char const* value = "int32_t";
};
template <>
struct TypeName<std::uint16_t> {
  static constexpr char const* value = "uint16_t";
};
template <>
struct TypeName<std::uint32_t> {
  static constexpr char const* value = "uint32_t";
};
template <>
struct TypeName<std::uint64_t> {
  static constexpr char const* value = "uint64_t";
};
template <>
struct TypeName<cute::uint128_t> {
  static constexpr char const* value = "uint128_t";
};

template <class T>
ValueType value_type() {
  return {TypeName<T>::value, cute::sizeof_bits_v<T>};
}

template <class Traits>
MmaRecord reflect_mma(char const* name, int architecture) {
  return {name,
          architecture,
          lift_int_tuple(typename Traits::Shape_MNK{}),
          lift(typename Traits::ThrID{}),
          lift(typename Traits::ALayout{}),
          lift(typename Traits::BLayout{}),
          lift(typename Traits::CLayout{}),
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

// The name of an atom that a Config uses.
template <class Operation>
struct AtomName;

template <class D, class A, class B, class C>
struct AtomName<cute::UniversalFMA<D, A, B, C>> {
  static std::string value() { return std::string("UniversalFMA<") + TypeName<D>::value + ">"; }
};
template <class S, class D>
struct AtomName<cute::UniversalCopy<S, D>> {
  static std::string value() { return std::string("UniversalCopy<") + TypeName<S>::value + ">"; }
};
template <class S, class D>
struct AtomName<cute::SM80_CP_ASYNC_CACHEALWAYS<S, D>> {
  static std::string value() { return std::string("SM80_CP_ASYNC_CACHEALWAYS<") + TypeName<S>::value + ">"; }
};
template <class S, class D>
struct AtomName<cute::SM80_CP_ASYNC_CACHEGLOBAL<S, D>> {
  static std::string value() { return std::string("SM80_CP_ASYNC_CACHEGLOBAL<") + TypeName<S>::value + ">"; }
};
template <>
struct AtomName<cute::SM80_16x8x16_F32F16F16F32_TN> {
  static std::string value() { return "SM80_16x8x16_F32F16F16F32_TN"; }
};
template <>
struct AtomName<cute::SM80_16x8x16_F32BF16BF16F32_TN> {
  static std::string value() { return "SM80_16x8x16_F32BF16BF16F32_TN"; }
};
template <>
struct AtomName<cute::SM80_16x8x8_F32TF32TF32F32_TN> {
  static std::string value() { return "SM80_16x8x8_F32TF32TF32F32_TN"; }
};
template <>
struct AtomName<cute::SM80_8x8x4_F64F64F64F64_TN> {
  static std::string value() { return "SM80_8x8x4_F64F64F64F64_TN"; }
};
template <>
struct AtomName<cute::SM90_16x8x8_F64F64F64F64_TN> {
  static std::string value() { return "SM90_16x8x8_F64F64F64F64_TN"; }
};
template <>
struct AtomName<cute::SM80_16x8x32_S32S8S8S32_TN> {
  static std::string value() { return "SM80_16x8x32_S32S8S8S32_TN"; }
};
template <class S, class D>
struct AtomName<cute::SM80_CP_ASYNC_CACHEALWAYS_ZFILL<S, D>> {
  static std::string value() { return std::string("SM80_CP_ASYNC_CACHEALWAYS_ZFILL<") + TypeName<S>::value + ">"; }
};

template <class Operation, class AtomLayout, class Permutations>
TiledMmaRecord reflect(cute::TiledMMA<cute::MMA_Atom<Operation>, AtomLayout, Permutations> const&) {
  return {reflect_mma<cute::MMA_Traits<Operation>>(AtomName<Operation>::value().c_str(), 0), lift(AtomLayout{}),
          lift_tiler(Permutations{})};
}

template <class Operation, class T, class LayoutTV, class Tiler>
TiledCopyRecord reflect(cute::TiledCopy<cute::Copy_Atom<Operation, T>, LayoutTV, Tiler> const&) {
  return {reflect_copy<cute::Copy_Traits<Operation>>(AtomName<Operation>::value().c_str(), 0), value_type<T>(),
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

template <class Config>
ConfigRecord reflect_config() {
  using Storage = typename Config::SharedStorage;
  ConfigRecord r{lift_int_tuple(typename Config::CtaTiler{}),
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
  if constexpr (HasOwners<Config>::value) r.owners_c = lift(typename Config::OwnersC{});
  return r;
}

}  // namespace cute_py::catalogue
