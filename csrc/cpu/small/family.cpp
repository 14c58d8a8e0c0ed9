// D(m,n,l) = epilogue(alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l)) on the host, for small products
//
// MR x NR register tiles without packing (gemm/unpacked.inl): B is read where it lies, and so is A if its rows follow
// one another. Rows of A along k are transposed in registers on their way to at most nr_along_k columns, or packed once
// into a panel for more. There is next to nothing to do before the first multiplication, and nothing to allocate.
//
// Requires:  one mode at most in M, N and K, of any stride, float32 or float64 computed in, results of any type
// Numerics:  those of the engine, bit by bit
// Workspace: a panel of A, up to 1 MB, factors that are converted, the sums of several blocks of K; those of a tile are
//            on the stack
// Threads:   each its products of the batch, or panels of one; one per 2M multiply-adds at most
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/parallel.hpp"
#include "base/workspace.hpp"
#include "cpu/arithmetic.hpp"
#include "cpu/dot/block_sums.hpp"
#include "cpu/family.hpp"
#include "cpu/finish.hpp"
#include "cpu/gemm/blocking.hpp"
#include "problem/entry.hpp"

namespace cute_py::cpu {

extern Rules const small_rules;

namespace {

constexpr std::int64_t kMostElements = 448;  // of a register tile

std::int64_t stride_of(Modes const& modes, Role role) { return modes.rank() == 0 ? 0 : modes[0].stride[role]; }

template <Compute compute>
class SmallProducts {
  using T = typename Arithmetic<compute>::Accumulator;
  using Sum = SumOf<T>;

 public:
  SmallProducts(Kernels<T> const& kernels, RegisterTile const& tile, Geometry const& g, Arguments const& x)
      : kernels_(kernels),
        tile_(tile),
        lanes_(kernels.transpose.lanes),
        g_(g),
        m_(g.m.size()),
        n_(g.n.size()),
        k_(g.multiplies ? g.k.size() : 0),
        a_(factor(g, x, Role::a, g.m)),
        b_(factor(g, x, Role::b, g.n)),
        x_(x),
        columns_(columns_of(m_ <= 2 * lanes_ ? tile_.nr_thin : tile_.nr, n_)),
        is_in_place_(a_.is_own_type && (a_.row == 1 || m_ == 1)),
        is_along_k_(!is_in_place_ && a_.is_own_type && a_.step == 1 && n_ <= tile_.nr_along_k),
        packs_(!is_in_place_ && !is_along_k_),
        packs_once_(packs_ && k_ <= kMostStepsPacked),
        rows_(is_in_place_       ? tile_.mr_vectors_of(static_cast<int>(columns_)) * lanes_
              : is_along_k_      ? tile_.mr_vectors_along_k(n_) * lanes_
              : m_ <= 2 * lanes_ ? 2 * lanes_
                                 : kernels.micro.mr),
        is_by_columns_((!packs_ && m_ <= rows_) ||
                       ((!packs_ || packs_once_) &&
                        m_ * k_ * static_cast<std::int64_t>(sizeof(T)) <= host_cache_blocking().bytes_small_a)),
        finish_(g, x, kernels) {
    for (Role const role : {Role::c, Role::d, Role::bias, Role::residual}) {
      if (g.has(role)) row_[role] = stride_of(g.m, role), column_[role] = stride_of(g.n, role);
    }
    stores_at_once_ = finish_.is_plain() && !g.reads_c && row_[Role::d] == 1 && 0 < k_ && k_ <= kBlockOfK;
    for (std::int64_t j = 0; j < columns_; ++j) {
      columns_c_[j] = j * column_[Role::c];
      columns_d_[j] = j * column_[Role::d];
      columns_bias_[j] = j * column_[Role::bias];
    }
  }

  void run(Execution const& execution) const {
    auto const panels = panels_of_product();
    auto const count = panels * g_.l.size();
    auto const threads = threads_of(execution.host_threads);
    parallel_for(static_cast<int>(threads), threads, [&](std::int64_t worker) {
      Scratch scratch(*this);
      auto const first = count * worker / threads;
      auto l = first / panels;
      auto panel = first % panels;
      scratch.execution = &execution;
      for (auto i = first; i < count * (worker + 1) / threads; ++i) {
        if (is_by_columns_) {
          multiply_columns(l, panel * columns_, scratch);
        } else {
          multiply_rows(l, panel * rows_, scratch);
        }
        if (++panel < panels) continue;
        panel = 0;
        ++l;
      }
    });
  }

  // Of the workspaces of all threads.
  std::int64_t scratch_bytes(int host_threads) const {
    return threads_of(host_threads) * static_cast<std::int64_t>(Scratch::bytes_of(*this));
  }

 private:
  double work() const {
    return static_cast<double>(m_) * static_cast<double>(n_) * static_cast<double>(std::max<std::int64_t>(k_, 1));
  }

  // What threads share among them.
  std::int64_t panels_of_product() const { return is_by_columns_ ? ceil_div(n_, columns_) : ceil_div(m_, rows_); }

  std::int64_t threads_of(int host_threads) const {
    auto const count = panels_of_product() * g_.l.size();
    double const work_of_batch = std::max(work(), kLeastWork) * static_cast<double>(g_.l.size());
    return static_cast<std::int64_t>(
        threads_for(work_of_batch, kWorkPerThread, std::min<std::int64_t>(host_threads, count)));
  }

  std::int64_t packed_elements() const {
    auto const rows = is_by_columns_ ? round_up(m_, rows_) : rows_;
    return packs_ ? rows * (packs_once_ ? k_ : kBlockOfK) + kMostLanes : 0;
  }

  // NR: as many as are wanted at most, and edge tiles of about as many as the others.
  static std::int64_t columns_of(std::int64_t most, std::int64_t n) {
    return round_up(ceil_div(n, ceil_div(n, most)), 2);
  }

  struct Factor {
    void const* data;
    DType type;
    bool is_own_type;
    std::int64_t row;   // from row to row, of A; from column to column, of B
    std::int64_t step;  // of k

    T const* at(std::int64_t offset) const { return static_cast<T const*>(data) + offset; }
  };

  // What one thread computes in.
  struct Scratch {
    explicit Scratch(SmallProducts const& of) {
      auto const bytes = bytes_of(of);
      if (bytes == 0) return;
      Workspace& from = memory.emplace(bytes);
      if (of.packs_ && of.packed_elements() > kPackedHere) a = from.take<T>(of.packed_elements());
      if (!of.b_.is_own_type) b = from.take<T>(kBlockOfK * kMostNr);
      if (of.k_ <= kBlockOfK) return;
      group = from.take<T>(kMostElements);
      sums = from.take<Sum>(kMostElements);
      compensation = from.take<Sum>(kMostElements);
    }

    static std::size_t bytes_of(SmallProducts const& of) {
      bool const is_here = !of.packs_ || of.packed_elements() <= kPackedHere;
      std::size_t bytes = is_here ? 0 : Workspace::bytes_of<T>(of.packed_elements());
      if (!of.b_.is_own_type) bytes += Workspace::bytes_of<T>(kBlockOfK * kMostNr);
      if (of.k_ > kBlockOfK) {
        bytes += Workspace::bytes_of<T>(kMostElements) + 2 * Workspace::bytes_of<Sum>(kMostElements);
      }
      return bytes;
    }

    static constexpr std::int64_t kPackedHere = 1024;  // a workspace takes longer than so small a product

    std::optional<Workspace> memory;
    T* a = packed_here;  // packed rows
    T* b = nullptr;      // columns of another type than what is computed in
    T* group = nullptr;  // see BlockSums
    Sum* sums = nullptr;
    Sum* compensation = nullptr;
    std::int64_t packed = -1;  // the product whose rows are all there
    Execution const* execution = nullptr;
    std::int64_t unchecked = 0;  // multiply-adds since somebody was asked whether to stop
    alignas(64) T acc[kMostElements];
    alignas(64) T packed_here[kPackedHere];
  };

  static Factor factor(Geometry const& g, Arguments const& x, Role role, Modes const& rows) {
    return {x.data[role], g.type[role], g.type[role] == numeric::kDTypeOf<T>, stride_of(rows, role),
            stride_of(g.k, role)};
  }

  // Some columns of one product, with all rows of A, which stay in L1: the result is written nearly as it lies.
  void multiply_columns(std::int64_t l, std::int64_t n, Scratch& s) const {
    if (packs_ && s.packed != l) {
      for (std::int64_t m = 0; m < m_; m += rows_) {
        pack_a(offset_of(g_.l, Role::a, l) + m * a_.row, std::min(rows_, m_ - m), k_, s.a + m * k_);
      }
      s.packed = l;
    }
    for (std::int64_t m = 0; m < m_; m += rows_) multiply_tile(l, m, n, s);
  }

  // Some rows of one product, with all columns.
  void multiply_rows(std::int64_t l, std::int64_t m, Scratch& s) const {
    if (packs_once_) pack_a(offset_of(g_.l, Role::a, l) + m * a_.row, std::min(rows_, m_ - m), k_, s.a);
    for (std::int64_t n = 0; n < n_; n += columns_) multiply_tile(l, m, n, s);
  }

  void multiply_tile(std::int64_t l, std::int64_t m, std::int64_t n, Scratch& s) const {
    auto const rows = std::min(rows_, m_ - m);
    auto const columns = std::min(columns_, n_ - n);
    auto const at_a = offset_of(g_.l, Role::a, l) + m * a_.row;
    auto const at_b = offset_of(g_.l, Role::b, l) + n * b_.row;
    auto const elements = columns * rows_;
    prefetch(l, m, n, rows, columns);
    if (k_ == 0) {
      count_work(elements * finish_.work_of_element(), s);
      std::fill_n(s.acc, elements, T(0));
    }
    for (std::int64_t k = 0; k < k_; k += kBlockOfK) {
      auto const steps = std::min(kBlockOfK, k_ - k);
      count_work(elements * steps + (k + steps == k_ ? elements * finish_.work_of_element() : 0), s);
      T const* a = a_.at(at_a + k * a_.step);
      auto a_step = a_.step;
      if (packs_) {
        if (!packs_once_) pack_a(at_a + k * a_.step, rows, steps, s.a);
        a = packs_once_ ? s.a + (is_by_columns_ ? m * k_ : 0) + k * rows_ : s.a;
        a_step = rows_;
      }
      auto const from_b = at_b + k * b_.step;
      T const* b = b_.at(from_b);
      auto b_column = b_.row;
      auto b_step = b_.step;
      if (!b_.is_own_type) {
        for (std::int64_t j = 0; j < columns; ++j) {
          load_line<factor_types(compute)>(kernels_, b_.data, b_.type, {from_b + j * b_.row, b_.step}, steps,
                                           s.b + j * steps);
        }
        b = s.b;
        b_column = steps;
        b_step = 1;
      }
      auto const multiply = [&](T alpha, T* to, std::int64_t to_column) {
        if (is_along_k_) {
          kernels_.unpacked.along_k(steps, a, a_.row, rows, b, b_column, b_step, columns, alpha, to, to_column);
        } else {
          kernels_.unpacked.along_m(steps, a, a_step, rows, b, b_column, b_step, columns, alpha, to, to_column);
        }
      };
      if (stores_at_once_) {
        auto const at_d = offset_of(g_.l, Role::d, l) + m + n * column_[Role::d];
        multiply(finish_.alpha(), static_cast<T*>(x_.data[Role::d]) + at_d, column_[Role::d]);
        return;
      }
      multiply(T(1), s.acc, rows_);
      BlockSums<T>{kernels_.sums, elements, s.group, s.sums, s.compensation}.add(k / kBlockOfK, k + steps == k_, s.acc);
    }
    finish(l, m, n, rows, columns, s.acc);
  }

  // Asks whether to stop after a moment's work, whatever K is.
  static void count_work(std::int64_t multiply_adds, Scratch& s) {
    s.unchecked += multiply_adds;
    if (s.unchecked < kWorkUnchecked) return;
    s.unchecked = 0;
    s.execution->check_interrupt();
  }

  // The tile of the result that is about to be written. Without this a store waits for its cache line while the next
  // are not even requested, if much is stored between them.
  void prefetch(std::int64_t l, std::int64_t m, std::int64_t n, std::int64_t rows, std::int64_t columns) const {
    constexpr std::int64_t kFew = 128;
    if (row_[Role::d] != 1 || rows * columns < kFew) return;
    auto const bytes = bytes_of(g_.type[Role::d]);
    auto const first = offset_of(g_.l, Role::d, l) + m + n * column_[Role::d];
    auto const* const d = static_cast<char const*>(x_.data[Role::d]) + first * bytes;
    prefetch_columns(d, rows * bytes, column_[Role::d] * bytes, columns);
  }

  // Rows of A as (rows_,k).
  void pack_a(std::int64_t at, std::int64_t rows, std::int64_t steps, T* packed) const {
    if (a_.is_own_type && a_.step == 1) {
      T const* starts[kMostLanes];
      for (std::int64_t first = 0; first < rows; first += lanes_) {
        for (int lane = 0; lane < lanes_; ++lane) starts[lane] = a_.at(at + std::min(first + lane, rows - 1) * a_.row);
        kernels_.transpose.rows(starts, steps, packed + first, rows_);
      }
      return;
    }
    for (std::int64_t p = 0; p < steps; ++p) {
      load_line<factor_types(compute)>(kernels_, a_.data, a_.type, {at + p * a_.step, a_.row}, rows,
                                       packed + p * rows_);
    }
  }

  void finish(std::int64_t l, std::int64_t m, std::int64_t n, std::int64_t rows, std::int64_t columns,
              T const* acc) const {
    auto const at = [&](Role role) { return offset_of(g_.l, role, l) + m * row_[role] + n * column_[role]; };
    if (finish_.is_plain() && row_[Role::d] == 1 && (!g_.reads_c || row_[Role::c] == 1)) {
      auto const* const c = g_.reads_c ? static_cast<T const*>(x_.data[Role::c]) + at(Role::c) : nullptr;
      kernels_.micro.store(finish_.alpha(), acc, rows_, g_.reads_c ? finish_.beta() : T(0), c, columns_c_,
                           static_cast<T*>(x_.data[Role::d]) + at(Role::d), columns_d_, rows, columns);
      return;
    }
    if (finish_.is_plain() && !g_.reads_c) {
      T* const d = static_cast<T*>(x_.data[Role::d]) + at(Role::d);
      bool const is_dense = column_[Role::d] == 1 && row_[Role::d] == columns;
      if (is_dense && kernels_.elementwise.interleave(rows, columns, finish_.alpha(), acc, rows_, d)) return;
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
          d[i * row_[Role::d] + columns_d_[j]] = finish_.alpha() * acc[j * rows_ + i];
        }
      }
      return;
    }
    bool const has_rows = row_[Role::d] == 1 && (!g_.has_bias || row_[Role::bias] == 0 || row_[Role::bias] == 1);
    if (finish_.is_in_one_pass() && has_rows) {
      auto const* const bias = g_.has_bias ? static_cast<T const*>(x_.data[Role::bias]) + at(Role::bias) : nullptr;
      T* const d = static_cast<T*>(x_.data[Role::d]) + at(Role::d);
      if (finish_.tile(rows, columns, acc, rows_, {bias, row_[Role::bias] == 1, columns_bias_}, d, columns_d_)) return;
    }
    PerRole<Line> lines;
    for (Role const role : {Role::c, Role::d, Role::bias, Role::residual}) {
      if (g_.has(role)) lines[role] = {at(role), row_[role]};
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      finish_(acc + j * rows_, rows, lines);
      for (Role const role : {Role::c, Role::d, Role::bias, Role::residual}) lines[role].offset += column_[role];
    }
  }

  Kernels<T> const& kernels_;
  RegisterTile const& tile_;
  std::int64_t const lanes_;
  Geometry const& g_;
  std::int64_t const m_;
  std::int64_t const n_;
  std::int64_t const k_;
  Factor const a_;
  Factor const b_;
  Arguments const& x_;
  std::int64_t const columns_;  // NR of a register tile
  bool const is_in_place_;      // A
  bool const is_along_k_;       // are rows of A, and transposed in registers
  bool const packs_;            // rows of A, or what is not of the type that is computed in
  bool const packs_once_;       // for all columns
  bool stores_at_once_;         // there is nothing to add or to apply to what a register tile has
  std::int64_t const rows_;     // MR of a register tile
  bool const is_by_columns_;    // do columns go by in the outer loop?
  PerRole<std::int64_t> row_;
  PerRole<std::int64_t> column_;
  std::int64_t columns_c_[kMostNr];
  std::int64_t columns_d_[kMostNr];
  std::int64_t columns_bias_[kMostNr];
  Finish<compute> const finish_;
};

template <Compute compute>
class SmallLaunch final : public Launch {
  using T = typename Arithmetic<compute>::Accumulator;

 public:
  SmallLaunch(Kernels<T> const& kernels, RegisterTile const& tile, Geometry const& geometry)
      : kernels_(kernels), tile_(tile), geometry_(geometry) {}

  int run(Arguments const& arguments, Execution const& execution) const override {
    if (!geometry_.is_empty()) SmallProducts<compute>(kernels_, tile_, geometry_, arguments).run(execution);
    return 0;
  }

  std::int64_t scratch_bytes(int host_threads) const override {
    if (geometry_.is_empty()) return 0;
    return SmallProducts<compute>(kernels_, tile_, geometry_, {}).scratch_bytes(host_threads);
  }

 private:
  Kernels<T> const& kernels_;
  RegisterTile const tile_;
  Geometry const geometry_;
};

struct SmallFamily {
  static constexpr char const* kernel = "cpu_small";
  static constexpr Rules const* rules = &small_rules;
  using List = Variants<Isas, Compute::f32, Compute::f64>;

  template <class V>
  static void limit(Traits& traits) {
    constexpr auto kTile = register_tile(V::isa);
    constexpr int kMr = kTile.mr(sizeof(typename Arithmetic<V::compute>::Accumulator));
    static_assert(kMr <= kMostMr && kTile.nr_thin <= kMostNr);
    traits.modes = {1, 1, kMaxModes};
    traits.tile[0] = kMr;
    traits.tile[1] = kTile.nr;
    traits.tile[2] = static_cast<int>(kBlockOfK);
    traits.one_order = true;
  }

  template <class V>
  static std::unique_ptr<Launch> prepare(Geometry const& geometry) {
    using T = typename Arithmetic<V::compute>::Accumulator;
    return std::make_unique<SmallLaunch<V::compute>>(kernels_of<T, V::isa>(), register_tile(V::isa), geometry);
  }
};

}  // namespace

void add_small(std::vector<Entry>& entries) { add_variants<SmallFamily>(entries); }

}  // namespace cute_py::cpu
