// Emulated precision on the host, by residues (Ozaki scheme II): three steps, with the bits that a GPU has
//
//   cpu_split      rows of a factor (row,k), any strides, to residues of whole numbers (row,k,plane), k-major
//   cpu_residues   products of residues by the int8 GEMM, reduced modulo the number of their plane
//   cpu_combine    D(m,n,l) = epilogue(the number that has these residues, scaled back)
//
// After:     split_planes, gemm_sm90 and combine_planes, whose bits these are
// Requires:  any extents, any modes, any strides; K <= 2^17
// Numerics:  sums are exact, so that neither the order of adds nor the number of threads matters. Rows and columns with
//            infinity or NaN are multiplied as they are, k ascending, fused
// Workspace: a row of a factor, or some of them where its rows are contiguous; sums of int32, up to 16 MB
// Threads:   each some rows
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "base/workspace.hpp"
#include "cpu/family.hpp"
#include "cpu/finish.hpp"
#include "cpu/gemm/gemm.hpp"
#include "cpu/operations.hpp"
#include "numeric/row_scale.hpp"
#include "problem/residues.hpp"
#include "problem/workspace.hpp"

namespace cute_py::cpu {

extern Rules const split_rules;
extern Rules const residues_rules;
extern Rules const combine_rules;

namespace {

// Calls work(first, count) for all of `count` rows, some at a time, in threads that have enough to do.
template <class Work>
void for_rows(std::int64_t count, std::int64_t at_once, double work_of_row, Execution const& execution,
              Work const& work) {
  double const all = static_cast<double>(count) * work_of_row;
  auto const threads = static_cast<int>(threads_for(all, kWorkPerThreadOfLoops, execution.host_threads));
  parallel_for(threads, ceil_div(count, at_once), [&](std::int64_t i) {
    execution.check_interrupt();
    work(i * at_once, std::min(at_once, count - i * at_once));
  });
}

template <class T>
class SplitLaunch final : public Launch {
  using Real = numeric::RealOf<T>;
  static constexpr int kParts = numeric::kIsComplex<T> ? 2 : 1;
  static constexpr int kRanges = numeric::kRangesOfSquares<Real>;
  static constexpr std::int64_t kRowsAtOnce = 16;

 public:
  SplitLaunch(Kernels<Real> const& kernels, Geometry const& g)
      : kernels_(kernels),
        g_(g),
        rows_(g.m.size()),
        steps_(g.k.size()),
        line_(plane_line(g.planes, g.k.size())),
        norm_(largest_squared_norm(g.planes, g.k.size())),
        is_in_place_(g.k.rank() == 1 && g.k[0].stride[Role::a] == 1) {
    for (int i = 0; i < g.planes.count; ++i) {
      int const p = modulus_of(g.planes.kind, i);
      moduli_.push_back({static_cast<double>(p), 1.0 / p, g.planes.is_complex() ? root_of_minus_one(p) : 0.0});
    }
    steps_at_.resize(is_in_place_ ? 0 : steps_);
    if (!is_in_place_) fill_offsets(g.k, Role::a, 0, steps_, steps_at_.data());
  }

  int run(Arguments const& x, Execution const& execution) const override {
    auto const* const from = static_cast<T const*>(x.data[Role::a]);
    auto* const to = static_cast<std::int8_t*>(x.data[Role::d]);
    double const work = static_cast<double>(steps_ * kParts * g_.planes.planes());
    for_rows(rows_, kRowsAtOnce, work, execution, [&](std::int64_t first, std::int64_t count) {
      Workspace memory(Workspace::bytes_of<T>(kRowsAtOnce * steps_));
      T* const gathered = memory.take<T>(kRowsAtOnce * steps_);
      std::int64_t rows_at[kRowsAtOnce];
      for (std::int64_t i = 0; i < count; ++i) rows_at[i] = offset_of(g_.m, Role::a, first + i);
      auto const is_aligned = reinterpret_cast<std::uintptr_t>(from) % alignof(Real) == 0;
      bool const is_in_place = is_in_place_ && is_aligned;
      if (!is_in_place) gather(from, rows_at, count, gathered);
      for (std::int64_t i = 0; i < count; ++i) {
        T const* const row = is_in_place ? from + rows_at[i] : gathered + i * steps_;
        x.exponents[0][first + i] = split(reinterpret_cast<Real const*>(row), to + (first + i) * line_);
      }
    });
    return 0;
  }

  std::int64_t scratch_bytes(int host_threads) const override {
    return host_threads * static_cast<std::int64_t>(Workspace::bytes_of<T>(kRowsAtOnce * steps_));
  }

 private:
  void gather(T const* from, std::int64_t const* rows_at, std::int64_t count, T* gathered) const {
    for (std::int64_t k = 0; k < steps_; ++k) {
      auto const at = is_in_place_ ? k : steps_at_[k];
      for (std::int64_t i = 0; i < count; ++i) gathered[i * steps_ + k] = numeric::load(from + rows_at[i] + at);
    }
  }

  std::int32_t split(Real const* row, std::int8_t* to) const {
    numeric::Squares<kRanges> all;
    kernels_.planes.squares(steps_, kParts, std::int64_t{1} << OrderOfSquares::log2_groups(steps_), row, all.sum);
    std::int32_t const exponent = numeric::exponent_of_norm(norm_, all);
    if (exponent == kNotFinite) {
      for (int plane = 0; plane < g_.planes.planes(); ++plane) std::fill_n(to + plane * line_ * rows_, steps_, 0);
      return exponent;
    }
    numeric::RowScale<Real> const scale(exponent);
    kernels_.planes.split(steps_, kParts, g_.conj_a, row, scale.first, scale.second, moduli_.data(), g_.planes.count,
                          to, line_ * rows_);
    return exponent;
  }

  Kernels<Real> const& kernels_;
  Geometry const g_;
  std::int64_t const rows_;
  std::int64_t const steps_;
  std::int64_t const line_;
  LargestNorm const norm_;
  bool const is_in_place_;  // a row
  std::vector<ResidueModulus> moduli_;
  std::vector<std::int64_t> steps_at_;
};

// Residues (n,m,l,plane) of a product of planes. Rows of a product at a time have their sums in memory.
class ResiduesLaunch final : public Launch {
  static constexpr std::int64_t kBytesOfSums = std::int64_t{15} << 20;  // which are kept from call to call

 public:
  ResiduesLaunch(Kernels<std::uint32_t> const& kernels, Isa isa, Geometry const& g)
      : kernels_(kernels),
        g_(g),
        columns_(g.n.size()),
        rows_at_once_(std::clamp<std::int64_t>(kBytesOfSums / (4 * columns_), 1, g.m.size())) {
    for (auto const rows : {rows_at_once_, g.m.size() % rows_at_once_}) {
      multiply_.push_back(rows == 0 ? nullptr : prepare_int8_gemm(isa, product_of(rows)));
    }
  }

  int run(Arguments const& x, Execution const& execution) const override {
    Workspace memory(sums_bytes());
    auto* const sums = memory.take<std::int32_t>(rows_at_once_ * columns_);
    auto const rows = g_.m.size();
    for (std::int64_t l = 0; l < g_.l.size(); ++l) {
      // In L planes follow the products of the batch: both have modes in the same order in all arrays.
      int const plane = static_cast<int>(l / (g_.l.size() / g_.planes.planes()));
      double const modulus = modulus_of(g_.planes.kind, g_.planes.is_complex() ? plane / 2 : plane);
      for (std::int64_t first = 0; first < rows; first += rows_at_once_) {
        auto const count = std::min(rows_at_once_, rows - first);
        auto const at = [&](Role role, Modes const& modes, std::int64_t i) {
          return static_cast<std::int8_t*>(x.data[role]) + offset_of(g_.l, role, l) + offset_of(modes, role, i);
        };
        Arguments of_rows;
        of_rows.data[Role::a] = at(Role::b, g_.n, 0);
        of_rows.data[Role::b] = at(Role::a, g_.m, first);
        of_rows.data[Role::d] = sums;
        multiply_[count == rows_at_once_ ? 0 : 1]->run(of_rows, execution);
        constexpr std::int64_t kRowsOfPart = 16;
        constexpr double kWorkOfNumber = 4;
        for_rows(count, kRowsOfPart, static_cast<double>(columns_) * kWorkOfNumber, execution,
                 [&](std::int64_t from, std::int64_t some) {
                   for (std::int64_t i = from; i < from + some; ++i) {
                     kernels_.reduce(columns_, sums + i * columns_, modulus, at(Role::d, g_.m, first + i));
                   }
                 });
      }
    }
    return 0;
  }

  std::int64_t scratch_bytes(int host_threads) const override {
    return static_cast<std::int64_t>(sums_bytes()) + multiply_[0]->scratch_bytes(host_threads);
  }

 private:
  std::size_t sums_bytes() const { return Workspace::bytes_of<std::int32_t>(rows_at_once_ * columns_); }

  // Of some rows, transposed, so that sums lie along n: as the result of one more row, and no more rows, does.
  Geometry product_of(std::int64_t rows) const {
    Geometry p;
    p.compute = Compute::i32;
    set_array(p, Role::a, DType::i8);
    set_array(p, Role::b, DType::i8);
    set_array(p, Role::d, DType::i32);
    auto const line = [&](Modes const& modes, Role role) { return modes.rank() == 0 ? 0 : modes[0].stride[role]; };
    p.m = p.n = p.k = Modes({Mode{columns_, {}, false, false}});
    p.m[0].stride[Role::a] = line(g_.n, Role::b);
    p.m[0].stride[Role::d] = 1;
    p.n[0].extent = rows;
    p.n[0].stride[Role::b] = line(g_.m, Role::a);
    p.n[0].stride[Role::d] = columns_;
    p.k[0].extent = g_.k.size();
    p.k[0].stride[Role::a] = p.k[0].stride[Role::b] = 1;
    return p;
  }

  Kernels<std::uint32_t> const& kernels_;
  Geometry const g_;
  std::int64_t const columns_;
  std::int64_t const rows_at_once_;
  std::vector<std::unique_ptr<Launch>> multiply_;  // of so many rows, and of those that are left
};

template <Compute compute>
class CombineLaunch final : public Launch {
  using T = typename Arithmetic<compute>::Accumulator;
  using Real = numeric::RealOf<T>;
  static constexpr int kParts = numeric::kIsComplex<T> ? 2 : 1;
  static constexpr int kLimbs = sizeof(Real) == 8 ? 3 : 2;

 public:
  CombineLaunch(Kernels<Real> const& kernels, Geometry const& g)
      : kernels_(kernels),
        g_(g),
        rows_(g.m.size()),
        columns_(g.n.size()),
        line_(residue_line(columns_)),
        reconstruction_(reconstruction_of(g.planes, kLimbs)) {}

  int run(Arguments const& x, Execution const& execution) const override {
    Finish<compute> const finish(g_, x, kernels_);
    double const work = static_cast<double>(columns_ * (g_.planes.planes() * 2 + finish.work_of_element()));
    for_rows(rows_ * g_.l.size(), 4, work, execution, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t row = first; row < first + count; ++row) combine(x, finish, row, execution);
    });
    return 0;
  }

 private:
  // A row of the result: runs along the first mode of N.
  void combine(Arguments const& x, Finish<compute> const& finish, std::int64_t row, Execution const& execution) const {
    auto const l = row / rows_;
    auto const m = row % rows_;
    auto const plane = line_ * rows_ * g_.l.size();
    auto const* const residues = static_cast<std::int8_t const*>(x.residues) + row * line_;
    std::int32_t const exponent = x.exponents[0][row];
    std::int32_t const* const exponents = x.exponents[1] + l * columns_;
    auto const run = g_.n.rank() == 0 ? 1 : g_.n[0].extent;
    alignas(64) T sums[kMostReconstructed];
    for (std::int64_t n = 0; n < columns_;) {
      auto const count = std::min({kMostReconstructed, run - n % run, columns_ - n});
      if (exponent != kNotFinite) {
        kernels_.planes.reconstruct(count, kParts, residues + n, plane, reconstruction_, g_.planes.count, exponent,
                                    exponents + n, reinterpret_cast<Real*>(sums));
      }
      for (std::int64_t i = 0; i < count; ++i) {
        if (exponent != kNotFinite && exponents[n + i] != kNotFinite) continue;
        execution.check_interrupt();
        sums[i] = exact(x, l, m, n + i);
      }
      PerRole<Line> lines;
      for (Role const role : {Role::c, Role::d, Role::bias, Role::residual}) {
        if (!g_.has(role)) continue;
        lines[role] = {offset_of(g_.l, role, l) + offset_of(g_.m, role, m) + offset_of(g_.n, role, n),
                       g_.n.rank() == 0 ? 0 : g_.n[0].stride[role]};
      }
      finish(sums, count, lines);
      n += count;
    }
  }

  // An element by itself, as it is.
  T exact(Arguments const& x, std::int64_t l, std::int64_t m, std::int64_t n) const {
    using std::fma;
    auto const load = [&](Role role, Modes const& own, std::int64_t i, std::int64_t k, bool conjugate) {
      auto const at = offset_of(g_.l, role, l) + offset_of(own, role, i) + offset_of(g_.k, role, k);
      T const number = numeric::load(static_cast<T const*>(x.data[role]) + at);
      if constexpr (kParts == 2) {
        return conjugate ? T(number.real(), -number.imag()) : number;
      } else {
        return number;
      }
    };
    T sum(0);
    for (std::int64_t k = 0; k < g_.k.size(); ++k) {
      T const a = load(Role::a, g_.m, m, k, g_.conj_a);
      T const b = load(Role::b, g_.n, n, k, g_.conj_b);
      if constexpr (kParts == 2) {
        sum = T(fma(-a.imag(), b.imag(), fma(a.real(), b.real(), sum.real())),
                fma(a.imag(), b.real(), fma(a.real(), b.imag(), sum.imag())));
      } else {
        sum = fma(a, b, sum);
      }
    }
    return sum;
  }

  Kernels<Real> const& kernels_;
  Geometry const g_;
  std::int64_t const rows_;
  std::int64_t const columns_;
  std::int64_t const line_;
  Reconstruction const reconstruction_;
};

// A variant of a step for numbers that are computed in `own`.
template <Compute own_, Isa isa_>
struct StepVariant {
  static constexpr Compute own = own_;
  static constexpr Isa isa = isa_;
  using T = typename Arithmetic<own>::Accumulator;
  using Real = numeric::RealOf<T>;
};

// Entries of a step, for each instruction set.
template <Compute step, class Family, Compute own, Isa... isa>
void add_step(std::vector<Entry>& entries, IsaList<isa...> isas) {
  (entries.push_back([&] {
    using V = StepVariant<own, isa>;
    static std::string const name = std::string(Family::kernel) + "_" + name_of(isa) + letters_of(own);
    Traits traits = host_traits(name.c_str(), Family::kernel, step);
    traits.needs.isa = isa;
    traits.needs.widest_isa = isas.widest;
    Family::template limit<V>(traits);
    auto const prepare = [](char const*, Geometry const& g, Schedule const&) -> std::unique_ptr<Launch> {
      return Family::template prepare<V>(g);
    };
    return Entry{traits, kHostResources, Family::rules, prepare};
  }()),
   ...);
}

struct SplitFamily {
  static constexpr char const* kernel = "cpu_split";
  static constexpr Rules const* rules = &split_rules;

  template <class V>
  static void limit(Traits& traits) {
    traits.types.factors = types(numeric::kDTypeOf<typename V::T>);
    traits.types.results = types(DType::i8);
  }
  template <class V>
  static std::unique_ptr<Launch> prepare(Geometry const& g) {
    return std::make_unique<SplitLaunch<typename V::T>>(kernels_of<typename V::Real, V::isa>(), g);
  }
};

struct ResiduesFamily {
  static constexpr char const* kernel = "cpu_residues";
  static constexpr Rules const* rules = &residues_rules;

  template <class V>
  static void limit(Traits& traits) {
    traits.types.results = types(DType::i8);
    traits.modes = {1, 1, kMaxModes};
  }
  template <class V>
  static std::unique_ptr<Launch> prepare(Geometry const& g) {
    constexpr Isa kOfWords = std::min(V::isa, Isas::widest);
    return std::make_unique<ResiduesLaunch>(kernels_of<std::uint32_t, kOfWords>(), V::isa, g);
  }
};

struct CombineFamily {
  static constexpr char const* kernel = "cpu_combine";
  static constexpr Rules const* rules = &combine_rules;

  template <class V>
  static void limit(Traits& traits) {
    traits.types.factors = types(numeric::kDTypeOf<typename V::T>);
    traits.types.results = numeric::kWritableOnHost<typename V::T>;
  }
  template <class V>
  static std::unique_ptr<Launch> prepare(Geometry const& g) {
    return std::make_unique<CombineLaunch<V::own>>(kernels_of<typename V::Real, V::isa>(), g);
  }
};

template <Compute... own>
void add_passes(std::vector<Entry>& entries) {
  (add_step<Compute::split, SplitFamily, own>(entries, Isas{}), ...);
  (add_step<Compute::combine, CombineFamily, own>(entries, Isas{}), ...);
}

}  // namespace

void add_planes(std::vector<Entry>& entries) {
  add_passes<Compute::f32, Compute::f64, Compute::c64, Compute::c128>(entries);
  add_step<Compute::residues, ResiduesFamily, Compute::i32>(entries, Int8Isas{});
}

}  // namespace cute_py::cpu
