#pragma once

#include <complex>
#include <cstdint>
#include <tuple>

#include "base/activation.hpp"
#include "base/dtype.hpp"
#include "problem/modes.hpp"
#include "problem/planes.hpp"

// What a product is, without what changes from call to call: D(m,n,l) = epilogue(alpha * sum_k A(m,k,l) * B(n,k,l) +
// beta * C(m,n,l)). A copy, D(m) = A(m), has no B and no other group.
namespace cute_py {

// An alignment is known up to 16 bytes.
inline constexpr int kMaxLog2Alignment = 4;

// Everything that the choice of a kernel may depend on: types, alignments, modes, which parts of the formula there are.
// No pointers and no scalars: equal geometries are computed alike.
struct Geometry {
  Modes m;  // in A and D
  Modes n;  // in B and D
  Modes k;  // in A, B or both
  Modes l;  // in A, B and D: products of a batch

  PerRole<DType> type;                   // of A, B and D, and of the others if there are any
  PerRole<std::uint8_t> log2_alignment;  // of the pointer, up to kMaxLog2Alignment

  Compute compute = Compute::f32;
  Precision precision = Precision::exact;  // as it was asked for
  Planes planes;                           // of a step of emulated precision
  bool multiplies = true;                  // alpha and K are not 0: A and B are read
  bool reads_c = false;                    // beta is not 0
  bool c_is_d = false;                     // C, if it is read, is the result itself
  bool has_bias = false;
  bool has_residual = false;
  bool scales = false;    // by a number that is not 1
  bool saturate = false;  // a result that the type of D cannot hold becomes its largest or smallest number
  Activation activation = Activation::none;
  bool conj_a = false;
  bool conj_b = false;
  bool batch_invariant = false;  // a row's bits must not depend on M, N and L
  bool is_sum = false;           // of one factor, or of two without a free index of their own
  bool b_is_one = false;         // B is the number one: the result is a sum of A
  bool real_scalars = true;      // alpha and beta have no imaginary part

  // Can the lines of a factor be read up to the next multiple of 16 bytes? Beyond the end of K there is 0.
  bool padded_a = false;
  bool padded_b = false;

  // Is the array of this role read or written?
  bool has(Role role) const {
    switch (role) {
      case Role::a:
        return multiplies;
      case Role::b:
        return multiplies && compute != Compute::copy && compute != Compute::split;
      case Role::c:
        return reads_c;
      case Role::d:
        return true;
      case Role::bias:
        return has_bias;
      case Role::residual:
        return has_residual;
    }
    return false;
  }

  bool is_empty() const { return m.size() == 0 || n.size() == 0 || l.size() == 0; }

  // Is the epilogue D = alpha * A B^T + beta * C, and no more?
  bool is_plain() const { return !has_bias && !has_residual && !scales && !saturate && activation == Activation::none; }

  bool is_aligned(Role role, int bytes) const { return (1 << log2_alignment[role]) % bytes == 0; }
};

// Is it a dot product or a reduction along contiguous elements, which a host adds in many partial sums? Of products of
// two contiguous factors, or of one and a number.
inline bool is_contiguous_reduction(Geometry const& g) {
  constexpr std::int64_t kLeast = 64;
  bool const is_of_floats = g.compute == Compute::f32 || g.compute == Compute::tf32 || g.compute == Compute::f64;
  if (!g.is_sum || !g.multiplies || !is_of_floats || g.k.rank() != 1 || g.k[0].extent < kLeast) return false;
  DType const own = type_of_sums(g.compute);
  if (g.type[Role::a] != own || g.type[Role::b] != own) return false;
  auto const is_number = [&](Role role) {
    bool is = g.k[0].stride[role] == 0;
    for (Modes const* group : {&g.m, &g.n, &g.l}) {
      for (Mode const& mode : *group) is = is && mode.stride[role] == 0;
    }
    return is;
  };
  bool const a_lies = g.k[0].stride[Role::a] == 1;
  bool const b_lies = g.k[0].stride[Role::b] == 1;
  return (a_lies && (b_lies || is_number(Role::b))) || (b_lies && is_number(Role::a));
}

inline bool operator==(Geometry const& x, Geometry const& y) {
  auto const all = [](Geometry const& g) {
    return std::tie(g.m, g.n, g.k, g.l, g.type, g.log2_alignment, g.compute, g.precision, g.planes, g.multiplies,
                    g.reads_c, g.c_is_d, g.has_bias, g.has_residual, g.scales, g.saturate, g.activation, g.conj_a,
                    g.conj_b, g.batch_invariant, g.is_sum, g.b_is_one, g.real_scalars, g.padded_a, g.padded_b);
  };
  return all(x) == all(y);
}

// The arrays and numbers of one call.
struct Arguments {
  PerRole<void*> data;  // each array's element at coordinate 0; null of those that there are not
  std::complex<double> alpha = 1;
  std::complex<double> beta = 0;
  double scale = 1;
  void* split_k_workspace = nullptr;  // counters and partial sums of split-K; see Schedule
  std::uint64_t launch = 0;           // of a split K, the number of this launch: a multiple of 16, not 0, unique
  bool overlaps_previous = false;     // a pass that may overlap the one before it (programmatic dependent launch)

  // Of a step of emulated precision: the exponents of A's rows and of B's (kNotFinite of a row that is not finite),
  // those of a row of L after the other; and the residues that a result is reconstructed from.
  std::int32_t* exponents[2] = {nullptr, nullptr};
  void const* residues = nullptr;
  // Of a factor that was split before: its memory, see SplitFactor. Null of one that was not.
  void* split[2] = {nullptr, nullptr};
};

template <class Self, class Visit>
void for_each_group(Self& geometry, Visit const& visit) {
  visit(geometry.m);
  visit(geometry.n);
  visit(geometry.k);
  visit(geometry.l);
}

// How aligned an address is, as a Geometry tells it.
inline std::uint8_t log2_alignment_of(std::uintptr_t address) {
  std::uint8_t log2 = 0;
  while (log2 < kMaxLog2Alignment && address % (std::uintptr_t{2} << log2) == 0) ++log2;
  return log2;
}

// The element that many elements after the first one of an array.
inline void* element(void* data, DType type, std::int64_t offset) {
  return static_cast<char*>(data) + offset * bytes_of(type);
}

}  // namespace cute_py
