#include "problem/packing.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/common/platform.hpp"
#include "problem/access.hpp"
#include "problem/tensor_box.hpp"

// What is packed for GPU kernels: factors, to lie in vectors of 16 bytes, or as TMA can follow them; and results that
// kernels would scatter.
namespace cute_py::kernels {
namespace {

// A product that takes fewer launches' time is not worth another launch.
constexpr double kShort = 13 / 2.4;

// What is packed takes at most this part of a GPU's memory: the arrays are there, too, and a product that fits must not
// fail.
constexpr std::int64_t kPartOfMemory = 8;

// The fastest kernels of what is not of 16 bits are for k-major factors.
bool needs_k_major(Geometry const& g) {
  return g.compute == Compute::i32 || g.compute == Compute::tf32 || is_float8(g.type[Role::a]);
}

// Products of float8 have no kernels but those whose operands TMA loads: an operand that it cannot follow is packed,
// written out where it is repeated.
bool needs_boxes(Geometry const& g, Role factor) { return is_float8(g.type[factor]); }

// Kernels without tensor cores transpose a k-major factor on its way to shared memory, element by element.
bool reads_k_by_elements(Geometry const& g, Role factor) {
  return is_complex(g.compute) || (g.compute == Compute::f32 && g.type[factor] == DType::f32);
}

// Does a factor lie so that no kernel reads it in vectors?
bool is_worth_packing(Geometry const& g, Role factor) {
  if (needs_boxes(g, factor)) return !lies_in_boxes(g, factor, g.k, own_modes(g, factor));
  bool const along_k = lies_in_vectors(g, factor, g.k);
  return !along_k && (needs_k_major(g) || !lies_in_vectors(g, factor, own_modes(g, factor)));
}

// Are rows or columns in short runs in the result, of which a tile in boxes has one each?
bool has_short_rows(Geometry const& geometry) {
  constexpr std::int64_t kShort = 32;
  for (Modes modes : {geometry.m, geometry.n}) {
    std::int64_t run = 1;
    std::int64_t next = 0;
    for (Mode const* mode : by_stride(modes, Role::d)) {
      if (mode->extent == 1) continue;
      if (next != 0 && mode->stride[Role::d] != next) break;
      run *= mode->extent;
      next = mode->stride[Role::d] * mode->extent;
    }
    if (run < kShort && run < modes.size()) return true;
  }
  return false;
}

// The factor along whose own modes the result is contiguous, if that is in another order than the factor's: kernels
// read the one uncoalesced or write the other so.
Packs transposed_in_result(FoldedProduct const& product) {
  Geometry const& asked = product.asked();
  Geometry const& g = *product.folded(false);
  Modes const* const fastest = fastest_in_result(asked);
  for (Role const factor : {Role::a, Role::b}) {
    if (fastest != (factor == Role::a ? &asked.m : &asked.n)) continue;
    Modes const& own = own_modes(g, factor);
    bool const is_coalesced = own.rank() > 0 && own[0].stride[Role::d] == 1 && own[0].stride[factor] == 1;
    if (!is_coalesced && own.rank() > 1) return factor == Role::a ? kPackA : kPackB;
  }
  return 0;
}

// All factors that no kernel reads in vectors, or none; a result whose unit stride is that of a mode in L, which CTAs
// would scatter; a factor, or the result, whose modes are in another order than the other's.
std::vector<Packs> worth_packing(FoldedProduct const& product, double us, DeviceInfo const& device) {
  if (us < kShort * device.profile.launch_us) return {};
  Geometry const& asked = product.asked();
  Geometry const& g = *product.folded(false);
  std::vector<Packs> found;
  Packs const result = fastest_in_result(asked) == &asked.l ? kPackD : 0;
  Packs const factors = (is_worth_packing(g, Role::a) ? kPackA : 0) | (is_worth_packing(g, Role::b) ? kPackB : 0);
  if (factors != 0) found.push_back(factors | result);
  // A packed factor's modes of K follow one another as those of the other do, and may be one then; of tfloat32 there
  // are fast kernels for one factor that is not k-major.
  if (g.k.rank() > 1 || (g.compute == Compute::tf32 && factors == (kPackA | kPackB))) {
    for (Packs const packs : {kPackA, kPackB, kPackA | kPackB}) {
      if (packs != factors) found.push_back(packs | result);
    }
  }
  if (result != 0) found.push_back(result);
  if (result == 0 && has_short_rows(asked)) found.push_back(factors | kPackD);
  if (Packs const turned = transposed_in_result(product); turned != 0) {
    for (Packs const packs : {turned, kPackD}) {
      for (Packs const also : {Packs{0}, factors}) {
        if (std::find(found.begin(), found.end(), packs | also) == found.end()) found.push_back(packs | also);
      }
    }
  }
  return found;
}

// A factor in lines of vectors of 16 bytes; nothing if it cannot be laid out so that M, or N, or K is one mode.
std::optional<Packed> pack(Folded const& product, Role factor) {
  constexpr int kVectorBytes = 16;
  constexpr int kLineOfL2 = 128;       // that long lines begin with: a box's lines would take two of them each
  constexpr std::int64_t kLong = 512;  // bytes, which become a fifth more at most
  Geometry const& g = *product;
  bool const is_k_major = !reads_k_by_elements(g, factor) && fastest_group(factor, own_modes(g, factor), g.k) == 1;
  // As it lies, if that can be and is of use. Padding between lines along K would be multiplied, too.
  for (bool const k_major : {is_k_major, !is_k_major}) {
    if (needs_k_major(g) && !k_major) continue;
    bool const has_vectors = kVectorBytes > bytes_of(g.type[factor]);
    Packed result = packed_factor(product, factor,
                                  {k_major, kVectorBytes, has_vectors ? kLong : 0, kLineOfL2, needs_boxes(g, factor)});
    if (result.has_gaps && !needs_k_major(g)) continue;
    Folded const packed(result.product);
    Geometry const& p = *packed;
    Modes const& own = own_modes(p, factor);
    if (!needs_boxes(g, factor) && lies_in_vectors(p, factor, k_major ? p.k : own)) return result;
    // Of 16 bits, TMA takes both majors, and lines that end within a vector.
    bool const in_boxes = needs_boxes(g, factor) || scalar_bytes_of(g.type[factor]) == 2;
    if (in_boxes && (k_major ? lies_in_boxes(p, factor, p.k, own) : lies_in_boxes(p, factor, own, p.k))) return result;
  }
  return std::nullopt;
}

void adapt(Geometry&) {}

std::int64_t most_packed_bytes(DeviceInfo const& device) { return device.memory_bytes / kPartOfMemory; }

bool reads_packed(Traits const& t) { return t.operands.vector_bytes_a != 0; }

// TMA does not read beyond the end of a line.
bool reads_gaps(Traits const& t) { return !t.operands.is_in_boxes(); }

}  // namespace

Platform const& platform() {
  static constexpr Platform gpu{&adapt, &worth_packing, &pack, &most_packed_bytes, &reads_packed, &reads_gaps};
  return gpu;
}

}  // namespace cute_py::kernels
