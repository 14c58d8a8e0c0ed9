// D(f) = epilogue(alpha * sum_k A(f,k) * B(f,k) + beta * C(f)) on the host, f counting all of M, N and L
//
// Low arithmetic intensity: elementwise products, dot products, GEMV, in which no factor is used often enough to be
// packed. Either a line of f is consecutive in memory, and its sums are made at a time (gemv.lines); or rows along k
// are, and lanes take rows (gemv.rows). If there are few f, blocks of K take the place of rows. Dot products and
// reductions have partial sums of their own (dot.blocks), and rectangles are elementwise/rectangles.hpp's.
//
// Requires:  any extents, any modes, any strides, every type that fits the compute type
// Numerics:  those of the engine, bit by bit
// Memory:    up to 1 MB per thread, and sums of blocks of K, up to 8 MB
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "base/workspace.hpp"
#include "cpu/arithmetic.hpp"
#include "cpu/dot/block_sums.hpp"
#include "cpu/elementwise/rectangles.hpp"
#include "cpu/finish.hpp"
#include "cpu/launch.hpp"
#include "cpu/loop_plan.hpp"
#include "problem/entry.hpp"

namespace cute_py::cpu {

extern Rules const loop_rules;

namespace {

constexpr std::int64_t kLine = 1024;          // sums that stay in L1
constexpr std::int64_t kLineConverted = 256;  // whose factors have to be brought to the type that is computed in
constexpr std::int64_t kStepsAtOnce = 16;     // columns that are read side by side
constexpr std::int64_t kStepsOfRows = 64;     // that are transposed at a time
constexpr std::int64_t kRows = 512;           // whose places are found at a time
constexpr int kRowsAtOnce = 4 * kMostLanes;   // vectors side by side
constexpr int kRowsFar = 16;                  // the same of long rows out of memory
constexpr std::int64_t kFewSteps = 32;        // of rows so short that what surrounds them counts
constexpr std::int64_t kSumsOfBlocks = 1 << 20;

// What is larger comes from DRAM, which delivers the more the fewer streams read it.
constexpr std::int64_t kBytesFar = 16 << 20;
constexpr std::int64_t kBytesOfLineFar = 16 << 10;  // of each column, before the next columns

// 4 KB aliasing out of DRAM: rows that are multiples of so many bytes apart share a set of L1. Vectors of more rows
// than its associativity would evict each other's lines before these are used up: narrower vectors are taken. Measured
// (docs/perf-notes.md, "eight at a time, by AVX2"): 4096x4096 times a vector 4.0 to 3.5 ms.
constexpr std::int64_t kAliasingBytes = 4096;
constexpr int kWaysOfL1 = 8;

// Multiply-adds that a thread is worth starting for, and that take a moment which nobody notices.
constexpr std::int64_t kWorkPerThread = 1 << 18;

// Calls visit(offset in A, offset in B, steps) for the runs of k in [first, first + count) whose steps are equal.
template <class Visit>
void for_runs(Modes const& k, std::int64_t first, std::int64_t count, Visit const& visit) {
  if (k.rank() == 0) {
    visit(std::int64_t{0}, std::int64_t{0}, count);
    return;
  }
  while (count > 0) {
    auto const steps = std::min(count, k[0].extent - first % k[0].extent);
    visit(offset_of(k, Role::a, first), offset_of(k, Role::b, first), steps);
    first += steps;
    count -= steps;
  }
}

template <Compute compute>
class Loops {
  using Scalar = typename Arithmetic<compute>::Scalar;
  using Accumulator = typename Arithmetic<compute>::Accumulator;
  using Sum = SumOf<Scalar>;
  static constexpr bool kComplex = numeric::kIsComplex<Accumulator>;
  static constexpr int kParts = cpu::kParts<compute>;
  static constexpr std::int64_t kMostOfLine = kBytesOfLineFar / static_cast<std::int64_t>(sizeof(Scalar));
  static_assert(kMostOfLine >= kLine);

 public:
  Loops(Kernels<Scalar> const& kernels, GemvKernel<Scalar> const& narrow, TransposeKernel<double> const& pairs,
        Geometry const& g, LoopPlan const& plan, Arguments const& x, Execution const& execution)
      : kernels_(kernels),
        narrow_(narrow),
        pairs_(pairs),
        g_(g),
        plan_(plan),
        far_(plan.elements * std::max<std::int64_t>(plan.k, 1) * std::int64_t{sizeof(Scalar)} > kBytesFar),
        vectors_(far_ && plan.k > kFewSteps ? 2 : 4),
        line_(far_ && plan.k > 1 ? kMostOfLine : kLine),
        is_sum_(is_contiguous_reduction(g)),
        execution_(execution),
        a_{x.data[Role::a], g, Role::a, plan.free},
        b_{x.data[Role::b], g, Role::b, plan.free},
        finish_(g, x, kernels) {}

  void run() const {
    Mode const& line = plan_.free[0];
    bool const converts = plan_.in_lines && (!a_.is_ready_along(line) || !b_.is_ready_along(line));
    auto const extent = plan_.in_lines ? line.extent : plan_.elements;
    auto const lines = plan_.elements / extent;
    auto const threads = threads_of(execution_.host_threads);
    // Of dot products as many rows as there is room for the blocks of: a row is read from its beginning to its end. So
    // are a few rows of several blocks that come from DRAM.
    auto const rows = is_sum_            ? std::clamp<std::int64_t>(kLine / plan_.blocks, 1, kRows)
                      : plan_.blocks > 2 ? std::int64_t{far_ ? kRowsFar : kRowsAtOnce}
                                         : kRows;
    auto const most = plan_.in_lines ? converts ? kLineConverted : line_ : rows;
    // Parts of a line, shorter if threads would have nothing to do otherwise.
    constexpr std::int64_t kVector = 64;
    auto const wanted = lines >= threads ? most : round_up(ceil_div(extent, ceil_div(2 * threads, lines)), kVector);
    auto const part = std::max<std::int64_t>(std::min({most, wanted, extent}), 1);
    auto const parts = ceil_div(extent, part);
    if (threads > 1 && parts * lines < 2 * threads && plan_.blocks >= 2 * kRowsAtOnce * threads) {
      for (std::int64_t i = 0; i < parts * lines; ++i) sum_by_blocks(place(i, part, parts), threads);
      return;
    }
    auto const chunk = std::max<std::int64_t>(
        1, std::min(parts * lines / (8 * threads), kWorkPerThread / (part * std::max<std::int64_t>(plan_.k, 1))));
    parallel_for(static_cast<int>(threads), ceil_div(parts * lines, chunk), [&](std::int64_t i) {
      execution_.check_interrupt();
      Scratch scratch(*this);
      for (auto p = i * chunk; p < std::min((i + 1) * chunk, parts * lines); ++p) sum(place(p, part, parts), scratch);
    });
  }

  // At most, of the workspaces of all threads.
  std::int64_t scratch_bytes(int host_threads) const {
    return threads_of(host_threads) * static_cast<std::int64_t>(Scratch::bytes_of(*this));
  }

 private:
  std::int64_t threads_of(int host_threads) const {
    double const work = static_cast<double>(plan_.elements) * static_cast<double>(std::max<std::int64_t>(plan_.k, 1));
    return static_cast<std::int64_t>(
        std::clamp(work / static_cast<double>(kWorkPerThread), 1.0, static_cast<double>(std::max(host_threads, 1))));
  }

  // One of the factors.
  struct Factor {
    Factor(void const* data_, Geometry const& g, Role role_, Modes const& free)
        : data(data_),
          role(role_),
          type(g.type[role_]),
          is_own_type(g.multiplies && type == numeric::kDTypeOf<Accumulator>),
          conjugate(role_ == Role::a ? g.conj_a : g.conj_b) {
      for (Mode const& mode : free) varies = varies || mode.stride[role] != 0;
    }

    // Can a line along this mode be read where it lies?
    bool is_ready_along(Mode const& mode) const {
      return mode.stride[role] == 0 || (is_own_type && mode.stride[role] == 1);
    }

    Scalar const* at(std::int64_t offset) const { return static_cast<Scalar const*>(data) + kParts * offset; }

    void const* data;
    Role role;
    DType type;
    bool is_own_type;
    bool conjugate;
    bool varies = false;
  };

  // Elements of free, one after the other: `count` from `first` on.
  struct Place {
    std::int64_t first;
    std::int64_t count;
  };

  // What one thread computes in.
  struct Scratch {
    explicit Scratch(Loops const& of) : memory(bytes_of(of)) {
      a = memory.take<Scalar>(kOfFactor);
      b = memory.take<Scalar>(kOfFactor);
      acc = memory.take<Scalar>(kParts * kMostOfLine);
      rows_a = memory.take<std::int64_t>(kRows);
      rows_b = memory.take<std::int64_t>(kRows);
      if (of.plan_.blocks <= 1) return;
      group = memory.take<Scalar>(kParts * kMostOfLine);
      if (of.plan_.blocks <= kBlocksOfGroup) return;
      sums = memory.take<Sum>(kParts * kMostOfLine);
      compensation = memory.take<Sum>(kParts * kMostOfLine);
    }

    static std::size_t bytes_of(Loops const& of) {
      auto bytes = 2 * Workspace::bytes_of<Scalar>(kOfFactor) + Workspace::bytes_of<Scalar>(kParts * kMostOfLine) +
                   2 * Workspace::bytes_of<std::int64_t>(kRows);
      if (of.plan_.blocks > 1) bytes += Workspace::bytes_of<Scalar>(kParts * kMostOfLine);
      if (of.plan_.blocks > kBlocksOfGroup) bytes += 2 * Workspace::bytes_of<Sum>(kParts * kMostOfLine);
      return bytes;
    }

    static constexpr std::int64_t kOfFactor = kParts * kStepsAtOnce * kLineConverted;

    Workspace memory;
    Scalar* a = nullptr;  // factors that are converted, or rows that are transposed
    Scalar* b = nullptr;
    Scalar* acc = nullptr;
    Scalar* group = nullptr;  // see BlockSums
    Sum* sums = nullptr;
    Sum* compensation = nullptr;
    std::int64_t* rows_a = nullptr;
    std::int64_t* rows_b = nullptr;
  };
  static_assert(kStepsOfRows * kRowsAtOnce <= kStepsAtOnce * kLineConverted);

  Place place(std::int64_t index, std::int64_t part, std::int64_t parts) const {
    auto const extent = plan_.in_lines ? plan_.free[0].extent : plan_.elements;
    auto const first = index % parts * part;
    return {index / parts * extent + first, std::min(part, extent - first)};
  }

  // All of K for the elements of a place.
  void sum(Place const& place, Scratch& s) const {
    find_rows(place, s);
    auto const count = kParts * place.count;
    BlockSums<Scalar> const all{kernels_.sums, count, s.group, s.sums, s.compensation};
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
    Scratch scratch(*this);
    BlockSums<Scalar> const all{kernels_.sums, count, scratch.group, scratch.sums, scratch.compensation};
    auto const at_once = std::min(plan_.blocks, std::max<std::int64_t>(kSumsOfBlocks / count, 1));
    AlignedBuffer<Scalar> sums(at_once * count);
    Scalar* acc = sums.data;
    for (std::int64_t first = 0; first < plan_.blocks; first += at_once) {
      auto const blocks = std::min(at_once, plan_.blocks - first);
      auto const chunk = round_up(ceil_div(blocks, 8 * threads), kRowsAtOnce);
      parallel_for(static_cast<int>(threads), ceil_div(blocks, chunk), [&](std::int64_t i) {
        execution_.check_interrupt();
        Scratch s(*this);
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
    if (plan_.in_lines || plan_.k == 0) return;
    fill_offsets(plan_.free, Role::a, place.first, place.count, s.rows_a);
    fill_offsets(plan_.free, Role::b, place.first, place.count, s.rows_b);
  }

  // acc(element,block): the sums of some blocks of K.
  void sum_blocks(Place const& place, std::int64_t first, std::int64_t blocks, Scalar* acc, Scratch& s) const {
    auto const count = place.count;
    auto const steps_of = [&](std::int64_t block) { return std::min(kBlockOfK, plan_.k - block * kBlockOfK); };
    if (plan_.in_lines) {
      for (std::int64_t i = 0; i < blocks; ++i) {
        sum_line(place, (first + i) * kBlockOfK, steps_of(first + i), acc + i * kParts * count, s);
      }
      return;
    }
    if constexpr (std::is_same_v<Scalar, Accumulator>) {
      if (is_sum_) return sum_dot_products(count, first, blocks, acc, s);
    }
    if (blocks > 1 && count < kMostLanes && g_.k.rank() <= 1) {
      // Lanes are blocks, but for the last, which may be shorter.
      auto const whole = steps_of(first + blocks - 1) == kBlockOfK ? blocks : blocks - 1;
      std::int64_t offsets_a[kRowsAtOnce];
      std::int64_t offsets_b[kRowsAtOnce];
      for (std::int64_t f = 0; f < count; ++f) {
        for (std::int64_t i = 0; i < whole; i += kRowsAtOnce) {
          auto const lanes = std::min<std::int64_t>(kRowsAtOnce, whole - i);
          for (std::int64_t lane = 0; lane < lanes; ++lane) {
            auto const k = (first + i + lane) * kBlockOfK;
            offsets_a[lane] = s.rows_a[f] + offset_of(g_.k, Role::a, k);
            offsets_b[lane] = s.rows_b[f] + offset_of(g_.k, Role::b, k);
          }
          alignas(64) Scalar sums[kParts * kRowsAtOnce];
          sum_rows(offsets_a, offsets_b, lanes, 0, kBlockOfK, true, sums, s);
          for (std::int64_t lane = 0; lane < kParts * lanes; ++lane) {
            acc[((i + lane / kParts) * count + f) * kParts + lane % kParts] = sums[lane];
          }
        }
      }
      first += whole;
      acc += whole * kParts * count;
      blocks -= whole;
    }
    for (std::int64_t i = 0; i < blocks; ++i) {
      for (std::int64_t f = 0; f < count; f += kRowsAtOnce) {
        auto const lanes = std::min<std::int64_t>(kRowsAtOnce, count - f);
        alignas(64) Scalar sums[kParts * kRowsAtOnce];
        sum_rows(s.rows_a + f, s.rows_b + f, lanes, (first + i) * kBlockOfK, steps_of(first + i), false, sums, s);
        std::copy_n(sums, kParts * lanes, acc + kParts * (i * count + f));
      }
    }
  }

  // The same of dot products and reductions: all blocks of a row, and then the next row.
  void sum_dot_products(std::int64_t count, std::int64_t first, std::int64_t blocks, Scalar* acc, Scratch& s) const {
    bool const a_lies = g_.k[0].stride[Role::a] == 1;
    Factor const& x = a_lies ? a_ : b_;
    Factor const& y = a_lies ? b_ : a_;
    auto const* const rows_x = a_lies ? s.rows_a : s.rows_b;
    auto const* const rows_y = a_lies ? s.rows_b : s.rows_a;
    bool const are_two = g_.k[0].stride[y.role] == 1;
    auto const begin = first * kBlockOfK;
    auto const steps = std::min(blocks * kBlockOfK, plan_.k - begin);
    AlignedBuffer<Scalar> sums(count > 1 ? blocks : 0);
    for (std::int64_t f = 0; f < count; ++f) {
      Scalar* const to = count > 1 ? sums.data : acc;
      Scalar const* const other = y.at(rows_y[f]);
      kernels_.dot.blocks(steps, kBlockOfK, x.at(rows_x[f] + begin), are_two ? other + begin : nullptr, other, to);
      for (std::int64_t i = 0; count > 1 && i < blocks; ++i) acc[i * count + f] = to[i];
    }
  }

  void multiply(std::int64_t count, std::int64_t steps, LineFactor<Scalar> const& a, LineFactor<Scalar> const& b,
                Scalar* acc, bool is_first) const {
    if constexpr (kComplex) {
      kernels_.complex_gemv.lines(count, steps, a, a_.conjugate, b, b_.conjugate, acc, is_first);
    } else {
      kernels_.gemv.lines(count, steps, a, b, acc, is_first);
    }
  }

  // The sums of the elements of a part of a line over some steps of k.
  void sum_line(Place const& place, std::int64_t k, std::int64_t count_k, Scalar* acc, Scratch& s) const {
    Mode const& line = plan_.free[0];
    auto const start_a = offset_of(plan_.free, Role::a, place.first);
    auto const start_b = offset_of(plan_.free, Role::b, place.first);
    auto const step = [&](Role role) { return g_.k.rank() == 0 ? 0 : g_.k[0].stride[role]; };
    // Of one factor that goes along the line, and is read where it lies, the kernel takes all (axpy of columns).
    bool const is_one = (line.stride[Role::a] == 0) != (line.stride[Role::b] == 0) && a_.is_ready_along(line) &&
                        b_.is_ready_along(line) && a_.is_own_type && b_.is_own_type;
    bool is_first = true;
    for_runs(g_.k, k, count_k, [&](std::int64_t at_a, std::int64_t at_b, std::int64_t run) {
      auto const at_once = is_one ? run : kStepsAtOnce;
      for (std::int64_t p = 0; p < run; p += at_once) {
        auto const steps = std::min(at_once, run - p);
        auto const a = line_of(a_, line, start_a + at_a + p * step(Role::a), step(Role::a), place.count, steps, s.a);
        auto const b = line_of(b_, line, start_b + at_b + p * step(Role::b), step(Role::b), place.count, steps, s.b);
        multiply(place.count, steps, a, b, acc, is_first);
        is_first = false;
      }
    });
  }

  // Elements of a factor along a line, for some steps of k: where they lie, or in `buffer`.
  LineFactor<Scalar> line_of(Factor const& x, Mode const& line, std::int64_t offset, std::int64_t step,
                             std::int64_t count, std::int64_t steps, Scalar* buffer) const {
    auto const stride = line.stride[x.role];
    if (x.is_own_type && (stride == 0 || stride == 1)) return {x.at(offset), stride == 1, step};
    auto const width = stride == 0 ? 1 : count;
    for (std::int64_t p = 0; p < steps; ++p) load(x, {offset + p * step, stride}, width, buffer + kParts * p * width);
    return {buffer, stride != 0, width};
  }

  void load(Factor const& x, Line const& line, std::int64_t count, Scalar* to) const {
    if constexpr (std::is_same_v<Scalar, std::uint32_t>) {
      load_line<std::int32_t, factor_types(compute)>(x.data, x.type, line, count, reinterpret_cast<std::int32_t*>(to));
    } else {
      load_line<Accumulator, factor_types(compute)>(x.data, x.type, line, count, reinterpret_cast<Accumulator*>(to));
    }
  }

  // The sums of up to kRowsAtOnce rows over some steps of k. `differ`: the ranges of k of the rows do.
  void sum_rows(std::int64_t const* rows_a, std::int64_t const* rows_b, std::int64_t lanes, std::int64_t k,
                std::int64_t count_k, bool differ, Scalar* acc, Scratch& s) const {
    auto const width = round_up(lanes, kernels_.gemv.lanes);
    auto const step_a = g_.k.rank() == 0 ? 0 : g_.k[0].stride[Role::a];
    auto const step_b = g_.k.rank() == 0 ? 0 : g_.k[0].stride[Role::b];
    bool const in_place = in_rows(a_, differ) || in_rows(b_, differ);
    bool const is_last = k + count_k == plan_.k;
    bool is_first = true;
    auto const run_of = [&](std::int64_t at_a, std::int64_t at_b, std::int64_t run) {
      if (in_place && multiply_in_place(rows_a, rows_b, lanes, at_a, at_b, run, is_last, differ, acc, is_first)) {
        is_first = false;
        return;
      }
      for (std::int64_t p = 0; p < run; p += kStepsOfRows) {
        auto const steps = std::min(kStepsOfRows, run - p);
        auto const a = rows_of(a_, rows_a, lanes, width, at_a + p * step_a, step_a, steps, differ, s.a);
        auto const b = rows_of(b_, rows_b, lanes, width, at_b + p * step_b, step_b, steps, differ, s.b);
        multiply(a.varies || b.varies ? width : 1, steps, a, b, acc, is_first);
        is_first = false;
      }
    };
    if (differ) {
      run_of(0, 0, count_k);
    } else {
      for_runs(g_.k, k, count_k, run_of);
    }
    if (lanes > 1 && !varies_in_rows(a_, differ) && !varies_in_rows(b_, differ)) {
      for (std::int64_t lane = 1; lane < lanes; ++lane) std::copy_n(acc, kParts, acc + kParts * lane);
    }
  }

  // Do lanes read rows of this factor, next to one another along k, where they lie?
  bool in_rows(Factor const& x, bool differ) const {
    return !kComplex && x.is_own_type && varies_in_rows(x, differ) && g_.k.rank() > 0 && g_.k[0].stride[x.role] == 1;
  }

  // The other factor lies so, too, or is the same for all rows and can be read where it lies.
  bool multiply_in_place(std::int64_t const* rows_a, std::int64_t const* rows_b, std::int64_t lanes, std::int64_t at_a,
                         std::int64_t at_b, std::int64_t steps, bool is_last, bool differ, Scalar* acc,
                         bool is_first) const {
    if constexpr (kComplex) {
      return false;
    } else {
      bool const a_in_rows = in_rows(a_, differ);
      Factor const& x = a_in_rows ? a_ : b_;
      Factor const& y = a_in_rows ? b_ : a_;
      auto const* const rows_x = a_in_rows ? rows_a : rows_b;
      auto const* const rows_y = a_in_rows ? rows_b : rows_a;
      auto const at_x = a_in_rows ? at_a : at_b;
      auto const at_y = a_in_rows ? at_b : at_a;
      bool const y_varies = varies_in_rows(y, differ);
      if (y_varies ? !in_rows(y, differ) : !y.is_own_type) return false;
      LineFactor<Scalar> const shared{y.at(rows_y[0] + at_y), false, g_.k[0].stride[y.role]};
      Scalar const* starts_x[kRowsAtOnce];
      Scalar const* starts_y[kRowsAtOnce];
      bool const share_a_set =
          far_ && lanes > kWaysOfL1 && (rows_x[1] - rows_x[0]) * std::int64_t{sizeof(Scalar)} % kAliasingBytes == 0;
      bool const by_blocks = differ || plan_.blocks <= 2;  // the same steps of the rows behind these come next
      RowsAhead const ahead{far_, by_blocks || is_last, by_blocks ? 0 : is_last ? -at_x : steps};
      auto const& gemv = share_a_set && kernels_.gemv.lanes > kWaysOfL1 ? narrow_ : kernels_.gemv;
      for (std::int64_t first = 0; first < lanes;) {
        int vectors = 1;
        while (vectors < vectors_ && vectors * gemv.lanes < lanes - first) vectors *= 2;
        int const together = vectors * gemv.lanes;
        for (int i = 0; i < together; ++i) {
          auto const lane = std::min(first + i, lanes - 1);
          starts_x[i] = x.at(rows_x[lane] + at_x);
          starts_y[i] = y.at(rows_y[lane] + at_y);
        }
        gemv.rows(steps, starts_x, y_varies ? starts_y : nullptr, shared, acc + first, is_first, vectors, ahead);
        first += together;
      }
      return true;
    }
  }

  bool varies_in_rows(Factor const& x, bool differ) const {
    return differ ? g_.k.rank() > 0 && g_.k[0].stride[x.role] != 0 : x.varies;
  }

  // Steps of k of some rows, as (step,lane), where each step of all lanes is a line.
  LineFactor<Scalar> rows_of(Factor const& x, std::int64_t const* rows, std::int64_t lanes, std::int64_t width,
                             std::int64_t offset, std::int64_t step, std::int64_t steps, bool differ,
                             Scalar* buffer) const {
    if (!varies_in_rows(x, differ)) {
      if (x.is_own_type) return {x.at(rows[0] + offset), false, step};
      load(x, {rows[0] + offset, step}, steps, buffer);
      return {buffer, false, 1};
    }
    if constexpr (!kComplex) {
      if (x.is_own_type && step == 1) {
        Scalar const* starts[kRowsAtOnce];
        for (std::int64_t lane = 0; lane < width; ++lane) {
          starts[lane] = x.at(rows[std::min(lane, lanes - 1)] + offset);
        }
        for (std::int64_t lane = 0; lane < width; lane += kernels_.gemv.lanes) {
          kernels_.transpose.rows(starts + lane, steps, buffer + lane, width);
        }
        return {buffer, true, width};
      }
    }
    if constexpr (!kComplex && std::is_same_v<Scalar, float>) {
      if (x.is_own_type && step == 2 && are_in_pairs(rows, lanes)) {
        transpose_pairs(x, rows, lanes, width, offset, steps, buffer);
        return {buffer, true, width};
      }
    }
    Scalar row[kParts * kStepsOfRows];
    for (std::int64_t lane = 0; lane < width; ++lane) {
      if (lane < lanes) load(x, {rows[lane] + offset, step}, steps, row);
      for (std::int64_t p = 0; p < steps; ++p) {
        std::copy_n(row + kParts * p, kParts, buffer + kParts * (p * width + lane));
      }
    }
    return {buffer, true, width};
  }

  // Is each second row one element behind the first, as the parts of a complex number are?
  static bool are_in_pairs(std::int64_t const* rows, std::int64_t lanes) {
    for (std::int64_t lane = 0; lane < lanes; lane += 2) {
      if (lane + 1 == lanes || rows[lane + 1] != rows[lane] + 1) return false;
    }
    return true;
  }

  // Such rows, whose steps are two elements apart, are transposed as doubles.
  void transpose_pairs(Factor const& x, std::int64_t const* rows, std::int64_t lanes, std::int64_t width,
                       std::int64_t offset, std::int64_t steps, Scalar* buffer) const {
    double const* starts[kRowsAtOnce / 2];
    for (std::int64_t pair = 0; pair < width / 2; ++pair) {
      starts[pair] = reinterpret_cast<double const*>(x.at(rows[std::min(2 * pair, lanes - 2)] + offset));
    }
    for (std::int64_t pair = 0; pair < width / 2; pair += pairs_.lanes) {
      pairs_.rows(starts + pair, steps, reinterpret_cast<double*>(buffer) + pair, width / 2);
    }
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
        if (g_.has(role)) lines[role] = {offset_of(plan_.free, role, index), line.stride[role]};
      }
      finish_(reinterpret_cast<Accumulator const*>(acc + kParts * i), count, lines);
      i += count;
    }
  }

  Kernels<Scalar> const& kernels_;
  GemvKernel<Scalar> const& narrow_;      // with half the lanes, where there is such
  TransposeKernel<double> const& pairs_;  // moves pairs of floats
  Geometry const& g_;
  LoopPlan const& plan_;
  bool const far_;           // does what is read come from memory?
  int const vectors_;        // of rows side by side
  std::int64_t const line_;  // elements of a line at a time
  bool const is_sum_;        // dot products or reductions along k, in partial sums
  Execution const& execution_;
  Factor const a_;
  Factor const b_;
  Finish<compute> const finish_;
};

template <Compute compute>
class LoopLaunch final : public Launch {
  using Scalar = typename Arithmetic<compute>::Scalar;

 public:
  LoopLaunch(Kernels<Scalar> const& kernels, GemvKernel<Scalar> const& narrow, TransposeKernel<double> const& pairs,
             Geometry const& geometry)
      : kernels_(kernels), narrow_(narrow), pairs_(pairs), geometry_(geometry), plan_(make_plan(geometry)) {}

  int run(Arguments const& arguments, Execution const& execution) const override {
    if (geometry_.is_empty()) return 0;
    if constexpr (compute == Compute::f32 || compute == Compute::f64) {
      if (plan_.in_rectangles) {
        Rectangles<compute>(kernels_.elementwise, geometry_, plan_, arguments).run(execution);
        return 0;
      }
    }
    Loops<compute>(kernels_, narrow_, pairs_, geometry_, plan_, arguments, execution).run();
    return 0;
  }

  std::int64_t scratch_bytes(int host_threads) const override {
    if (geometry_.is_empty() || plan_.in_rectangles) return 0;
    return Loops<compute>(kernels_, narrow_, pairs_, geometry_, plan_, {}, {}).scratch_bytes(host_threads);
  }

 private:
  Kernels<Scalar> const& kernels_;
  GemvKernel<Scalar> const& narrow_;
  TransposeKernel<double> const& pairs_;
  Geometry const geometry_;
  LoopPlan const plan_;
};

template <Compute compute, Isa isa>
std::unique_ptr<Launch> prepare(char const*, Geometry const& geometry, Schedule const&) {
  using Scalar = typename Arithmetic<compute>::Scalar;
  constexpr Isa kNarrow = std::min(isa, Isa::avx2);
  return std::make_unique<LoopLaunch<compute>>(kernels_of<Scalar, isa>(), kernels_of<Scalar, kNarrow>().gemv,
                                               kernels_of<double, isa>().transpose, geometry);
}

template <Isa isa, Compute compute>
void add(std::vector<Entry>& entries) {
  static std::string const name = std::string("cpu_loops_") + name_of(isa) + "_" + letters_of(compute);
  Traits traits = host_traits(name.c_str(), "cpu_loops", compute);
  traits.needs.isa = isa;
  traits.needs.widest_isa = kWidestIsa;
  entries.push_back({traits, kHostResources, &loop_rules, &prepare<compute, isa>, nullptr, nullptr});
}

template <Isa... isa>
void add_each(std::vector<Entry>& entries, IsaList<isa...>) {
  ((add<isa, Compute::f32>(entries), add<isa, Compute::f64>(entries), add<isa, Compute::c64>(entries),
    add<isa, Compute::c128>(entries), add<isa, Compute::i32>(entries)),
   ...);
}

}  // namespace

void add_loops(std::vector<Entry>& entries) { add_each(entries, Isas{}); }

}  // namespace cute_py::cpu
