#pragma once

#include <cstdint>

namespace cute_py {

// The type of an array's elements.
enum class DType : std::uint8_t { f16, bf16, f32, f64, c64, c128, i8, i32 };
inline constexpr int kDTypes = 8;

// The name that array libraries use.
constexpr char const* name_of(DType type) {
  constexpr char const* kNames[kDTypes] = {"float16",   "bfloat16",   "float32", "float64",
                                           "complex64", "complex128", "int8",    "int32"};
  return kNames[static_cast<int>(type)];
}

constexpr int bytes_of(DType type) {
  constexpr int kBytes[kDTypes] = {2, 2, 4, 8, 8, 16, 1, 4};
  return kBytes[static_cast<int>(type)];
}

constexpr bool is_complex(DType type) { return type == DType::c64 || type == DType::c128; }

// Of an element, or of half a complex one: what every access to it is aligned to.
constexpr int scalar_bytes_of(DType type) { return is_complex(type) ? bytes_of(type) / 2 : bytes_of(type); }

constexpr bool is_integer(DType type) { return type == DType::i8 || type == DType::i32; }

// A set of types, one bit for each.
using DTypeSet = unsigned;

template <class... Types>
constexpr DTypeSet types(Types... type) {
  return (0u | ... | (1u << static_cast<int>(type)));
}

constexpr bool contains(DTypeSet set, DType type) { return (set >> static_cast<int>(type) & 1u) != 0; }

// What products are formed and summed in. tf32 rounds the factors to 10 bits of mantissa and sums in float32.
enum class Compute : std::uint8_t { f32, tf32, f64, c64, c128, i32 };
inline constexpr int kComputes = 6;

constexpr char const* name_of(Compute compute) {
  constexpr char const* kNames[kComputes] = {"float32", "tfloat32", "float64", "complex64", "complex128", "int32"};
  return kNames[static_cast<int>(compute)];
}

// The types that can be factors of products of this kind: those that it holds exactly.
constexpr DTypeSet factor_types(Compute compute) {
  constexpr DTypeSet kSingle = types(DType::f16, DType::bf16, DType::f32);
  switch (compute) {
    case Compute::f32:
    case Compute::tf32:
      return kSingle;
    case Compute::f64:
      return kSingle | types(DType::f64);
    case Compute::c64:
      return kSingle | types(DType::c64);
    case Compute::c128:
      return kSingle | types(DType::f64, DType::c64, DType::c128);
    case Compute::i32:
      return types(DType::i8);
  }
  return 0;
}

// The types that sums of this kind can be written as.
constexpr DTypeSet result_types(Compute compute) {
  switch (compute) {
    case Compute::f32:
    case Compute::tf32:
      return types(DType::f16, DType::bf16, DType::f32, DType::i8);
    case Compute::f64:
      return types(DType::f32, DType::f64);
    case Compute::c64:
      return types(DType::c64);
    case Compute::c128:
      return types(DType::c64, DType::c128);
    case Compute::i32:
      return types(DType::i8, DType::i32, DType::f32);
  }
  return 0;
}

}  // namespace cute_py
