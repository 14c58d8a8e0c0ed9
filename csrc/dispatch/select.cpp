#include "dispatch/select.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

#include "dispatch/fold.hpp"

namespace cute_py::dispatch {
namespace {

// GPU kernels count rows, columns and steps of K in 32 bits, and a tile may reach past the last one.
constexpr std::int64_t kMaxExtent = std::numeric_limits<std::int32_t>::max() - 1024;

// The most CTAs along the second dimension of a grid.
constexpr std::int64_t kMaxGridN = 65535;

bool runs_gpu_code(Traits const& traits) { return traits.target != Target::cpu; }

// Is the stride of the group's first mode 1, or is there only one element along it?
bool is_unit(Array const& array, int group, Modes const& modes) {
  return modes.rank == 0 || array.stride[group][0] == 1 || modes.size() <= 1;
}

bool has_major(Array const& array, Major major, Modes const& mn, Modes const& k) {
  return major == Major::mn ? is_unit(array, 0, mn) : is_unit(array, 1, k);
}

// Are the pointer and every stride but the unit one multiples of so many bytes?
bool is_aligned(Array const& array, Major major, int bytes, Modes const& first, Modes const& second, Modes const& l) {
  if (reinterpret_cast<std::uintptr_t>(array.data) % bytes != 0) return false;
  auto const elements = std::max(bytes / bytes_of(array.type), 1);
  Modes const* const groups[] = {&first, &second, &l};
  for (int group = 0; group < 3; ++group) {
    bool const has_unit = group == (major == Major::mn ? 0 : 1);
    for (int i = has_unit ? 1 : 0; i < groups[group]->rank; ++i) {
      if (array.stride[group][i] % elements != 0) return false;
    }
  }
  return true;
}

// A GPU reads and writes no number across a multiple of its size.
int element_alignment(Traits const& t, Array const& array) {
  return std::max(t.element_alignment, scalar_bytes_of(array.type));
}

bool has_aligned_elements(Array const& array, int bytes) {
  return reinterpret_cast<std::uintptr_t>(array.data) % bytes == 0;
}

int mismatched_majors(Traits const& traits, Problem const& p) {
  if (p.alpha == 0.0) return 0;
  if (traits.most_n != 0 && traits.modes > 1) {  // reads A in vectors and B in any way
    return (traits.major_a == Major::mn) != (p.m.rank > 0 && p.a.stride[0][0] == 1);
  }
  if (traits.modes > 1 || traits.most_n != 0) return 0;  // takes either majorness as it comes
  return !has_major(p.a, traits.major_a, p.m, p.k) + !has_major(p.b, traits.major_b, p.n, p.k);
}

// May a kernel without an epilogue of its own write the result?
bool fits_without_epilogue(Traits const& t, Problem const& p) {
  constexpr DType kOwn[] = {DType::f32, DType::f32, DType::f64, DType::c64, DType::c128, DType::i32};
  if (!p.epilogue.is_plain() || p.d.type != kOwn[static_cast<int>(t.compute)]) return false;
  if (!p.reads_c()) return true;
  if (p.c.data != p.d.data || p.c.type != p.d.type) return false;
  Modes const* const groups[] = {&p.m, &p.n, &p.l};
  for (int group = 0; group < 3; ++group) {
    if (!std::equal(p.c.stride[group], p.c.stride[group] + groups[group]->rank, p.d.stride[group])) return false;
  }
  return true;
}

// How much work the tiles of an entry make of a problem, also where they reach past its edges: elements of C.
double tiled_work(Traits const& t, Problem const& p) {
  if (!runs_gpu_code(t)) return 0;
  auto const tiles = [](Modes const& modes, int tile) { return static_cast<double>((modes.size() + tile - 1) / tile); };
  return tiles(p.m, t.tile[0]) * t.tile[0] * tiles(p.n, t.tile[1]) * t.tile[1];
}

// An entry that an earlier one in the table replaces only if it makes so much less work of a problem.
constexpr double kWorthwhile = 1.3;

// So many columns are few: it pays to look for a kernel that is made for them.
constexpr std::int64_t kFewColumns = 16;

char const* letter(Major major, char const* mn) { return major == Major::mn ? mn : "k"; }

bool conjugates(Problem const& p) { return (p.conj_a && is_complex(p.a.type)) || (p.conj_b && is_complex(p.b.type)); }

// The entry made for these majornesses, or for most of them, and among those the last in the table; but an earlier one
// of the same kernel if its tiles fit the problem much better.
Entry const* best_entry(Problem const& problem, Target target, DeviceInfo const& device, std::string_view name,
                        Registry const& registry) {
  // From the last on, so that the usual problem is decided by the first entry that fits.
  Entry const* found = nullptr;
  int best = 0;
  double least = 0;
  for (std::size_t i = registry.count; i-- > 0;) {
    Entry const* const entry = registry.first[i];
    Traits const& traits = entry->traits;
    if (traits.target != target || traits.compute != problem.compute || !matches(traits, name)) continue;
    if (name == "auto" && problem.l.size() < traits.least_l) continue;
    int const mismatched = runs_gpu_code(traits) ? mismatched_majors(traits, problem) : 0;
    if (found != nullptr && mismatched > best) continue;
    double const work = tiled_work(traits, problem);
    bool const is_kin = found != nullptr && std::string_view(found->traits.kernel) == traits.kernel;
    if (found != nullptr && best == 0 && !is_kin) break;  // the variants of a kernel follow one another
    if (found != nullptr && mismatched == best && !(is_kin && work * kWorthwhile < least)) continue;
    if (refusals(traits, problem, device) != kNone) continue;
    found = entry;
    best = mismatched;
    least = work;
  }
  return found;
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

unsigned refusals(Traits const& t, Problem const& p, DeviceInfo const& device) {
  unsigned refused = kNone;
  if (t.isa > device.isa) refused |= kInstructionSet;
  if (t.compute != p.compute) refused |= kCompute;
  bool const reads = p.alpha != 0.0;
  bool const fits = contains(t.factors, p.a.type) && contains(t.factors, p.b.type);
  if (!fits || (t.one_type && p.a.type != p.b.type)) refused |= kFactorTypes;
  if (reads && !t.conjugates && conjugates(p)) refused |= kConjugate;
  if (!contains(t.results, p.d.type) || (p.reads_c() && !contains(t.results, p.c.type))) refused |= kResultTypes;
  if (!runs_gpu_code(t)) return refused;

  if (t.target == Target::cuda) {
    if (device.compute_capability < t.compute_capability) refused |= kComputeCapability;
    if (device.shared_bytes_per_cta < t.shared_bytes) refused |= kSharedMemory;
  }
  auto const m = p.m.size();
  auto const n = p.n.size();
  auto const k = p.k.size();
  if (m > kMaxExtent || n > kMaxExtent || k > kMaxExtent || p.l.size() > kMaxExtent) refused |= kExtent;
  if (n > kMaxGridN * t.tile[1]) refused |= kGrid;
  if (p.m.rank > t.modes_m || p.n.rank > t.modes || p.k.rank > t.modes || p.l.rank > kMaxKernelModes) refused |= kModes;
  if ((t.most_m != 0 && m > t.most_m) || (t.most_n != 0 && n > t.most_n)) refused |= kTooLarge;
  if (!t.fuses && !fits_without_epilogue(t, p)) refused |= kEpilogue;
  if (reads && !has_aligned_elements(p.a, element_alignment(t, p.a))) refused |= kAlignmentA;
  if (reads && !has_aligned_elements(p.b, element_alignment(t, p.b))) refused |= kAlignmentB;
  for (Array const* x : {p.reads_c() ? &p.c : &p.d, &p.d, &p.epilogue.bias, &p.epilogue.residual}) {
    if (x->data != nullptr && !has_aligned_elements(*x, scalar_bytes_of(x->type))) refused |= kAlignmentC;
  }
  if (p.batch_invariant && (!t.predicated || t.most_n != 0)) refused |= kInvariance;
  if (t.predicated || (refused & kModes)) return refused;

  if (reads && !has_major(p.a, t.major_a, p.m, p.k)) refused |= kMajorA;
  if (reads && !has_major(p.b, t.major_b, p.n, p.k)) refused |= kMajorB;
  if (!is_unit(p.d, 0, p.m) || (p.reads_c() && !is_unit(p.c, 0, p.m))) refused |= kMajorC;
  if (m % t.tile[0] != 0 || n % t.tile[1] != 0 || k % t.tile[2] != 0) refused |= kDivisibility;
  auto const aligned = [&](Array const& x, Major major, Modes const& first, Modes const& second) {
    return is_aligned(x, major, t.alignment_bytes, first, second, p.l);
  };
  if (reads && !(refused & kMajorA) && !aligned(p.a, t.major_a, p.m, p.k)) refused |= kAlignmentA;
  if (reads && !(refused & kMajorB) && !aligned(p.b, t.major_b, p.n, p.k)) refused |= kAlignmentB;
  if (!(refused & kMajorC) &&
      (!aligned(p.d, Major::mn, p.m, p.n) || (p.reads_c() && !aligned(p.c, Major::mn, p.m, p.n)))) {
    refused |= kAlignmentC;
  }
  return refused;
}

std::string describe(unsigned refused, Traits const& t, Problem const& p, DeviceInfo const& device) {
  std::string text;
  auto const number = [](auto value) { return std::to_string(value); };
  if (refused & kCompute) append(text, std::string("computes in ") + name_of(t.compute));
  if (refused & kFactorTypes) append(text, "takes A and B of " + type_list(t.factors));
  if (refused & kResultTypes) append(text, "takes C of " + type_list(t.results));
  if (!text.empty()) return text;  // made for other types: nothing else matters
  if (refused & kEpilogue) append(text, "writes alpha * A B^T + beta * C to C only, as its own type");
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
  if (refused & kGrid) append(text, "N=" + number(p.n.size()) + " is over " + number(kMaxGridN * t.tile[1]));
  if (refused & kModes) {
    append(text, p.l.rank > kMaxKernelModes ? "more than " + number(kMaxKernelModes) + " modes in L"
                 : t.modes_m == 2           ? "more than two modes in M or one in N or K"
                 : t.modes == 1             ? "several modes in M, N or K"
                                            : "more than " + number(t.modes) + " modes in M, N or K");
  }
  if (refused & kMajorA) append(text, std::string("A is not ") + letter(t.major_a, "m") + "-major");
  if (refused & kMajorB) append(text, std::string("B is not ") + letter(t.major_b, "n") + "-major");
  if (refused & kMajorC) append(text, "C is not m-major");
  if (refused & kDivisibility) {
    append(text, "(M,N,K)=(" + number(p.m.size()) + "," + number(p.n.size()) + "," + number(p.k.size()) +
                     ") is no multiple of the tile (" + number(t.tile[0]) + "," + number(t.tile[1]) + "," +
                     number(t.tile[2]) + ")");
  }
  struct {
    Refusal bit;
    char const* name;
    int bytes;
  } const alignments[] = {{kAlignmentA, "A", element_alignment(t, p.a)},
                          {kAlignmentB, "B", element_alignment(t, p.b)},
                          {kAlignmentC, "C", scalar_bytes_of(p.d.type)}};
  for (auto const& [bit, name, bytes] : alignments) {
    if (refused & bit) {
      append(text, std::string(name) + "'s pointer or leading dimension is not a multiple of " +
                       number(t.predicated ? bytes : t.alignment_bytes) + " bytes");
    }
  }
  return text;
}

bool matches(Traits const& traits, std::string_view name) {
  return name == "auto" || name == traits.kernel || name == traits.name;
}

Choice select(Problem const& problem, Target target, DeviceInfo const& device, std::string_view name,
              Registry const& registry) {
  // Kernels write D along m. If D's unit stride is in the other group, compute D^T; also if D has too many columns, or
  // if its few rows are few columns then, for which there is a kernel.
  // Not if that changed bits which must depend on nothing but the row: exchanged factors exchange the adds of a complex
  // product.
  bool const may_exchange =
      !problem.batch_invariant || (problem.compute != Compute::c64 && problem.compute != Compute::c128);
  bool const n_major = may_exchange && fastest_group(problem.d, problem.m, problem.n) == 1;
  Choice choice{folded(n_major ? transposed(problem) : problem), n_major, nullptr};
  choice.entry = best_entry(choice.problem, target, device, name, registry);
  bool const has_few_rows = target != Target::cpu && choice.problem.m.size() <= kFewColumns &&
                            choice.problem.m.size() < choice.problem.n.size();
  if (!may_exchange) return choice;
  if (choice.entry == nullptr || (has_few_rows && choice.entry->traits.most_n == 0)) {
    Choice other{folded(n_major ? problem : transposed(problem)), !n_major, nullptr};
    other.entry = best_entry(other.problem, target, device, name, registry);
    if (other.entry != nullptr && (choice.entry == nullptr || other.entry->traits.most_n != 0)) return other;
  }
  return choice;
}

std::vector<Candidate> candidates(Problem const& problem, Target target, DeviceInfo const& device,
                                  std::string_view name, Registry const& registry) {
  std::vector<Candidate> found;
  for (Entry const* entry : registry) {
    Traits const& traits = entry->traits;
    if (traits.target != target || !matches(traits, name)) continue;
    if (traits.compute != problem.compute && traits.name != name) continue;
    found.push_back({entry, refusals(traits, problem, device)});
  }
  return found;
}

}  // namespace cute_py::dispatch
