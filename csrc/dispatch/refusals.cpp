#include "dispatch/refusals.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "problem/access.hpp"
#include "problem/tensor_box.hpp"

namespace cute_py::dispatch {
namespace {

// GPU kernels count rows, columns and steps of K in 32 bits, and a tile may reach past the last one.
constexpr std::int64_t kMaxExtent = std::numeric_limits<std::int32_t>::max() - 1024;

// The most CTAs along the second dimension of a grid.
constexpr std::int64_t kMaxGridN = 65535;

bool runs_gpu_code(Traits const& traits) { return traits.target != Target::cpu; }

// A persistent kernel counts its tiles in 32 bits.
constexpr double kMaxTiles = std::numeric_limits<std::int32_t>::max();

double tiles_of(Geometry const& g, Traits const& t) {
  auto const along = [](Modes const& modes, int tile) { return static_cast<double>(modes.size()) / tile + 1; };
  return along(g.m, t.tile[0]) * along(g.n, t.tile[1]) * static_cast<double>(g.l.size());
}

// Is the stride of the group's first mode 1, or is there only one element along it?
bool is_unit(Role role, Modes const& modes) {
  return modes.rank() == 0 || modes[0].stride[role] == 1 || modes.size() <= 1;
}

bool has_major(Role role, Major major, Modes const& mn, Modes const& k) {
  return is_unit(role, major == Major::mn ? mn : k);
}

// Are the pointer and every stride but the unit one, that of the first mode of a group, multiples of so many bytes?
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

// A copy counts the elements of each mode, and joins those that it moves together.
bool is_too_long_to_copy(Geometry const& g, int moved_bytes) {
  auto const together = std::max(moved_bytes / bytes_of(g.type[Role::d]), 1);
  return std::any_of(g.m.begin(), g.m.end(), [&](Mode const& mode) {
    bool const is_joined = mode.stride[Role::a] == 1 && mode.stride[Role::d] == 1;
    return mode.extent / (is_joined ? together : 1) > kMaxExtent;
  });
}

// A GPU reads and writes no number across a multiple of its size.
int element_alignment(Traits const& t, DType type) { return std::max(t.element_alignment, scalar_bytes_of(type)); }

// May a kernel without an epilogue of its own write the result?
bool fits_without_epilogue(Traits const& t, Geometry const& g) {
  return g.is_plain() && g.type[Role::d] == type_of_sums(t.compute) && (!g.reads_c || g.c_is_d);
}

char const* letter(Major major, char const* mn) { return major == Major::mn ? mn : "k"; }

Obstacle obstacle_in(Geometry const& g, Role role, Major major) {
  Modes const& mn = role == Role::a ? g.m : g.n;
  return major == Major::k ? obstacle_to_boxes(g, role, g.k, mn) : obstacle_to_boxes(g, role, mn, g.k);
}

// The rule of the copy engine that an operand breaks.
std::string in_boxes(Geometry const& g, Role role, Major major) {
  bool const is_a = role == Role::a;
  std::string const text = std::string("the copy engine cannot follow ") + (is_a ? "A: " : "B: ");
  auto const [kind, number] = obstacle_in(g, role, major);
  switch (kind) {
    case Obstacle::Kind::address:
      return text + "its address is no multiple of " + std::to_string(kBoxAlignment) + " bytes";
    case Obstacle::Kind::first_stride:
      return text + "its stride along " + letter(major, is_a ? "m" : "n") + " is " + std::to_string(number) + ", not 1";
    case Obstacle::Kind::stride:
      if (number <= 0) return text + "a stride is " + std::to_string(number) + ", not positive";
      return text + "a stride: " + box_rules::broken_by_stride(number, bytes_of(g.type[role]));
    default:
      return text + "it has " + std::to_string(number) + " modes, of which " + std::to_string(kBoxModes) +
             " are possible";
  }
}

std::string in_vectors(char const* name, int bytes, Major major, char const* mn) {
  return std::string(name) + " does not lie in vectors of " + std::to_string(bytes) + " bytes along " +
         letter(major, mn);
}

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
  if (t.isa > device.isa) refused |= kInstructionSet;
  if (t.compute != g.compute) refused |= kCompute;
  bool const reads = g.multiplies;
  bool const fits = contains(t.factors, g.type[Role::a]) && contains(t.factors, g.type[Role::b]);
  if (!fits || (t.one_type && g.type[Role::a] != g.type[Role::b])) refused |= kFactorTypes;
  if (reads && !t.conjugates && conjugates(g)) refused |= kConjugate;
  if (!contains(t.results, g.type[Role::d]) || (g.reads_c && !contains(t.results, g.type[Role::c]))) {
    refused |= kResultTypes;
  }
  for (Role const role : {Role::bias, Role::residual}) {  // float8 is read by kernels that write it
    if (g.has(role) && is_float8(g.type[role]) && !contains(t.results, g.type[role])) refused |= kResultTypes;
  }
  if (g.m.rank() > t.modes_m || g.n.rank() > t.modes || g.k.rank() > t.modes) refused |= kModes;
  if (t.one_order && is_sum_of_neighbours(g)) refused |= kOrder;
  if (!runs_gpu_code(t)) return refused;

  if (device.compute_capability != 0) {  // a trace is for no device
    if (device.compute_capability < t.compute_capability) refused |= kComputeCapability;
    if (device.shared_bytes_per_cta < t.shared_bytes) refused |= kSharedMemory;
    // The instructions of a warpgroup are SM90's alone.
    if (t.copies_boxes && device.compute_capability / 10 != t.compute_capability / 10) refused |= kComputeCapability;
  }
  auto const m = g.m.size();
  auto const n = g.n.size();
  auto const k = g.k.size();
  bool const too_long =
      t.moved_bytes != 0 ? is_too_long_to_copy(g, t.moved_bytes) : std::max({m, n, k, g.l.size()}) > kMaxExtent;
  if (too_long) refused |= kExtent;
  if (n > kMaxGridN * t.tile[1]) refused |= kGrid;
  if (t.copies_boxes && tiles_of(g, t) > kMaxTiles) refused |= kGrid;
  if (g.l.rank() > t.modes_l) refused |= kModes;
  if ((t.most_m != 0 && m > t.most_m) || (t.most_n != 0 && n > t.most_n)) refused |= kTooLarge;
  if (!t.fuses && !fits_without_epilogue(t, g)) refused |= kEpilogue;
  auto const has_aligned_elements = [&](Role role) {
    bool const is_factor = role == Role::a || role == Role::b;
    return g.is_aligned(role, is_factor ? element_alignment(t, g.type[role]) : scalar_bytes_of(g.type[role]));
  };
  if (reads && !has_aligned_elements(Role::a)) refused |= kAlignmentA;
  if (g.has(Role::b) && !has_aligned_elements(Role::b)) refused |= kAlignmentB;
  for (Role const role : {Role::c, Role::d, Role::bias, Role::residual}) {
    if (g.has(role) && !has_aligned_elements(role)) refused |= kAlignmentC;
  }
  if (g.batch_invariant && (!t.predicated || t.most_n != 0)) refused |= kInvariance;
  auto const lies_in_vectors = [&](Role role, Major major, Modes const& mn, int bytes) {
    return bytes == 0 || t.copies_boxes || access_along(g, role, major == Major::mn ? mn : g.k).bytes >= bytes;
  };
  if (reads && !lies_in_vectors(Role::a, t.major_a, g.m, t.vector_bytes_a)) refused |= kVectorsA;
  if (reads && !lies_in_vectors(Role::b, t.major_b, g.n, t.vector_bytes_b)) refused |= kVectorsB;
  auto const lies_in_boxes = [&](Role role, Major major) {
    return obstacle_in(g, role, major).kind == Obstacle::Kind::none;
  };
  if (reads && t.copies_boxes && !lies_in_boxes(Role::a, t.major_a)) refused |= kBoxesA;
  if (reads && t.copies_boxes && !lies_in_boxes(Role::b, t.major_b)) refused |= kBoxesB;
  if (t.moved_bytes != 0 && !moves_together(g, t.moved_bytes)) refused |= kMoves;
  if (t.predicated || (refused & kModes)) return refused;

  if (reads && !has_major(Role::a, t.major_a, g.m, g.k)) refused |= kMajorA;
  if (reads && !has_major(Role::b, t.major_b, g.n, g.k)) refused |= kMajorB;
  if (!is_unit(Role::d, g.m) || (g.reads_c && !is_unit(Role::c, g.m))) refused |= kMajorC;
  if (m % t.tile[0] != 0 || n % t.tile[1] != 0 || k % t.tile[2] != 0) refused |= kDivisibility;
  auto const aligned = [&](Role role, Modes const& unit) { return is_aligned(g, role, unit, t.alignment_bytes); };
  if (reads && !(refused & kMajorA) && !aligned(Role::a, t.major_a == Major::mn ? g.m : g.k)) refused |= kAlignmentA;
  if (reads && !(refused & kMajorB) && !aligned(Role::b, t.major_b == Major::mn ? g.n : g.k)) refused |= kAlignmentB;
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
  if (refused & kCompute) append(text, std::string("computes in ") + name_of(t.compute));
  if (refused & kFactorTypes) append(text, "takes A and B of " + type_list(t.factors));
  if (refused & kResultTypes) append(text, "takes C, bias and residual of " + type_list(t.results));
  if (!text.empty()) return text;  // made for other types: nothing else matters
  if (refused & kNotBuilt) append(text, "this build has no code of it for a GPU");
  if (refused & kEpilogue) append(text, "writes alpha * A B^T + beta * C to C only, as its own type");
  if (refused & kOrder) append(text, "adds numbers that follow one another in another order than sums have on a host");
  if (refused & kInvariance) {
    append(text, t.predicated ? "takes small extents only, which must not decide"
                              : "takes whole tiles only, which M, N and K must not decide");
  }
  if (refused & kTooLarge) {
    append(text,
           (t.most_m != 0 ? "takes at most M=" + number(t.most_m) + " and N=" : "takes at most N=") + number(t.most_n));
  }
  if (refused & kConjugate) append(text, "cannot conjugate A or B");
  if (refused & kInstructionSet) append(text, "the CPU lacks its instruction set");
  if (refused & kComputeCapability) {
    append(text, "needs compute capability " + number(t.compute_capability / 10) + "." +
                     number(t.compute_capability % 10) + ", " + device.name + " has " +
                     number(device.compute_capability / 10) + "." + number(device.compute_capability % 10));
  }
  if (refused & kSharedMemory) append(text, "needs " + number(t.shared_bytes) + " bytes of shared memory per CTA");
  if (refused & kExtent) append(text, "an extent is over " + number(kMaxExtent));
  if (refused & kGrid) {
    bool const is_long = g.n.size() > kMaxGridN * t.tile[1];
    append(text, is_long ? "N=" + number(g.n.size()) + " is over " + number(kMaxGridN * t.tile[1])
                         : "the result has more tiles than 32 bits count");
  }
  if (refused & kModes) {
    append(text, g.l.rank() > t.modes_l
                     ? "more than " + number(t.modes_l) + (t.modes_l == 1 ? " mode in L" : " modes in L")
                 : t.modes_m == 2 ? "more than two modes in M or one in N or K"
                 : t.modes == 1   ? "several modes in M, N or K"
                                  : "more than " + number(t.modes) + " modes in M, N or K");
  }
  if (refused & kMajorA) append(text, std::string("A is not ") + letter(t.major_a, "m") + "-major");
  if (refused & kMajorB) append(text, std::string("B is not ") + letter(t.major_b, "n") + "-major");
  if (refused & kMajorC) append(text, "C is not m-major");
  if (refused & kVectorsA) append(text, in_vectors("A", t.vector_bytes_a, t.major_a, "m"));
  if (refused & kVectorsB) append(text, in_vectors("B", t.vector_bytes_b, t.major_b, "n"));
  if (refused & kBoxesA) append(text, in_boxes(g, Role::a, t.major_a));
  if (refused & kBoxesB) append(text, in_boxes(g, Role::b, t.major_b));
  if (refused & kMoves) {
    append(text, "moves " + number(t.moved_bytes) + " bytes at a time, which do not lie side by side in A and in C");
  }
  if (refused & kDivisibility) {
    append(text, "(M,N,K)=(" + number(g.m.size()) + "," + number(g.n.size()) + "," + number(g.k.size()) +
                     ") is no multiple of the tile (" + number(t.tile[0]) + "," + number(t.tile[1]) + "," +
                     number(t.tile[2]) + ")");
  }
  struct {
    Refusal bit;
    char const* name;
    int bytes;
  } const alignments[] = {{kAlignmentA, "A", element_alignment(t, g.type[Role::a])},
                          {kAlignmentB, "B", element_alignment(t, g.type[Role::b])},
                          {kAlignmentC, "C", scalar_bytes_of(g.type[Role::d])}};
  for (auto const& [bit, name, bytes] : alignments) {
    if (refused & bit) {
      append(text, std::string(name) + "'s pointer or leading dimension is not a multiple of " +
                       number(t.predicated ? bytes : t.alignment_bytes) + " bytes");
    }
  }
  return text;
}

}  // namespace cute_py::dispatch
