#include "cpu/model.hpp"

// Emulated precision: residues at so many numbers a microsecond and thread, or memory; the int8 GEMM at its rate.
namespace cute_py::cpu {
namespace {

// Residues that a thread finds, reduces and reconstructs from in a microsecond, by AVX-512 at 3 GHz (November 2026).
constexpr double kSplitPerUs = 1500;
constexpr double kReducedPerUs = 2500;
constexpr double kCombinedPerUs = 700;
// Of the rate of the int8 GEMM, beside packing and the sums in memory.
constexpr double kOfGemm = 0.7;

Estimate of_pass(Profile const& p, double numbers, double per_us, double bytes, DeviceInfo const& device) {
  double const threads = model::threads_for(numbers, kWorkPerThreadOfLoops, device);
  double const math = numbers * p.vector_slowdown / per_us / threads;
  double const memory = bytes / model::bandwidth(p, bytes);
  return {p.call_us + std::max(math, memory), math > memory ? Bound::math : Bound::memory};
}

Estimate estimate_split(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  double const elements = static_cast<double>(x.m) * static_cast<double>(x.k);
  double const bytes = elements * (2 * bytes_of(g.type[Role::a]) + g.planes.planes());
  return of_pass(model::profile_of(t, device), elements * g.planes.planes(), kSplitPerUs, bytes, device);
}

Estimate estimate_residues(Geometry const&, Extents const& x, Traits const& t, DeviceInfo const& device) {
  Profile const p = model::profile_of(t, device);
  double const work = model::work_of(x);
  double const elements = static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.l);
  double const products = work / (model::fma_per_us(p, Compute::i32) * kOfGemm);
  double const threads = model::threads_for(work, kWorkPerThread, device);
  double const us = (products + elements * p.vector_slowdown / kReducedPerUs) / threads;
  return {p.call_us + us, Bound::math};
}

Estimate estimate_combine(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  double const elements = static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.l);
  double const bytes = elements * (g.planes.planes() + (g.reads_c ? 2 : 1) * bytes_of(g.type[Role::d]));
  return of_pass(model::profile_of(t, device), elements * g.planes.planes(), kCombinedPerUs, bytes, device);
}

}  // namespace

extern Rules const split_rules;
extern Rules const residues_rules;
extern Rules const combine_rules;
Rules const split_rules = model::kRules<&estimate_split>;
Rules const residues_rules = model::kRules<&estimate_residues>;
Rules const combine_rules = model::kRules<&estimate_combine>;

}  // namespace cute_py::cpu
