#pragma once

#include <cstdint>

#include "base/dtype.hpp"

// Emulated precision: products of numbers with many bits by tensor cores that multiply few. A factor is split into
// planes, arrays of numbers of 8 or 16 bits; products of planes are summed, or reconstructed from what is left of them
// modulo several numbers (a residue number system, "Ozaki scheme II").
namespace cute_py {

// How a product may be computed, as its caller asks. `exact`: by units that multiply numbers of its own type. `fast`:
// the fastest way whose error is bounded as docs/numerics.md states. `reproducible`: with bits that depend on no
// tile, split or device.
enum class Precision : std::uint8_t { exact, fp16x3, bf16x6, fast, reproducible };

// A name of it, and what is computed in: of `reproducible` what the factors say.
struct PrecisionRow {
  char const* name;
  Precision precision;
  Compute compute;
};

inline constexpr PrecisionRow kPrecisionTable[] = {
    {"fp16x3", Precision::fp16x3, Compute::f32},
    {"bf16x6", Precision::bf16x6, Compute::f32},
    {"fast_float32", Precision::fast, Compute::f32},
    {"fast_float64", Precision::fast, Compute::f64},
    {"fast_complex64", Precision::fast, Compute::c64},
    {"fast_complex128", Precision::fast, Compute::c128},
    {"reproducible", Precision::reproducible, Compute::f32},
};

constexpr char const* name_of(Precision precision) {
  switch (precision) {
    case Precision::exact:
      return "exact";
    case Precision::fp16x3:
      return "fp16x3";
    case Precision::bf16x6:
      return "bf16x6";
    case Precision::fast:
      return "fast";
    case Precision::reproducible:
      return "reproducible";
  }
  return "";
}

// What the planes of a factor are.
enum class PlaneKind : std::uint8_t {
  none,
  fp16,      // two: a number to 11 bits, and 2^11 times what is left of it, of rows that are scaled to 2^14
  bf16,      // three of 8 bits each
  residues,  // of whole numbers, one for each modulus: int8
  gaussian,  // of complex whole numbers a + ib, two for each modulus p: a + rb and a - rb, where r^2 = -1 modulo p
};

constexpr char const* name_of(PlaneKind kind) {
  switch (kind) {
    case PlaneKind::none:
      return "none";
    case PlaneKind::fp16:
      return "fp16";
    case PlaneKind::bf16:
      return "bf16";
    case PlaneKind::residues:
      return "residues";
    case PlaneKind::gaussian:
      return "gaussian";
  }
  return "";
}

struct Planes {
  PlaneKind kind = PlaneKind::none;
  std::uint8_t count = 0;  // of moduli, or planes

  constexpr bool has_residues() const { return kind == PlaneKind::residues || kind == PlaneKind::gaussian; }
  constexpr bool is_complex() const { return kind == PlaneKind::gaussian; }
  constexpr int planes() const { return is_complex() ? 2 * count : count; }

  // Products of planes: each modulus has its own; of 16 bits those of the larger planes.
  constexpr int products() const { return has_residues() ? planes() : count == 2 ? 3 : 6; }

  constexpr DType type() const {
    return has_residues() ? DType::i8 : kind == PlaneKind::bf16 ? DType::bf16 : DType::f16;
  }

  friend constexpr bool operator==(Planes const& x, Planes const& y) { return x.kind == y.kind && x.count == y.count; }
  friend constexpr bool operator<(Planes const& x, Planes const& y) {
    return x.kind != y.kind ? x.kind < y.kind : x.count < y.count;
  }
};

// Elements from a row of a plane to the next. The planes of a factor are k-major, with the rows of all of L, one plane
// after the other. A row ends with a vector of 16 bytes, as TMA demands, and long rows begin with a line of L2.
constexpr std::int64_t plane_line(Planes const& planes, std::int64_t steps) {
  constexpr std::int64_t kLong = 512;
  constexpr std::int64_t kCacheLine = 128;
  constexpr std::int64_t kVector = 16;
  std::int64_t const bytes = steps * bytes_of(planes.type());
  std::int64_t const unit = bytes >= kLong ? kCacheLine : kVector;
  return (bytes + unit - 1) / unit * unit / bytes_of(planes.type());
}

// Pairwise coprime moduli: their residues are int8, from -p/2 to p/2. Those of complex numbers have prime factors that
// are 1 modulo 4, so that -1 is a square modulo each of them.
inline constexpr int kMostModuli = 20;
inline constexpr std::int16_t kModuli[kMostModuli] = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227,
                                                      223, 217, 211, 199, 197, 193, 191, 181, 179, 173};
inline constexpr std::int16_t kGaussianModuli[kMostModuli] = {241, 233, 229, 221, 205, 197, 193, 181, 173, 157,
                                                              149, 137, 113, 109, 101, 97,  89,  73,  61,  53};

constexpr std::int16_t modulus_of(PlaneKind kind, int number) {
  return kind == PlaneKind::gaussian ? kGaussianModuli[number] : kModuli[number];
}

// The longest K of residues: |sum| <= 2^17 * 2^14 fits int32.
inline constexpr std::int64_t kMostStepsOfResidues = std::int64_t{1} << 17;

// Elements from a row of residues of a result to the next.
constexpr std::int64_t residue_line(std::int64_t columns) { return (columns + 15) / 16 * 16; }

// The exponent in the place of that of a row with infinity or NaN in it: what it is multiplied by is computed exactly.
inline constexpr std::int32_t kNotFinite = INT32_MIN;

}  // namespace cute_py
