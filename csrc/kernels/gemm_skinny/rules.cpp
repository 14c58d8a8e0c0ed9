#include "kernels/common/model.hpp"
#include "kernels/common/operand_modes.hpp"

// Cost model of gemm_skinny. A is read once: at the bandwidth of DRAM, if there are enough CTAs; else at the speed of a
// CTA along its K, which is much lower where A does not lie in vectors.
namespace cute_py::kernels {
namespace {

// Microseconds of a tile of K, on an H200, November 2026: where A lies in vectors, what each column adds to that, and
// where it does not; and of a column's results, once.
struct Steps {
  double in_vectors;
  double of_column;
  double by_elements;
  double results;
};

Steps steps_of(Traits const& t) {
  bool const k_major = t.operands.major_a == Major::k;
  if (contains(t.types.factors, DType::f16) || contains(t.types.factors, DType::bf16)) {
    return k_major ? Steps{12, 0.1, 58, 0.53} : Steps{5, 0.2, 112, 0.32};
  }
  if (t.types.compute == Compute::f32) return k_major ? Steps{2.5, 0.2, 9, 0.34} : Steps{3, 0.35, 62, 0.445};
  return k_major ? Steps{1.6, 0.22, 4.5, 0.25} : Steps{1.5, 0.15, 16, 0.44};
}

// What a CTA takes beside its K and its results, and of its time, what one more on the same multiprocessor adds.
constexpr double kUsOfCta = 2.5;
constexpr double kOneMore = 0.55;

// Factor for elements of A that are read across its unit stride.
constexpr double kUncoalesced = 2;

Estimate estimate(Geometry const& g, Extents const& x, Entry const& v, DeviceInfo const& device) {
  Traits const& t = v.traits;
  Steps const steps = steps_of(t);
  bool const in_vectors = lies_in_vectors({g, Role::a}, t.operands.major_a);
  auto const columns = static_cast<double>(std::min<std::int64_t>(x.n, t.tile[1]));
  double const k_tiles = std::max(static_cast<double>(x.k) / t.tile[2], 0.03);
  double const wasted = model::waste_of_factor(g, Role::a, t.operands.major_a, false);
  double const by_elements = steps.by_elements * (model::is_uncoalesced(wasted) ? kUncoalesced : 1);
  double const step = in_vectors ? steps.in_vectors + steps.of_column * columns : by_elements;
  double const of_cta = kUsOfCta + columns * steps.results + k_tiles * step;
  double const waves = static_cast<double>(model::ctas(x, t)) / device.multiprocessors;
  double const ctas = of_cta * (waves <= 1 ? 1 : 1 + (waves - 1) * kOneMore);
  double const memory = model::memory_bytes(g, true) / model::memory_speed(device);
  Estimate result = model::larger(ctas, memory, 0);
  result.us += model::kBeside * std::min(ctas, memory);
  result.us += device.profile.launch_us;
  return result;
}

}  // namespace

extern Rules const gemm_skinny_rules;
Rules const gemm_skinny_rules = model::kRules<&estimate>;

}  // namespace cute_py::kernels
