#include "problem/packing.hpp"

#include <optional>
#include <vector>

#include "cpu/families.hpp"

// What a host's kernels want packed. The engine packs by itself what is used often.
namespace cute_py::cpu {
namespace {

// A product of less is not worth a copy of a result, or of a factor; nor a copy of more bytes.
constexpr double kShortUs = 13;
constexpr double kShortForFactorsUs = 20;
constexpr std::int64_t kMostBytes = std::int64_t{16} << 20;

// Does no group of modes have a long piece of the result? Then it is written number by number, whatever computes it.
bool is_in_short_pieces(Geometry const& geometry) {
  constexpr std::int64_t kShort = 16;
  Modes const* const group = fastest_in_result(geometry);
  if (group == nullptr) return false;
  if (group == &geometry.l) return true;
  std::int64_t piece = 1;
  Modes modes = *group;
  for (Mode const* mode : by_stride(modes, Role::d)) {
    if (mode->stride[Role::d] == piece) piece *= mode->extent;
  }
  return piece < kShort;
}

// Is a factor neither contiguous along k nor along its own modes, and used for few products? What is multiplied by many
// rows of the other factor the packed GEMM packs itself; a factor with few rows goes to kernels that pack nothing.
bool is_worth_packing(Geometry const& g, Role factor) {
  constexpr std::int64_t kMany = 64;
  constexpr std::int64_t kFew = 8;
  Modes const& own = own_modes(g, factor);
  if (own_modes(g, factor == Role::a ? Role::b : Role::a).size() > kMany && own.size() > kFew) return false;
  auto const is_contiguous = [&](Modes const& modes) { return modes.rank() > 0 && modes[0].stride[factor] == 1; };
  return g.k.rank() > 1 || own.rank() > 1 || !(is_contiguous(g.k) || is_contiguous(own));
}

// Any factors that are worth it.
std::vector<Packs> worth_packing(FoldedProduct const& product, double us, DeviceInfo const&) {
  if (us < kShortUs) return {};
  Geometry const& g = *product.folded(false);
  std::vector<Packs> found;
  Packs const result = is_in_short_pieces(product.asked()) ? kPackD : 0;
  if (result != 0) found.push_back(result);
  if (us < kShortForFactorsUs || is_contiguous_reduction(product.asked())) return found;
  Packs const factors = (is_worth_packing(g, Role::a) ? kPackA : 0) | (is_worth_packing(g, Role::b) ? kPackB : 0);
  for (Packs const packs : {kPackA, kPackB, kPackA | kPackB}) {
    if ((packs & factors) == packs) found.push_back(packs | result);
  }
  return found;
}

std::optional<Packed> pack(Folded const& product, Role factor) {
  constexpr std::int64_t kFew = 16;
  Modes const& own = own_modes(*product, factor);
  bool const k_major = own.size() < kFew || fastest_group(factor, own, product->k) == 1;
  Packed packed = packed_factor(product, factor, {k_major});
  packed.product.is_sum = false;  // whether factors are packed must not decide in which order sums are added
  return packed;
}

// A host has sums of all bits, and no others.
void adapt(Geometry& geometry) {
  if (geometry.compute == Compute::fast_f32) geometry.compute = Compute::f32;
}

std::int64_t most_packed_bytes(DeviceInfo const&) { return kMostBytes; }

bool reads_packed(Traits const&) { return true; }

bool reads_gaps(Traits const&) { return true; }

}  // namespace

Platform const& platform() {
  constexpr double kCopiesTake = 1.2;  // by threads, which have other memory to wait for
  static constexpr Platform host{&adapt,        &worth_packing, &pack,       &most_packed_bytes,
                                 &reads_packed, &reads_gaps,    kCopiesTake, true};
  return host;
}

}  // namespace cute_py::cpu
