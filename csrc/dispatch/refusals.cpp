#include "dispatch/refusals.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace cute_py::dispatch {
namespace {

double tiles_of(Geometry const& g, Traits const& t) {
  auto const along = [](Modes const& modes, int tile) { return static_cast<double>(modes.size()) / tile + 1; };
  return along(g.m, t.tile[0]) * along(g.n, t.tile[1]) * static_cast<double>(g.l.size());
}

// Are there more tiles along N than are counted?
bool has_too_many_columns(Geometry const& g, Traits const& t) {
  return t.limits.tiles_n != Limits::kNone && g.n.size() > t.limits.tiles_n * t.tile[1];
}

// Is the stride of the group's first mode 1, or is there only one element along it?
bool is_unit(Role role, Modes const& modes) {
  return modes.rank() == 0 || modes[0].stride[role] == 1 || modes.size() <= 1;
}

bool has_major(Role role, Major major, Modes const& mn, Modes const& k) {
  return is_unit(role, major == Major::mn ? mn : k);
}

// Are the pointer and every stride but the unit one, that of the first mode of a group, multiples of `bytes`?
bool is_aligned(Geometry const& g, Role role, Modes const& unit, int bytes) {
  if (!g.is_aligned(role, bytes)) return false;
  auto const elements = std::max(bytes / bytes_of(g.type[role]), 1);
  bool aligned = true;
  for_each_group(g, [&](Modes const& modes) {
    for (int i = &modes == &unit ? 1 : 0; i < modes.rank(); ++i) {
      aligned = aligned && modes[i].stride[role] % elements == 0;
    }
  });
  return aligned;
}

// May a kernel without an epilogue of its own write the result?
bool fits_without_epilogue(Traits const& t, Geometry const& g) {
  return g.is_plain() && g.type[Role::d] == type_of_sums(t.types.compute) && (!g.reads_c || g.c_is_d);
}

char const* letter(Major major, char const* mn) { return major == Major::mn ? mn : "k"; }

bool conjugates(Geometry const& g) {
  return (g.conj_a && is_complex(g.type[Role::a])) || (g.conj_b && is_complex(g.type[Role::b]));
}

void append(std::string& text, std::string const& reason) {
  if (!text.empty()) text += "; ";
  text += reason;
}

std::string type_list(DTypeSet set) {
  std::string text;
  for (int i = 0; i < kDTypes; ++i) {
    auto const type = static_cast<DType>(i);
    if (!contains(set, type)) continue;
    if (!text.empty()) text += ", ";
    text += name_of(type);
  }
  return text;
}

}  // namespace

unsigned refusals(Traits const& t, Geometry const& g, DeviceInfo const& device) {
  unsigned refused = kNone;
  if (!t.needs.has_instructions(device)) refused |= kInstructions;
  if (!t.needs.has_shared_memory(device)) refused |= kSharedMemory;
  if (t.types.compute != g.compute) refused |= kCompute;
  bool const reads = g.multiplies;
  bool const fits = contains(t.types.factors, g.type[Role::a]) && contains(t.types.factors, g.type[Role::b]);
  if (!fits || (t.types.one_type && g.type[Role::a] != g.type[Role::b])) refused |= kFactorTypes;
  if (reads && !t.types.conjugates && conjugates(g)) refused |= kConjugate;
  if (!contains(t.types.results, g.type[Role::d]) || (g.reads_c && !contains(t.types.results, g.type[Role::c]))) {
    refused |= kResultTypes;
  }
  for (Role const role : {Role::bias, Role::residual}) {
    if (g.has(role) && !contains(t.types.epilogue, g.type[role])) refused |= kResultTypes;
  }
  bool const has_modes = g.m.rank() <= t.modes.m && g.n.rank() <= t.modes.n_and_k && g.k.rank() <= t.modes.n_and_k;
  if (!has_modes || g.l.rank() > t.modes.l) refused |= kModes;
  if (t.one_order && is_contiguous_reduction(g)) refused |= kOrder;
  auto const m = g.m.size();
  auto const n = g.n.size();
  auto const k = g.k.size();
  if (t.operands.longest(g) > t.limits.extent) refused |= kExtent;
  if (has_too_many_columns(g, t)) refused |= kTiles;
  if (t.limits.tiles != Limits::kNone && tiles_of(g, t) > static_cast<double>(t.limits.tiles)) refused |= kTiles;
  if ((t.limits.m != 0 && m > t.limits.m) || (t.limits.n != 0 && n > t.limits.n)) refused |= kTooLarge;
  if (!t.fuses && !fits_without_epilogue(t, g)) refused |= kEpilogue;
  if (reads && !t.operands.are_elements_aligned(g, Role::a)) refused |= kAlignmentA;
  if (g.has(Role::b) && !t.operands.are_elements_aligned(g, Role::b)) refused |= kAlignmentB;
  for (Role const role : {Role::c, Role::d, Role::bias, Role::residual}) {
    if (g.has(role) && !t.operands.are_elements_aligned(g, role)) refused |= kAlignmentC;
  }
  bool const is_whole = t.operands.is_whole();
  if (g.batch_invariant && (is_whole || t.limits.n != 0)) refused |= kInvariance;
  if (reads && !t.operands.fits(g, Role::a)) refused |= kOperandA;
  if (reads && !t.operands.fits(g, Role::b)) refused |= kOperandB;
  if (!is_whole || !has_modes || g.l.rank() > t.modes.l) return refused;

  Major const major_a = t.operands.major_a;
  Major const major_b = t.operands.major_b;
  if (reads && !has_major(Role::a, major_a, g.m, g.k)) refused |= kMajorA;
  if (reads && !has_major(Role::b, major_b, g.n, g.k)) refused |= kMajorB;
  if (!is_unit(Role::d, g.m) || (g.reads_c && !is_unit(Role::c, g.m))) refused |= kMajorC;
  if (m % t.tile[0] != 0 || n % t.tile[1] != 0 || k % t.tile[2] != 0) refused |= kDivisibility;
  int const bytes = t.operands.alignment_bytes;
  auto const aligned = [&](Role role, Modes const& unit) { return is_aligned(g, role, unit, bytes); };
  if (reads && !(refused & kMajorA) && !aligned(Role::a, major_a == Major::mn ? g.m : g.k)) refused |= kAlignmentA;
  if (reads && !(refused & kMajorB) && !aligned(Role::b, major_b == Major::mn ? g.n : g.k)) refused |= kAlignmentB;
  if (!(refused & kMajorC) && (!aligned(Role::d, g.m) || (g.reads_c && !aligned(Role::c, g.m)))) {
    refused |= kAlignmentC;
  }
  return refused;
}

unsigned refusals(Entry const& entry, Geometry const& geometry, DeviceInfo const& device) {
  return refusals(entry.traits, geometry, device) | (entry.prepare == nullptr ? kNotBuilt : kNone);
}

std::string describe(unsigned refused, Traits const& t, Geometry const& g, DeviceInfo const& device) {
  std::string text;
  auto const number = [](auto value) { return std::to_string(value); };
  if (refused & kCompute) append(text, std::string("computes in ") + name_of(t.types.compute));
  if (refused & kFactorTypes) append(text, "takes A and B of " + type_list(t.types.factors));
  if (refused & kResultTypes) append(text, "takes C, bias and residual of " + type_list(t.types.results));
  if (!text.empty()) return text;  // other types: no other reason is given
  if (refused & kNotBuilt) append(text, "this build has no code of it");
  if (refused & kEpilogue) append(text, "writes alpha * A B^T + beta * C to C only, as its own type");
  if (refused & kOrder) append(text, "adds in another order than a dot product");
  if (refused & kInvariance) {
    append(text, t.operands.is_whole() ? "takes whole tiles only, which M, N and K must not decide"
                                       : "takes small extents only, which must not decide");
  }
  if (refused & kTooLarge) {
    append(text, (t.limits.m != 0 ? "takes at most M=" + number(t.limits.m) + " and N=" : "takes at most N=") +
                     number(t.limits.n));
  }
  if (refused & kConjugate) append(text, "cannot conjugate A or B");
  if (refused & kInstructions) append(text, t.needs.describe(device));
  if (refused & kSharedMemory) append(text, t.needs.describe_shared_memory());
  if (refused & kExtent) append(text, "an extent is over " + number(t.limits.extent));
  if (refused & kTiles) {
    append(text, has_too_many_columns(g, t)
                     ? "N=" + number(g.n.size()) + " is over " + number(t.limits.tiles_n * t.tile[1])
                     : "the result has more tiles than 32 bits count");
  }
  if (refused & kModes) {
    append(text, g.l.rank() > t.modes.l && t.modes.l == 0 ? std::string("takes no batch")
                 : g.l.rank() > t.modes.l
                     ? "more than " + number(t.modes.l) + (t.modes.l == 1 ? " mode in L" : " modes in L")
                 : t.modes.m == 2       ? "more than two modes in M or one in N or K"
                 : t.modes.n_and_k == 1 ? "several modes in M, N or K"
                                        : "more than " + number(t.modes.n_and_k) + " modes in M, N or K");
  }
  if (refused & kMajorA) append(text, std::string("A is not ") + letter(t.operands.major_a, "m") + "-major");
  if (refused & kMajorB) append(text, std::string("B is not ") + letter(t.operands.major_b, "n") + "-major");
  if (refused & kMajorC) append(text, "C is not m-major");
  if (refused & kOperandA) append(text, t.operands.describe(g, Role::a));
  if (refused & kOperandB) append(text, t.operands.describe(g, Role::b));
  if (refused & kDivisibility) {
    append(text, "(M,N,K)=(" + number(g.m.size()) + "," + number(g.n.size()) + "," + number(g.k.size()) +
                     ") is no multiple of the tile (" + number(t.tile[0]) + "," + number(t.tile[1]) + "," +
                     number(t.tile[2]) + ")");
  }
  struct {
    Refusal bit;
    char const* name;
    int bytes;
  } const alignments[] = {{kAlignmentA, "A", t.operands.element_bytes(g, Role::a)},
                          {kAlignmentB, "B", t.operands.element_bytes(g, Role::b)},
                          {kAlignmentC, "C", scalar_bytes_of(g.type[Role::d])}};
  for (auto const& [bit, name, bytes] : alignments) {
    if (refused & bit) {
      append(text, std::string(name) + "'s pointer or leading dimension is not a multiple of " +
                       number(t.operands.is_whole() ? t.operands.alignment_bytes : bytes) + " bytes");
    }
  }
  return text;
}

}  // namespace cute_py::dispatch
