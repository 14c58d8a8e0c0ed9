#include "dispatch/select.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace cute_py::dispatch {
namespace {

// GPU kernels count rows, columns and steps of K in 32 bits, and a tile may reach past the last one.
constexpr std::int64_t kMaxExtent = std::numeric_limits<std::int32_t>::max() - 1024;

// The most CTAs along the second dimension of a grid.
constexpr std::int64_t kMaxGridN = 65535;

bool runs_gpu_code(Traits const& traits) { return traits.target != Target::cpu; }

// Is the stride of an operand's mode 1, or is there only one element along it?
bool is_unit(Matrix const& matrix, int mode, std::int64_t extent) { return matrix.stride[mode] == 1 || extent <= 1; }

bool has_major(Matrix const& matrix, Major major, std::int64_t extent_mn, std::int64_t extent_k) {
  return major == Major::mn ? is_unit(matrix, 0, extent_mn) : is_unit(matrix, 1, extent_k);
}

bool is_aligned(Matrix const& matrix, Major major, int bytes) {
  auto const leading = matrix.stride[major == Major::mn ? 1 : 0];
  return reinterpret_cast<std::uintptr_t>(matrix.data) % bytes == 0 &&
         leading % (bytes / static_cast<std::int64_t>(sizeof(float))) == 0;
}

int mismatched_majors(Traits const& traits, Problem const& p) {
  return !has_major(p.a, traits.major_a, p.m, p.k) + !has_major(p.b, traits.major_b, p.n, p.k);
}

char const* letter(Major major, char const* mn) { return major == Major::mn ? mn : "k"; }

// The entry made for these majornesses, or for most of them, and among those the last in the table.
Entry const* best_entry(Problem const& problem, Target target, DeviceInfo const& device, std::string_view name,
                        Registry const& registry) {
  // From the last on, so that the usual problem is decided by the first entry that fits.
  Entry const* found = nullptr;
  int best = 0;
  for (std::size_t i = registry.count; i-- > 0;) {
    Entry const* const entry = registry.first[i];
    Traits const& traits = entry->traits;
    if (traits.target != target || !matches(traits, name)) continue;
    int const mismatched = runs_gpu_code(traits) ? mismatched_majors(traits, problem) : 0;
    if (found != nullptr && mismatched >= best) continue;
    if (refusals(traits, problem, device) != kNone) continue;
    found = entry;
    best = mismatched;
    if (best == 0) break;
  }
  return found;
}

void append(std::string& text, std::string const& reason) {
  if (!text.empty()) text += "; ";
  text += reason;
}

}  // namespace

unsigned refusals(Traits const& t, Problem const& p, DeviceInfo const& device) {
  unsigned refused = kNone;
  if (t.isa > device.isa) refused |= kInstructionSet;
  if (!runs_gpu_code(t)) return refused;

  if (t.target == Target::cuda) {
    if (device.compute_capability < t.compute_capability) refused |= kComputeCapability;
    if (device.shared_bytes_per_cta < t.shared_bytes) refused |= kSharedMemory;
  }
  if (p.m > kMaxExtent || p.n > kMaxExtent || p.k > kMaxExtent) refused |= kExtent;
  if (p.n > kMaxGridN * t.tile[1]) refused |= kGrid;
  if (t.predicated) return refused;

  if (!has_major(p.a, t.major_a, p.m, p.k)) refused |= kMajorA;
  if (!has_major(p.b, t.major_b, p.n, p.k)) refused |= kMajorB;
  if (!is_unit(p.c, 0, p.m)) refused |= kMajorC;
  if (p.m % t.tile[0] != 0 || p.n % t.tile[1] != 0 || p.k % t.tile[2] != 0) refused |= kDivisibility;
  bool const reads = p.k > 0;
  if (reads && !(refused & kMajorA) && !is_aligned(p.a, t.major_a, t.alignment_bytes)) refused |= kAlignmentA;
  if (reads && !(refused & kMajorB) && !is_aligned(p.b, t.major_b, t.alignment_bytes)) refused |= kAlignmentB;
  if (!(refused & kMajorC) && !is_aligned(p.c, Major::mn, t.alignment_bytes)) refused |= kAlignmentC;
  return refused;
}

std::string describe(unsigned refused, Traits const& t, Problem const& p, DeviceInfo const& device) {
  std::string text;
  auto const number = [](auto value) { return std::to_string(value); };
  if (refused & kInstructionSet) append(text, "the CPU lacks its instruction set");
  if (refused & kComputeCapability) {
    append(text, "needs compute capability " + number(t.compute_capability / 10) + "." +
                     number(t.compute_capability % 10) + ", " + device.name + " has " +
                     number(device.compute_capability / 10) + "." + number(device.compute_capability % 10));
  }
  if (refused & kSharedMemory) append(text, "needs " + number(t.shared_bytes) + " bytes of shared memory per CTA");
  if (refused & kExtent) append(text, "an extent is over " + number(kMaxExtent));
  if (refused & kGrid) append(text, "N=" + number(p.n) + " is over " + number(kMaxGridN * t.tile[1]));
  if (refused & kMajorA) append(text, std::string("A is not ") + letter(t.major_a, "m") + "-major");
  if (refused & kMajorB) append(text, std::string("B is not ") + letter(t.major_b, "n") + "-major");
  if (refused & kMajorC) append(text, "C is not m-major");
  if (refused & kDivisibility) {
    append(text, "(M,N,K)=(" + number(p.m) + "," + number(p.n) + "," + number(p.k) + ") is no multiple of the tile (" +
                     number(t.tile[0]) + "," + number(t.tile[1]) + "," + number(t.tile[2]) + ")");
  }
  for (auto const& [bit, name] :
       {std::pair{kAlignmentA, "A"}, std::pair{kAlignmentB, "B"}, std::pair{kAlignmentC, "C"}}) {
    if (refused & bit) {
      append(text, std::string(name) + "'s pointer or leading dimension is not a multiple of " +
                       number(t.alignment_bytes) + " bytes");
    }
  }
  return text;
}

Problem transposed(Problem const& p) {
  Problem t = p;
  std::swap(t.m, t.n);
  std::swap(t.a, t.b);
  std::swap(t.c.stride[0], t.c.stride[1]);
  return t;
}

bool matches(Traits const& traits, std::string_view name) {
  return name == "auto" || name == traits.kernel || name == traits.name;
}

Choice select(Problem const& problem, Target target, DeviceInfo const& device, std::string_view name,
              Registry const& registry) {
  Problem given = problem;
  if (problem.alpha == 0 || problem.k == 0) {
    given.alpha = 0;
    given.k = 0;
  }

  // Kernels write C along m. If C's unit stride is the other one, compute C^T; also if C itself has too many columns.
  bool const n_major = problem.c.stride[0] != 1 && problem.c.stride[1] == 1;
  Choice choice{n_major ? transposed(given) : given, n_major, nullptr};
  choice.entry = best_entry(choice.problem, target, device, name, registry);
  if (choice.entry == nullptr) {
    Problem const other = transposed(choice.problem);
    if (Entry const* const entry = best_entry(other, target, device, name, registry)) choice = {other, !n_major, entry};
  }
  return choice;
}

std::vector<Candidate> candidates(Problem const& problem, Target target, DeviceInfo const& device,
                                  std::string_view name, Registry const& registry) {
  std::vector<Candidate> found;
  for (Entry const* entry : registry) {
    Traits const& traits = entry->traits;
    if (traits.target != target || !matches(traits, name)) continue;
    found.push_back({entry, refusals(traits, problem, device)});
  }
  return found;
}

}  // namespace cute_py::dispatch
