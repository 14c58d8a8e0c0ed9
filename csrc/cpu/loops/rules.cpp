#include <algorithm>
#include <cmath>

#include "cpu/gemm/register_tile.hpp"
#include "cpu/loops/plan.hpp"
#include "cpu/model.hpp"

// Loops, by the operation that the plan has: its steps in microseconds, or reading the factors if that takes longer,
// and writing the result.
namespace cute_py::cpu {
namespace {

struct Work {
  Geometry const& g;
  Extents const& x;
  Traits const& t;
  Profile const& p;
  LoopPlan const& plan;
  double results;
  double k;
  double slow;  // relative to multiply-adds of float32 that need no conversion
};

double us_of_elementwise(Work const& work) {
  auto const& [g, x, t, p, plan, results, k, slow] = work;
  if (results == 0) return 0;
  Mode const& i = plan.free[0];
  Mode const j = plan.free.rank() > 1 ? plan.free[1] : Mode{};
  double element = 0;
  for (Role const role : {Role::a, Role::b}) {
    bool const is_unit = i.stride[role] == 0 || i.stride[role] == 1;
    element += is_unit ? 0 : j.stride[role] == 1 ? p.transposed_element_us : p.gathered_element_us;
  }
  constexpr double kLanes = 16;
  bool const is_one_line = numbers_of_short_lines(i, j, plan.k) != Role::c;
  auto const extent = static_cast<double>(i.extent * (is_one_line ? j.extent : 1));
  double const vector = (x.k > 1 ? p.vector_of_sums_us : p.vector_of_products_us) * std::ceil(extent / kLanes) / extent;
  double const rectangle = p.rectangle_us / std::min(static_cast<double>(i.extent * j.extent), 8192.0);
  return results * (k * (element + vector) + rectangle);
}

double us_of_dot(Work const& work) {
  auto const& [g, x, t, p, plan, results, k, slow] = work;
  double const bytes = k * bytes_of(g.type[Role::a]) * (g.k[0].stride[Role::a] == g.k[0].stride[Role::b] ? 2 : 1);
  return results * (bytes * slow / p.l1_bytes_per_us + p.block_us * std::ceil(k / static_cast<double>(kBlockOfK)));
}

// Steps of k at one stride.
double run_of_steps(Geometry const& g) {
  return static_cast<double>(g.k.rank() == 0 ? 1 : std::max<std::int64_t>(g.k[0].extent, 1));
}

double us_of_lines(Work const& work) {
  auto const& [g, x, t, p, plan, results, k, slow] = work;
  auto const line = static_cast<double>(std::clamp<std::int64_t>(plan.free[0].extent, 1, 1024));
  double gathered = 0;
  bool is_shared = false;
  for (Role const role : {Role::a, Role::b}) {
    auto const stride = plan.free[0].stride[role];
    gathered += stride == 0 || stride == 1 ? 0 : p.gather_step_us;
    is_shared = is_shared || stride == 0;
  }
  return results * k * (slow / (is_shared ? p.axpy_fma_per_us : p.gemv_fma_per_us) + gathered) +
         results / line * p.line_us * std::ceil(k / std::min(run_of_steps(g), 16.0));
}

double us_of_rows(Work const& work) {
  auto const& [g, x, t, p, plan, results, k, slow] = work;
  // Where there are fewer rows than lanes, lanes take blocks of K: those of one element after those of another.
  double const lanes = register_tile(t.needs.isa).lanes(sizeof(float));
  auto const blocks = static_cast<double>(ceil_div(x.k, kBlockOfK));
  bool const in_blocks = g.k.rank() <= 1 && blocks > 1 && results < kMostLanes;
  double const chains = in_blocks ? results * std::ceil((blocks - 1) / lanes) + std::ceil(results / lanes)
                                  : std::ceil(results / lanes) * blocks;
  double const steps = std::min(k, static_cast<double>(kBlockOfK));
  // A factor whose steps of k are not contiguous is gathered element by element.
  double step = 0;
  for (Role const role : {Role::a, Role::b}) {
    auto const along_k = g.k.rank() == 0 ? 0 : g.k[0].stride[role];
    bool const is_shared = in_blocks ? along_k == 0
                                     : std::all_of(plan.free.begin(), plan.free.end(),
                                                   [&](Mode const& mode) { return mode.stride[role] == 0; });
    // Both parts of complex numbers, two to a step, are moved as doubles.
    bool const in_pairs = along_k == 2 && g.type[role] == DType::f32 && plan.free.rank() > 0 &&
                          plan.free[0].extent == 2 && plan.free[0].stride[role] == 1;
    step += is_shared ? 0 : along_k == 1 || in_pairs ? p.row_step_us : lanes * p.gather_step_us;
  }
  return chains * (steps * std::max(step, p.row_step_us) * slow + p.rows_us * std::ceil(steps / run_of_steps(g)));
}

double us_of(Work const& work) {
  switch (work.plan.operation) {
    case Operation::elementwise:
      return us_of_elementwise(work);
    case Operation::dot:
      return us_of_dot(work);
    case Operation::gemv_lines:
      return us_of_lines(work);
    case Operation::gemv_rows:
      return us_of_rows(work);
  }
  return 0;
}

// To read the factors once.
double us_to_read(Profile const& p, Geometry const& g, Extents const& x) {
  double const a = static_cast<double>(x.m) * static_cast<double>(x.k) * bytes_of(g.type[Role::a]);
  double const b = static_cast<double>(x.n) * static_cast<double>(x.k) * bytes_of(g.type[Role::b]);
  double const bytes = (a + b) * static_cast<double>(x.l);
  return bytes <= p.l2_bytes ? 0 : bytes / model::bandwidth(p, bytes);
}

Estimate estimate(Geometry const& g, Extents const& x, Traits const& t, DeviceInfo const& device) {
  Profile const p = model::profile_of(t, device);
  LoopPlan const plan = make_plan(g);
  auto const results = static_cast<double>(plan.elements);
  bool const own_types = g.type[Role::a] == type_of_sums(g.compute) && g.type[Role::b] == g.type[Role::a];
  double const slow = (own_types ? 1 : 4) * p.fma_per_us / model::fma_per_us(p, g.compute);
  double us = us_of({g, x, t, p, plan, results, static_cast<double>(std::max<std::int64_t>(x.k, 1)), slow});
  double const bytes_d = results * bytes_of(g.type[Role::d]);
  bool const is_dense = plan.operation == Operation::elementwise || plan.free[0].stride[Role::d] == 1;
  us += is_dense ? model::us_to_write(p, bytes_d) : model::us_to_scatter(p, results, bytes_d);
  double const read = us_to_read(p, g, x) * (g.n.size() > 1 && g.m.size() > 1 && x.k > 1 ? std::min(x.m, x.n) : 1);
  double const threads = model::threads_for(model::work_of(x), kWorkPerThreadOfLoops, device);
  return {(p.call_us + p.loops_call_us + std::max(us, read) / threads) * p.memory_slowdown, Bound::memory};
}

}  // namespace

extern Rules const loop_rules;
Rules const loop_rules = model::kRules<&estimate>;

}  // namespace cute_py::cpu
