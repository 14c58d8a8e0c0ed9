// D(m,n,l) = epilogue(alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l)) on the host, for small products
//
// B is read where it lies, and so is A if its rows follow one another; else a panel of it is transposed first. There is
// next to nothing to do before the first multiplication, and nothing to allocate.
//
// Requires:  one mode at most in M, N and K, of any stride, float32 or float64 computed in, results of any type
// Numerics:  those of the engine, bit by bit
// Memory:    some 100 KB of the stack
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/parallel.hpp"
#include "cpu/arithmetic.hpp"
#include "cpu/block_sums.hpp"
#include "cpu/finish.hpp"
#include "cpu/launch.hpp"
#include "cpu/line_kernel.hpp"
#include "cpu/micro_kernel.hpp"
#include "problem/entry.hpp"

namespace cute_py::cpu {

extern Rules const small_rules;

namespace {

constexpr std::int64_t kMostRows = 32;
constexpr std::int64_t kMostColumns = 14;
constexpr double kWorkPerThread = 1 << 21;

std::int64_t stride_of(Modes const& modes, Role role) { return modes.rank() == 0 ? 0 : modes[0].stride[role]; }

template <Compute compute>
class SmallProducts {
  using T = typename Arithmetic<compute>::Accumulator;
  using Sum = SumOf<T>;
  static constexpr std::int64_t kBlockK = block_of_k(compute);

 public:
  SmallProducts(MicroKernel<T> const& micro, LineKernel<T> const& line, Geometry const& g, Arguments const& x)
      : micro_(micro),
        line_(line),
        g_(g),
        m_(g.m.size()),
        n_(g.n.size()),
        k_(g.multiplies ? g.k.size() : 0),
        a_(factor(g, x, Role::a, g.m)),
        b_(factor(g, x, Role::b, g.n)),
        x_(x),
        finish_(g, x, line) {
    for (Role const role : {Role::c, Role::d, Role::bias, Role::residual}) {
      if (g.has(role)) row_[role] = stride_of(g.m, role), column_[role] = stride_of(g.n, role);
    }
    for (std::int64_t j = 0; j < micro.nr; ++j) {
      columns_c_[j] = j * column_[Role::c];
      columns_d_[j] = j * column_[Role::d];
    }
  }

  void run(Execution const& execution) const {
    auto const panels = ceil_div(m_, micro_.mr);
    auto const count = panels * g_.l.size();
    double const work =
        static_cast<double>(m_) * static_cast<double>(n_) * static_cast<double>(std::max<std::int64_t>(k_, 1));
    auto const threads = static_cast<std::int64_t>(
        std::clamp(work * static_cast<double>(g_.l.size()) / kWorkPerThread, 1.0,
                   static_cast<double>(std::min<std::int64_t>(std::max(execution.host_threads, 1), count))));
    constexpr double kWorkUnchecked = 1 << 22;
    parallel_for(static_cast<int>(threads), threads, [&](std::int64_t worker) {
      Scratch scratch;
      auto const first = count * worker / threads;
      auto l = first / panels;
      auto m = first % panels * micro_.mr;
      double unchecked = 0;
      for (auto i = first; i < count * (worker + 1) / threads; ++i) {
        unchecked += work;
        if (unchecked > kWorkUnchecked) {
          execution.check_interrupt();
          unchecked = 0;
        }
        multiply_panel(l, m, scratch);
        m += micro_.mr;
        if (m < m_) continue;
        m = 0;
        ++l;
      }
    });
  }

 private:
  struct Factor {
    void const* data;
    DType type;
    bool is_own_type;
    std::int64_t row;   // from row to row, of A; from column to column, of B
    std::int64_t step;  // of k

    T const* at(std::int64_t offset) const { return static_cast<T const*>(data) + offset; }
  };

  struct Scratch {
    alignas(64) T a[kBlockK * kMostRows + kMostLanes];
    alignas(64) T b[kBlockK * kMostColumns];
    alignas(64) T acc[kMostRows * kMostColumns];
    alignas(64) T group[kMostRows * kMostColumns];
    alignas(64) Sum sums[kMostRows * kMostColumns];
    alignas(64) Sum lost[kMostRows * kMostColumns];
  };

  static Factor factor(Geometry const& g, Arguments const& x, Role role, Modes const& rows) {
    return {x.data[role], g.type[role], g.type[role] == numeric::kDTypeOf<T>, stride_of(rows, role),
            stride_of(g.k, role)};
  }

  // Rows of one product, with all columns.
  void multiply_panel(std::int64_t l, std::int64_t m, Scratch& s) const {
    auto const rows = std::min<std::int64_t>(micro_.mr, m_ - m);
    auto const at_a = offset_of(g_.l, Role::a, l) + m * a_.row;
    auto const at_b = offset_of(g_.l, Role::b, l);
    bool const a_in_place = a_.is_own_type && (a_.row == 1 || rows == 1);
    bool const packs_once = !a_in_place && k_ <= kBlockK;
    if (packs_once) pack_a(at_a, rows, 0, k_, s.a);
    for (std::int64_t n = 0; n < n_; n += micro_.nr) {
      auto const columns = std::min<std::int64_t>(micro_.nr, n_ - n);
      auto const elements = columns * micro_.mr;
      prefetch(l, m, n, rows, columns);
      if (k_ == 0) std::fill_n(s.acc, elements, T(0));
      for (std::int64_t k = 0; k < k_; k += kBlockK) {
        auto const steps = std::min(kBlockK, k_ - k);
        T const* a = a_.at(at_a + k * a_.step);
        auto a_step = a_.step;
        if (!a_in_place) {
          if (!packs_once) pack_a(at_a, rows, k, steps, s.a);
          a = s.a;
          a_step = micro_.mr;
        }
        auto const from_b = at_b + n * b_.row + k * b_.step;
        if (b_.is_own_type) {
          micro_.multiply_in_place(steps, a, a_step, rows, b_.at(from_b), b_.row, b_.step, columns, s.acc);
        } else {
          for (std::int64_t j = 0; j < columns; ++j) {
            load_line<T, factor_types(compute)>(b_.data, b_.type, {from_b + j * b_.row, b_.step}, steps,
                                                s.b + j * steps);
          }
          micro_.multiply_in_place(steps, a, a_step, rows, s.b, steps, 1, columns, s.acc);
        }
        BlockSums<T>{line_, elements, s.group, s.sums, s.lost}.add(k / kBlockK, k + steps == k_, s.acc);
      }
      finish(l, m, n, rows, columns, s.acc);
    }
  }

  // The tile of the result that is about to be written. Without this a write waits for its line while the next are not even
  // asked for, if much is stored between them.
  void prefetch(std::int64_t l, std::int64_t m, std::int64_t n, std::int64_t rows, std::int64_t columns) const {
    constexpr std::int64_t kFew = 128;
    if (row_[Role::d] != 1 || rows * columns < kFew) return;
    auto const bytes = bytes_of(g_.type[Role::d]);
    auto const first = offset_of(g_.l, Role::d, l) + m + n * column_[Role::d];
    auto const* const d = static_cast<char const*>(x_.data[Role::d]) + first * bytes;
    prefetch_columns(d, rows * bytes, column_[Role::d] * bytes, columns);
  }

  // Rows of A as (mr,k).
  void pack_a(std::int64_t at, std::int64_t rows, std::int64_t k, std::int64_t steps, T* packed) const {
    at += k * a_.step;
    if (a_.is_own_type && a_.step == 1) {
      T const* starts[kMostLanes];
      for (std::int64_t first = 0; first < rows; first += line_.lanes) {
        for (int lane = 0; lane < line_.lanes; ++lane)
          starts[lane] = a_.at(at + std::min(first + lane, rows - 1) * a_.row);
        line_.transpose(starts, steps, packed + first, micro_.mr);
      }
      return;
    }
    for (std::int64_t p = 0; p < steps; ++p) {
      load_line<T, factor_types(compute)>(a_.data, a_.type, {at + p * a_.step, a_.row}, rows, packed + p * micro_.mr);
    }
  }

  void finish(std::int64_t l, std::int64_t m, std::int64_t n, std::int64_t rows, std::int64_t columns,
              T const* acc) const {
    auto const at = [&](Role role) { return offset_of(g_.l, role, l) + m * row_[role] + n * column_[role]; };
    if (finish_.is_plain() && row_[Role::d] == 1 && (!g_.reads_c || row_[Role::c] == 1)) {
      auto const* const c = g_.reads_c ? static_cast<T const*>(x_.data[Role::c]) + at(Role::c) : nullptr;
      micro_.store(finish_.alpha(), acc, g_.reads_c ? finish_.beta() : T(0), c, columns_c_,
                   static_cast<T*>(x_.data[Role::d]) + at(Role::d), columns_d_, rows, columns);
      return;
    }
    PerRole<Line> lines;
    for (Role const role : {Role::c, Role::d, Role::bias, Role::residual}) {
      if (g_.has(role)) lines[role] = {at(role), row_[role]};
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      finish_(acc + j * micro_.mr, rows, lines);
      for (Role const role : {Role::c, Role::d, Role::bias, Role::residual}) lines[role].offset += column_[role];
    }
  }

  MicroKernel<T> const& micro_;
  LineKernel<T> const& line_;
  Geometry const& g_;
  std::int64_t const m_;
  std::int64_t const n_;
  std::int64_t const k_;
  Factor const a_;
  Factor const b_;
  Arguments const& x_;
  PerRole<std::int64_t> row_;
  PerRole<std::int64_t> column_;
  std::int64_t columns_c_[kMostColumns];
  std::int64_t columns_d_[kMostColumns];
  Finish<compute> const finish_;
};

template <Compute compute>
class SmallLaunch final : public Launch {
  using T = typename Arithmetic<compute>::Accumulator;

 public:
  SmallLaunch(MicroKernel<T> const& micro, LineKernel<T> const& line, Geometry const& geometry)
      : micro_(micro), line_(line), geometry_(geometry) {}

  int run(Arguments const& arguments, Execution const& execution) const override {
    if (!geometry_.is_empty()) SmallProducts<compute>(micro_, line_, geometry_, arguments).run(execution);
    return 0;
  }

 private:
  MicroKernel<T> const micro_;
  LineKernel<T> const line_;
  Geometry const geometry_;
};

template <Compute compute, Isa isa>
std::unique_ptr<Launch> prepare(char const*, Geometry const& geometry, Cut const&) {
  using T = typename Arithmetic<compute>::Accumulator;
  return std::make_unique<SmallLaunch<compute>>(micro_kernel<T, isa>(), line_kernel<T, isa>(), geometry);
}

template <Isa isa, Compute compute>
void add(std::vector<Entry>& entries) {
  using T = typename Arithmetic<compute>::Accumulator;
  constexpr auto kTile = register_tile(isa);
  static_assert(kTile.mr(sizeof(T)) <= kMostRows && kTile.nr <= kMostColumns);
  static std::string const name = std::string("cpu_small_") + name_of(isa) + "_" + letters_of(compute);
  Traits traits = host_traits(name.c_str(), "cpu_small", compute);
  traits.factors = factor_types(compute);
  traits.results = result_types(compute);
  traits.conjugates = true;
  traits.modes = 1;
  traits.modes_m = 1;
  traits.tile[0] = kTile.mr(sizeof(T));
  traits.tile[1] = kTile.nr;
  traits.tile[2] = static_cast<int>(block_of_k(compute));
  traits.isa = isa;
  entries.push_back({traits, &small_rules, &prepare<compute, isa>, nullptr, nullptr});
}

}  // namespace

void add_small(std::vector<Entry>& entries) {
  add<Isa::baseline, Compute::f32>(entries);
  add<Isa::baseline, Compute::f64>(entries);
#ifdef __x86_64__
  add<Isa::avx2, Compute::f32>(entries);
  add<Isa::avx2, Compute::f64>(entries);
  add<Isa::avx512, Compute::f32>(entries);
  add<Isa::avx512, Compute::f64>(entries);
#endif
}

}  // namespace cute_py::cpu
