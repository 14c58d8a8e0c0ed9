#pragma once

#include <cstdint>
#include <iterator>
#include <optional>

#include "base/dlpack.hpp"

// The types of elements, and what products of them are formed in.
namespace cute_py {

// The type of an array's elements.
enum class DType : std::uint8_t { e4m3, e5m2, f16, bf16, f32, f64, c64, c128, i8, i32 };
inline constexpr int kDTypes = 10;

// All that is known of a type, in the order of DType. Its C++ type is in numeric/types.hpp.
struct DTypeRow {
  DType type;
  char const* name;     // as array libraries call it
  char const* letters;  // as names of kernels call it
  int bytes;            // of an element
  std::uint8_t code;    // DLPack's
  bool in_numpy;        // NumPy has it without another library
  std::uint64_t one;    // the first 8 bytes of the number one; the others are 0
};

inline constexpr DTypeRow kDTypeTable[] = {
    {DType::e4m3, "float8_e4m3fn", "e4m3", 1, dlpack::kFloat8E4m3fn, false, 0x38},
    {DType::e5m2, "float8_e5m2", "e5m2", 1, dlpack::kFloat8E5m2, false, 0x3c},
    {DType::f16, "float16", "f16", 2, dlpack::kFloat, true, 0x3c00},
    {DType::bf16, "bfloat16", "bf16", 2, dlpack::kBfloat, false, 0x3f80},
    {DType::f32, "float32", "f32", 4, dlpack::kFloat, true, 0x3f800000},
    {DType::f64, "float64", "f64", 8, dlpack::kFloat, true, 0x3ff0000000000000},
    {DType::c64, "complex64", "c64", 8, dlpack::kComplex, true, 0x3f800000},
    {DType::c128, "complex128", "c128", 16, dlpack::kComplex, true, 0x3ff0000000000000},
    {DType::i8, "int8", "i8", 1, dlpack::kInt, true, 1},
    {DType::i32, "int32", "i32", 4, dlpack::kInt, true, 1},
};
static_assert(std::size(kDTypeTable) == kDTypes);

constexpr bool is_in_order() {
  for (int i = 0; i < kDTypes; ++i) {
    if (kDTypeTable[i].type != static_cast<DType>(i)) return false;
  }
  return true;
}
static_assert(is_in_order(), "a type's row is at its own number");

constexpr DTypeRow const& row_of(DType type) { return kDTypeTable[static_cast<int>(type)]; }

constexpr char const* name_of(DType type) { return row_of(type).name; }
constexpr bool is_complex(DType type) { return row_of(type).code == dlpack::kComplex; }
constexpr bool is_integer(DType type) { return row_of(type).code == dlpack::kInt; }

// The logarithms of the bytes of all types, three bits each: in one number, which a GPU's code need not keep in memory.
constexpr std::uint32_t logs_of_bytes() {
  std::uint32_t logs = 0;
  for (DTypeRow const& row : kDTypeTable) {
    std::uint32_t log = 0;
    while ((1 << log) < row.bytes) ++log;
    logs |= log << (3 * static_cast<int>(row.type));
  }
  return logs;
}
static_assert(3 * kDTypes <= 32);

// The bytes of an element and their logarithm, for a GPU's code, too.
constexpr int log2_bytes_of(DType type) {
  constexpr std::uint32_t kLogs = logs_of_bytes();
  return static_cast<int>(kLogs >> (3 * static_cast<int>(type)) & 7);
}
constexpr int bytes_of(DType type) { return 1 << log2_bytes_of(type); }
// Of an element, or of half a complex one: what every access to it is aligned to.
constexpr int scalar_bytes_of(DType type) { return is_complex(type) ? bytes_of(type) / 2 : bytes_of(type); }

// In DLPack's words, and from them; nothing for a type that no product takes.
constexpr dlpack::DataType dlpack_of(DType type) {
  return {row_of(type).code, static_cast<std::uint8_t>(8 * bytes_of(type)), 1};
}

constexpr std::optional<DType> dtype_of(dlpack::DataType const& given) {
  for (DTypeRow const& row : kDTypeTable) {
    if (given.code == row.code && given.bits == 8 * row.bytes && given.lanes == 1) return row.type;
  }
  return std::nullopt;
}

// A set of types, one bit for each.
using DTypeSet = unsigned;

template <class... Types>
constexpr DTypeSet types(Types... type) {
  return (0u | ... | (1u << static_cast<int>(type)));
}

constexpr bool contains(DTypeSet set, DType type) { return (set >> static_cast<int>(type) & 1u) != 0; }

// What products are formed and summed in. tf32 rounds the factors to 10 bits of mantissa and sums in float32. fast_f32
// leaves the sums to a tensor core that keeps fewer bits of them than a float32 has. Behind them, and not counted, what
// computes no product of its own: a copy, and the steps of emulated precision (problem/planes.hpp).
enum class Compute : std::uint8_t { f32, tf32, f64, c64, c128, i32, fast_f32, copy, split, planes, residues, combine };
inline constexpr int kComputes = 7;
inline constexpr int kComputesWithSteps = 12;

// Is it a step of a product, and no product that somebody asks for?
constexpr bool is_of_a_step(Compute compute) { return static_cast<int>(compute) > static_cast<int>(Compute::copy); }

// All that is known of a way to compute, in the order of Compute.
struct ComputeRow {
  Compute compute;
  char const* name;
  DType sums;        // the type that holds a sum as it is
  DTypeSet factors;  // the types that can be factors: those that it holds exactly
  DTypeSet results;  // the types that sums can be written as
};

inline constexpr DTypeSet kAllTypes = (1u << kDTypes) - 1;
inline constexpr DTypeSet kSingles = types(DType::f16, DType::bf16, DType::f32);
inline constexpr DTypeSet kFloat8 = types(DType::e4m3, DType::e5m2);
inline constexpr DTypeSet kWide =
    types(DType::f32, DType::f64, DType::c64, DType::c128);  // whose precision is emulated

constexpr bool is_float8(DType type) { return contains(kFloat8, type); }

inline constexpr ComputeRow kComputeTable[] = {
    {Compute::f32, "float32", DType::f32, kSingles | kFloat8, kSingles | types(DType::i8) | kFloat8},
    {Compute::tf32, "tfloat32", DType::f32, kSingles, kSingles | types(DType::i8)},
    {Compute::f64, "float64", DType::f64, kSingles | types(DType::f64), types(DType::f32, DType::f64)},
    {Compute::c64, "complex64", DType::c64, kSingles | types(DType::c64), types(DType::c64)},
    {Compute::c128, "complex128", DType::c128, kSingles | types(DType::f64, DType::c64, DType::c128),
     types(DType::c64, DType::c128)},
    {Compute::i32, "int32", DType::i32, types(DType::i8), types(DType::i8, DType::i32, DType::f32)},
    {Compute::fast_f32, "fast_float32", DType::f32, kFloat8, kSingles | types(DType::i8) | kFloat8},
    {Compute::copy, "copy", DType::i8, kAllTypes, kAllTypes},
    {Compute::split, "split", DType::i8, kWide, types(DType::i8, DType::f16, DType::bf16)},
    {Compute::planes, "planes", DType::f32, types(DType::f16, DType::bf16), kSingles | types(DType::i8)},
    {Compute::residues, "residues", DType::i32, types(DType::i8), types(DType::i8)},
    {Compute::combine, "combine", DType::i8, kWide, kAllTypes & ~kFloat8},
};
static_assert(std::size(kComputeTable) == kComputesWithSteps);

constexpr bool computes_are_in_order() {
  for (int i = 0; i < kComputesWithSteps; ++i) {
    if (kComputeTable[i].compute != static_cast<Compute>(i)) return false;
  }
  return true;
}
static_assert(computes_are_in_order(), "a way to compute has its row at its own number");

constexpr ComputeRow const& row_of(Compute compute) { return kComputeTable[static_cast<int>(compute)]; }

constexpr char const* name_of(Compute compute) { return row_of(compute).name; }
constexpr DType type_of_sums(Compute compute) { return row_of(compute).sums; }
constexpr DTypeSet factor_types(Compute compute) { return row_of(compute).factors; }
constexpr DTypeSet result_types(Compute compute) { return row_of(compute).results; }
constexpr bool is_complex(Compute compute) { return is_complex(type_of_sums(compute)); }

// Is a sum a float32, or a pair of them?
constexpr bool sums_in_float32(Compute compute) {
  return type_of_sums(compute) == DType::f32 || type_of_sums(compute) == DType::c64;
}

}  // namespace cute_py
