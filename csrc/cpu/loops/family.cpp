// D(f) = epilogue(alpha * sum_k A(f,k) * B(f,k) + beta * C(f)) on the host, f counting all of M, N and L
//
// GEMV, dot products, elementwise: low arithmetic intensity, no factor is used often enough to be packed. Estimates
// decide between this family and the GEMM ones. Within it a plan of the strides (plan.hpp) says which operation
// computes a product, and none of them takes what another one's plan is for:
//
//   elementwise   rectangles of two modes (rectangles.hpp): products without a reduction, and short sums
//   dot           dot products and reductions, in partial sums of their own (dot_products.hpp)
//   gemv_lines    a line of f is contiguous, and its sums are made at a time (gemv_lines.hpp)
//   gemv_rows     rows along k are, and lanes take rows or, of less than a vector of them, blocks of K (gemv_rows.hpp)
//
// Requires:  any extents, any modes, any strides, every type that fits the compute type
// Numerics:  those of the packed GEMM, bit by bit, but for dot products
// Workspace: up to 1 MB per thread, and sums of blocks of K, up to 8 MB
// Threads:   each its lines, rows or rectangles, or else blocks of K; one per 256K multiply-adds at most
#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/caches.hpp"
#include "base/parallel.hpp"
#include "cpu/dot/block_sums.hpp"
#include "cpu/family.hpp"
#include "cpu/loops/dot_products.hpp"
#include "cpu/loops/gemv_lines.hpp"
#include "cpu/loops/gemv_rows.hpp"
#include "cpu/loops/rectangles.hpp"
#include "cpu/profile.hpp"

namespace cute_py::cpu {

extern Rules const loop_rules;

namespace {

constexpr std::int64_t kLine = 1024;   // sums that stay in L1
constexpr int kRowsAtOnceOfDram = 16;  // of long rows
constexpr std::int64_t kSumsOfBlocks = 1 << 20;

// The kernels of an instruction set, and of what they are helped by.
template <class Scalar>
struct LoopKernels {
  Kernels<Scalar> const& own;
  GemvKernel<Scalar> const& narrow;      // with half the lanes, where there is such
  TransposeKernel<double> const& pairs;  // moves pairs of floats
};

// All but rectangles: lines or rows are shared among threads, blocks of K added, and the results finished.
template <Compute compute>
class Loops {
  using Scalar = typename Arithmetic<compute>::Scalar;
  using Accumulator = typename Arithmetic<compute>::Accumulator;
  using Scratch = LoopScratch<compute>;
  static constexpr int kParts = cpu::kParts<compute>;
  static_assert(Scratch::kMostOfLine >= kLine);

 public:
  Loops(LoopKernels<Scalar> const& kernels, Geometry const& g, LoopPlan const& plan, Arguments const& x,
        Execution const& execution)
      : plan_(plan),
        // What L3 does not hold comes from DRAM, which delivers the more the fewer streams read it.
        far_(plan.elements * std::max<std::int64_t>(plan.k, 1) * std::int64_t{sizeof(Scalar)} >
             usable(host_caches()).l3),
        execution_(execution),
        factors_{
            kernels.own, g, plan, {x.data[Role::a], g, Role::a, plan.free}, {x.data[Role::b], g, Role::b, plan.free}},
        lines_(factors_),
        rows_(factors_, kernels.narrow, kernels.pairs, far_),
        finish_(g, x, kernels.own) {}

  void run() const {
    auto const extent = plan_.in_lines() ? plan_.free[0].extent : plan_.elements;
    auto const lines = plan_.elements / extent;
    auto const threads = threads_of(execution_.host_threads);
    auto const most = most_of_part();
    // Parts of a line, shorter if threads would have nothing to do otherwise.
    constexpr std::int64_t kVector = 64;
    auto const wanted = lines >= threads ? most : round_up(ceil_div(extent, ceil_div(2 * threads, lines)), kVector);
    auto const part = std::max<std::int64_t>(std::min({most, wanted, extent}), 1);
    auto const parts = ceil_div(extent, part);
    auto const place = [&](std::int64_t index) {
      auto const first = index % parts * part;
      return Place{index / parts * extent + first, std::min(part, extent - first)};
    };
    if (threads > 1 && parts * lines < 2 * threads && plan_.blocks >= 2 * kRowsAtOnce * threads) {
      for (std::int64_t i = 0; i < parts * lines; ++i) sum_by_blocks(place(i), threads);
      return;
    }
    auto const work = part * std::max<std::int64_t>(plan_.k, 1);
    auto const chunk = std::max<std::int64_t>(
        1, std::min(parts * lines / (8 * threads), static_cast<std::int64_t>(kWorkPerThreadOfLoops) / work));
    parallel_for(static_cast<int>(threads), ceil_div(parts * lines, chunk), [&](std::int64_t i) {
      execution_.check_interrupt();
      Scratch scratch(plan_);
      for (auto p = i * chunk; p < std::min((i + 1) * chunk, parts * lines); ++p) sum(place(p), scratch);
    });
  }

  // At most, of the workspaces of all threads.
  std::int64_t scratch_bytes(int host_threads) const {
    return threads_of(host_threads) * static_cast<std::int64_t>(Scratch::bytes_of(plan_));
  }

 private:
  // Elements of free, one after the other: `count` from `first` on.
  struct Place {
    std::int64_t first;
    std::int64_t count;
  };

  std::int64_t threads_of(int host_threads) const {
    double const work = static_cast<double>(plan_.elements) * static_cast<double>(std::max<std::int64_t>(plan_.k, 1));
    return static_cast<std::int64_t>(threads_for(work, kWorkPerThreadOfLoops, host_threads));
  }

  // Elements of a line, or rows, that are summed at a time.
  std::int64_t most_of_part() const {
    if (plan_.in_lines())
      return lines_.converts() ? kLineConverted : far_ && plan_.k > 1 ? Scratch::kMostOfLine : kLine;
    // Of dot products as many rows as there is room for the blocks of: a row is read from its beginning to its end. So
    // are fewer rows of several blocks that come from DRAM.
    if (plan_.operation == Operation::dot) return std::clamp<std::int64_t>(kLine / plan_.blocks, 1, kRows);
    return plan_.blocks <= 2 ? kRows : far_ ? kRowsAtOnceOfDram : kRowsAtOnce;
  }

  BlockSums<Scalar> block_sums(std::int64_t count, Scratch const& s) const {
    return {factors_.kernels.sums, count, s.group, s.sums, s.compensation};
  }

  // All of K for the elements of a place.
  void sum(Place const& place, Scratch& s) const {
    find_rows(place, s);
    auto const count = kParts * place.count;
    auto const all = block_sums(count, s);
    Scalar* acc = s.acc;
    if (plan_.blocks == 0) std::fill_n(acc, count, Scalar(0));
    // As many blocks at a time as there is room for; they can take the place of rows.
    auto const at_once = std::max<std::int64_t>(kLine / place.count, 1);
    for (std::int64_t first = 0; first < plan_.blocks; first += at_once) {
      auto const blocks = std::min(at_once, plan_.blocks - first);
      if (first > 0) execution_.check_interrupt();
      sum_blocks(place, first, blocks, s.acc, s);
      for (std::int64_t i = 0; i < blocks; ++i) {
        acc = s.acc + i * count;
        all.add(first + i, first + i + 1 == plan_.blocks, acc);
      }
    }
    finish(place, acc);
  }

  // The same by several threads, each with some blocks of K; or by one, with blocks in the place of rows.
  void sum_by_blocks(Place const& place, std::int64_t threads) const {
    auto const count = kParts * place.count;
    Scratch scratch(plan_);
    auto const all = block_sums(count, scratch);
    auto const at_once = std::min(plan_.blocks, std::max<std::int64_t>(kSumsOfBlocks / count, 1));
    AlignedBuffer<Scalar> sums(at_once * count);
    Scalar* acc = sums.data;
    for (std::int64_t first = 0; first < plan_.blocks; first += at_once) {
      auto const blocks = std::min(at_once, plan_.blocks - first);
      auto const chunk = round_up(ceil_div(blocks, 8 * threads), kRowsAtOnce);
      parallel_for(static_cast<int>(threads), ceil_div(blocks, chunk), [&](std::int64_t i) {
        execution_.check_interrupt();
        Scratch s(plan_);
        find_rows(place, s);
        sum_blocks(place, first + i * chunk, std::min(chunk, blocks - i * chunk), sums.data + i * chunk * count, s);
      });
      for (std::int64_t i = 0; i < blocks; ++i) {
        acc = sums.data + i * count;
        all.add(first + i, first + i + 1 == plan_.blocks, acc);
      }
    }
    finish(place, acc);
  }

  void find_rows(Place const& place, Scratch& s) const {
    if (plan_.in_lines() || plan_.k == 0) return;
    fill_offsets(plan_.free, Role::a, place.first, place.count, s.rows_a);
    fill_offsets(plan_.free, Role::b, place.first, place.count, s.rows_b);
  }

  // acc(element,block): the sums of some blocks of K.
  void sum_blocks(Place const& place, std::int64_t first, std::int64_t blocks, Scalar* acc, Scratch& s) const {
    if (plan_.in_lines()) {
      for (std::int64_t i = 0; i < blocks; ++i) {
        lines_.sum(place.first, place.count, (first + i) * kBlockOfK, plan_.steps_of(first + i),
                   acc + i * kParts * place.count, s);
      }
      return;
    }
    if constexpr (std::is_same_v<Scalar, Accumulator>) {
      if (plan_.operation == Operation::dot) return sum_dot_products(factors_, place.count, first, blocks, acc, s);
    }
    rows_.sum_blocks(place.count, first, blocks, acc, s);
  }

  // Runs of elements that lie equally far apart in all arrays.
  void finish(Place const& place, Scalar const* acc) const {
    Mode const& line = plan_.free[0];
    for (std::int64_t i = 0; i < place.count;) {
      auto const index = place.first + i;
      auto const count = std::min(place.count - i, line.extent - index % line.extent);
      PerRole<Line> lines;
      for (int r = 0; r < kRoles; ++r) {
        auto const role = static_cast<Role>(r);
        if (factors_.g.has(role)) lines[role] = {offset_of(plan_.free, role, index), line.stride[role]};
      }
      finish_(reinterpret_cast<Accumulator const*>(acc + kParts * i), count, lines);
      i += count;
    }
  }

  LoopPlan const& plan_;
  bool const far_;
  Execution const& execution_;
  Factors<compute> const factors_;
  GemvLines<compute> const lines_;
  GemvRows<compute> const rows_;
  Finish<compute> const finish_;
};

template <Compute compute>
class LoopLaunch final : public Launch {
  using Scalar = typename Arithmetic<compute>::Scalar;

 public:
  LoopLaunch(LoopKernels<Scalar> const& kernels, Geometry const& geometry)
      : kernels_(kernels), geometry_(geometry), plan_(make_plan(geometry)) {}

  int run(Arguments const& arguments, Execution const& execution) const override {
    if (geometry_.is_empty()) return 0;
    if constexpr (compute == Compute::f32 || compute == Compute::f64) {
      if (plan_.operation == Operation::elementwise) {
        Rectangles<compute>(kernels_.own.elementwise, geometry_, plan_, arguments).run(execution);
        return 0;
      }
    }
    Loops<compute>(kernels_, geometry_, plan_, arguments, execution).run();
    return 0;
  }

  std::int64_t scratch_bytes(int host_threads) const override {
    if (geometry_.is_empty() || plan_.operation == Operation::elementwise) return 0;
    return Loops<compute>(kernels_, geometry_, plan_, {}, {}).scratch_bytes(host_threads);
  }

 private:
  LoopKernels<Scalar> const kernels_;
  Geometry const geometry_;
  LoopPlan const plan_;
};

struct LoopFamily {
  static constexpr char const* kernel = "cpu_loops";
  static constexpr Rules const* rules = &loop_rules;
  using List = Variants<Isas, Compute::f32, Compute::f64, Compute::c64, Compute::c128, Compute::i32>;

  template <class V>
  static void limit(Traits&) {}

  template <class V>
  static std::unique_ptr<Launch> prepare(Geometry const& geometry) {
    using Scalar = typename Arithmetic<V::compute>::Scalar;
    LoopKernels<Scalar> const kernels{kernels_of<Scalar, V::isa>(),
                                      kernels_of<Scalar, std::min(V::isa, Isa::avx2)>().gemv,
                                      kernels_of<double, V::isa>().transpose};
    return std::make_unique<LoopLaunch<V::compute>>(kernels, geometry);
  }
};

}  // namespace

void add_loops(std::vector<Entry>& entries) { add_variants<LoopFamily>(entries); }

}  // namespace cute_py::cpu
