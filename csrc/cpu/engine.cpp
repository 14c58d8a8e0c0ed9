// D(m,n,l) = epilogue(alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l)) on the host
//
// Tables of offsets say where the rows and columns of a block are, whatever modes they have. Packing turns them into
// panels with unit strides and of the type that is computed in, and a register tile does the work. A complex product is
// two real ones over 2 K: (re,-im) and (im,re) of A, each with (re,im) of B.
//
// Requires:  any extents, any modes, any strides, every type that fits the compute type
// Numerics:  blocks of K, each summed with k ascending in one accumulator per element; the sums of the blocks added in
//            their order, those of float32 in float64, those of many blocks of float64 with what rounding loses. The
//            same bits for any number of threads and any place in the result
// Memory:    up to 32 MB per thread
#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cutlass/tfloat32.h>

#include "base/parallel.hpp"
#include "cpu/launch.hpp"
#include "cpu/micro_kernel.hpp"
#include "numeric/epilogue.hpp"
#include "numeric/types.hpp"
#include "problem/entry.hpp"

namespace cute_py::cpu {

extern Rules const engine_rules;

namespace {

using numeric::EpilogueType;
using numeric::kIsComplex;

// Extents of blocks for float32: a packed block of A, kBlockM x kBlockK, fits in a second-level cache, one of B in a
// third. Sums of kSumM x kBlockN are kept while K goes on.
constexpr std::int64_t kBlockM = 336;
constexpr std::int64_t kBlockN = 2016;
constexpr std::int64_t kBlockK = 384;
constexpr std::int64_t kSumM = 4 * kBlockM;

// So many multiply-adds take a moment that nobody notices.
constexpr std::int64_t kWorkUnchecked = 1 << 22;

// Sums of so many blocks lose next to nothing.
constexpr std::int64_t kFewBlocks = 16;

// A thread is worth starting for this many multiply-adds.
constexpr double kWorkPerThread = 1 << 21;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

template <class T>
struct AlignedBuffer {
  explicit AlignedBuffer(std::int64_t elements)
      : data(static_cast<T*>(::operator new(std::max<std::int64_t>(elements, 1) * sizeof(T), std::align_val_t{64}))) {}
  AlignedBuffer(AlignedBuffer const&) = delete;
  AlignedBuffer& operator=(AlignedBuffer const&) = delete;
  ~AlignedBuffer() { ::operator delete(data, std::align_val_t{64}); }

  T* data;
};

// What a kind of product is computed with.
template <Compute compute>
struct Arithmetic;
template <>
struct Arithmetic<Compute::f32> {
  using Accumulator = float;
  using Scalar = float;  // of the micro-kernel
};
template <>
struct Arithmetic<Compute::tf32> : Arithmetic<Compute::f32> {};
template <>
struct Arithmetic<Compute::f64> {
  using Accumulator = double;
  using Scalar = double;
};
template <>
struct Arithmetic<Compute::c64> {
  using Accumulator = numeric::complex64;
  using Scalar = float;
};
template <>
struct Arithmetic<Compute::c128> {
  using Accumulator = numeric::complex128;
  using Scalar = double;
};
template <>
struct Arithmetic<Compute::i32> {
  using Accumulator = std::int32_t;
  using Scalar = std::uint32_t;
};

// The factors of one operand in one block: offsets of its rows and of its steps of k.
struct Block {
  void const* data;
  DType type;
  std::int64_t const* rows;
  std::int64_t row_count;
  std::int64_t const* steps;
  std::int64_t step_count;
};

bool follow_one_another(std::int64_t const* offsets, std::int64_t count) {
  for (std::int64_t i = 1; i < count; ++i) {
    if (offsets[i] != offsets[i - 1] + 1) return false;
  }
  return true;
}

// Calls put(i, p, x) for every element of a panel of up to `width` rows.
template <class Stored, class Put>
void visit_panel(Block const& block, std::int64_t first, std::int64_t width, bool steps_follow, Put const& put) {
  auto const* const data = static_cast<Stored const*>(block.data);
  auto const* const rows = block.rows + first;
  auto const count = std::min(width, block.row_count - first);
  if (follow_one_another(rows, count)) {
    for (std::int64_t p = 0; p < block.step_count; ++p) {
      auto const* const column = data + rows[0] + block.steps[p];
      for (std::int64_t i = 0; i < count; ++i) put(i, p, numeric::load(column + i));
    }
  } else if (steps_follow) {
    constexpr std::int64_t kLine = 64 / sizeof(Stored);
    for (std::int64_t p0 = 0; p0 < block.step_count; p0 += kLine) {
      auto const length = std::min(kLine, block.step_count - p0);
      for (std::int64_t i = 0; i < count; ++i) {
        auto const* const row = data + rows[i] + block.steps[p0];
        for (std::int64_t p = 0; p < length; ++p) put(i, p0 + p, numeric::load(row + p));
      }
    }
  } else {
    for (std::int64_t p = 0; p < block.step_count; ++p) {
      auto const* const column = data + block.steps[p];
      for (std::int64_t i = 0; i < count; ++i) put(i, p, numeric::load(column + rows[i]));
    }
  }
}

template <Compute compute, class Stored>
typename Arithmetic<compute>::Scalar as_scalar(Stored const& x) {
  using Scalar = typename Arithmetic<compute>::Scalar;
  if constexpr (compute == Compute::tf32) {
    return static_cast<float>(cutlass::tfloat32_t(numeric::convert<float>(x)));
  } else {
    return static_cast<Scalar>(numeric::convert<typename Arithmetic<compute>::Accumulator>(x));
  }
}

// Packs the rows of a block in panels (width,k,panel):(1,width,width*k). Rows that do not exist are zero.
template <Compute compute>
void pack(Block const& block, std::int64_t width, typename Arithmetic<compute>::Scalar* packed) {
  using Scalar = typename Arithmetic<compute>::Scalar;
  bool const steps_follow = follow_one_another(block.steps, block.step_count);
  for (std::int64_t first = 0; first < block.row_count; first += width) {
    Scalar* const out = packed + first * block.step_count;
    if (block.row_count - first < width) std::fill_n(out, width * block.step_count, Scalar(0));
    numeric::with_type<factor_types(compute)>(block.type, [&](auto const& sample) {
      using Stored = std::decay_t<decltype(sample)>;
      visit_panel<Stored>(block, first, width, steps_follow, [&](std::int64_t i, std::int64_t p, Stored const& x) {
        out[p * width + i] = as_scalar<compute>(x);
      });
    });
  }
}

// The same for complex numbers: two steps of k for each, (re,im), or for a left operand (re,-im) in one buffer and
// (im,re) in another.
template <Compute compute>
void pack_complex(Block const& block, std::int64_t width, bool conjugate, typename Arithmetic<compute>::Scalar* packed,
                  typename Arithmetic<compute>::Scalar* packed_swapped) {
  using Scalar = typename Arithmetic<compute>::Scalar;
  using Accumulator = typename Arithmetic<compute>::Accumulator;
  bool const steps_follow = follow_one_another(block.steps, block.step_count);
  bool const is_left = packed_swapped != nullptr;
  for (std::int64_t first = 0; first < block.row_count; first += width) {
    auto const place = 2 * first * block.step_count;
    if (block.row_count - first < width) {
      std::fill_n(packed + place, 2 * width * block.step_count, Scalar(0));
      if (is_left) std::fill_n(packed_swapped + place, 2 * width * block.step_count, Scalar(0));
    }
    numeric::with_type<factor_types(compute)>(block.type, [&](auto const& sample) {
      using Stored = std::decay_t<decltype(sample)>;
      visit_panel<Stored>(block, first, width, steps_follow, [&](std::int64_t i, std::int64_t p, Stored const& x) {
        auto const z = numeric::convert<Accumulator>(x);
        auto const im = conjugate ? -z.imag() : z.imag();
        auto const at = place + 2 * p * width + i;
        packed[at] = z.real();
        packed[at + width] = is_left ? -im : im;
        if (is_left) {
          packed_swapped[at] = im;
          packed_swapped[at + width] = z.real();
        }
      });
    });
  }
}

// Where the rows and columns of a block are in one of the arrays (M,N,L).
struct Places {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;

  void fill(Geometry const& g, Role role, std::int64_t m, std::int64_t rows_count, std::int64_t n,
            std::int64_t columns_count) {
    if (!g.has(role)) return;
    rows.resize(rows_count);
    columns.resize(columns_count);
    fill_offsets(g.m, role, m, rows_count, rows.data());
    fill_offsets(g.n, role, n, columns_count, columns.data());
  }
};

struct Range {
  std::int64_t first;
  std::int64_t count;
};

// One rectangle of the result of one product of the batch.
template <Compute compute>
class Multiplication {
  using Scalar = typename Arithmetic<compute>::Scalar;
  using Accumulator = typename Arithmetic<compute>::Accumulator;
  using Sum = SumOf<Scalar>;
  using E = EpilogueType<Accumulator>;
  static constexpr bool kComplex = kIsComplex<Accumulator>;
  static constexpr int kParts = kComplex ? 2 : 1;  // real and imaginary part

 public:
  Multiplication(MicroKernel<Scalar> const& micro, Geometry const& g, Arguments const& x, std::int64_t rows,
                 std::int64_t columns)
      : micro_(micro),
        g_(g),
        x_(x),
        k_(g.k.size()),
        block_m_(std::min(round_up(rows, micro.mr), scaled(kBlockM) / micro.mr * micro.mr)),
        sum_m_(std::min(round_up(rows, micro.mr), scaled(kSumM) / micro.mr * micro.mr)),
        block_n_(std::min(round_up(columns, micro.nr), kBlockN / micro.nr * micro.nr)),
        block_k_(std::clamp<std::int64_t>(k_, 1, kBlockK / kParts)),
        packed_a_(block_m_ * block_k_ * kParts),
        packed_a_swapped_(kComplex ? block_m_ * block_k_ * kParts : 0),
        packed_b_(block_n_ * block_k_ * kParts),
        keeps_lost_(std::is_same_v<Scalar, double> && k_ > kFewBlocks * block_k_),
        sums_(k_ > block_k_ ? sum_m_ * block_n_ * kParts : 0),
        lost_(keeps_lost_ ? sum_m_ * block_n_ * kParts : 0),
        tile_(kParts * micro.mr * micro.nr),
        a_rows_(block_m_),
        b_rows_(block_n_),
        a_steps_(block_k_),
        b_steps_(block_k_),
        alpha_(numeric::scalar<E>(x.alpha)),
        beta_(numeric::scalar<E>(x.beta)),
        scale_(numeric::scalar<E>(x.scale)) {
    auto const type = g.type[Role::d];
    bool const one_type = type == numeric::kDTypeOf<Accumulator> && (!g.reads_c || g.type[Role::c] == type);
    stores_plainly_ = !kComplex && one_type && micro.store != nullptr && g.is_plain();
  }

  void run(std::int64_t l, Range const& m, Range const& n, Execution const& execution) {
    execution_ = &execution;
    auto const at = [&](Role role) {
      return g_.has(role) ? element(x_.data[role], g_.type[role], offset_of(g_.l, role, l)) : nullptr;
    };
    a_ = at(Role::a);
    b_ = at(Role::b);
    c_ = at(Role::c);
    d_ = at(Role::d);
    bias_ = at(Role::bias);
    residual_ = at(Role::residual);
    for (std::int64_t jb = 0; jb < n.count; jb += block_n_) {
      for (std::int64_t ib = 0; ib < m.count; ib += sum_m_) {
        multiply_blocks({m.first + ib, std::min(sum_m_, m.count - ib)},
                        {n.first + jb, std::min(block_n_, n.count - jb)});
      }
    }
  }

 private:
  static constexpr std::int64_t scaled(std::int64_t extent) {
    return extent * static_cast<std::int64_t>(sizeof(float)) / static_cast<std::int64_t>(sizeof(Scalar)) / kParts;
  }

  // Rows and columns that share their sums: all of K, then the epilogue.
  void multiply_blocks(Range const& m, Range const& n) {
    d_places_.fill(g_, Role::d, m.first, m.count, n.first, n.count);
    c_places_.fill(g_, Role::c, m.first, m.count, n.first, n.count);
    bias_places_.fill(g_, Role::bias, m.first, m.count, n.first, n.count);
    residual_places_.fill(g_, Role::residual, m.first, m.count, n.first, n.count);

    if (k_ == 0) {
      std::fill_n(tile_.data, kParts * micro_.mr * micro_.nr, Scalar(0));
      for_each_tile(m.count, n.count,
                    [&](std::int64_t i, std::int64_t j) { finish(tile_.data, i, j, m.count, n.count); });
      return;
    }
    for (std::int64_t kb = 0; kb < k_; kb += block_k_) {
      auto const kk = std::min(block_k_, k_ - kb);
      fill_offsets(g_.k, Role::a, kb, kk, a_steps_.data());
      fill_offsets(g_.k, Role::b, kb, kk, b_steps_.data());
      fill_offsets(g_.n, Role::b, n.first, n.count, b_rows_.data());
      Block const block_b{b_, g_.type[Role::b], b_rows_.data(), n.count, b_steps_.data(), kk};
      if constexpr (kComplex) {
        pack_complex<compute>(block_b, micro_.nr, g_.conj_b, packed_b_.data, nullptr);
      } else {
        pack<compute>(block_b, micro_.nr, packed_b_.data);
      }
      for (std::int64_t ib = 0; ib < m.count; ib += block_m_) {
        auto const rows = std::min(block_m_, m.count - ib);
        unchecked_ += rows * n.count * kk;
        if (unchecked_ >= kWorkUnchecked) {
          unchecked_ = 0;
          execution_->check_interrupt();
        }
        fill_offsets(g_.m, Role::a, m.first + ib, rows, a_rows_.data());
        Block const block_a{a_, g_.type[Role::a], a_rows_.data(), rows, a_steps_.data(), kk};
        if constexpr (kComplex) {
          pack_complex<compute>(block_a, micro_.mr, g_.conj_a, packed_a_.data, packed_a_swapped_.data);
        } else {
          pack<compute>(block_a, micro_.mr, packed_a_.data);
        }
        for_each_tile(rows, n.count, [&](std::int64_t i, std::int64_t j) {
          multiply_tile(kk, i, j);
          if (k_ > block_k_) gather_tile(ib + i, j, kb == 0, kb + kk == k_);
          if (kb + kk == k_) finish(tile_.data, ib + i, j, m.count, n.count);
        });
      }
    }
  }

  template <class Work>
  void for_each_tile(std::int64_t rows, std::int64_t columns, Work const& work) {
    for (std::int64_t j = 0; j < columns; j += micro_.nr) {
      for (std::int64_t i = 0; i < rows; i += micro_.mr) work(i, j);
    }
  }

  // The products of a block of K, summed, in tile_.
  void multiply_tile(std::int64_t kk, std::int64_t i, std::int64_t j) {
    auto const steps = kParts * kk;
    micro_.multiply(steps, packed_a_.data + i * steps, packed_b_.data + j * steps, tile_.data);
    if constexpr (kComplex) {
      micro_.multiply(steps, packed_a_swapped_.data + i * steps, packed_b_.data + j * steps,
                      tile_.data + micro_.mr * micro_.nr);
    }
  }

  // Adds tile_ to the sums of the register tile at (i,j). After the last block they are in tile_.
  void gather_tile(std::int64_t i, std::int64_t j, bool is_first, bool is_last) {
    auto const tile = micro_.mr * micro_.nr;
    auto const place = kParts * (j * sum_m_ + i * micro_.nr);
    for (int part = 0; part < kParts; ++part) {
      auto* const acc = tile_.data + part * tile;
      Sum* const sums = sums_.data + place + part * tile;
      Sum* const lost = keeps_lost_ ? lost_.data + place + part * tile : nullptr;
      micro_.gather(acc, sums, lost, is_first);
      if (is_last) micro_.settle(sums, lost, acc);
    }
  }

  void finish(Scalar const* acc, std::int64_t i, std::int64_t j, std::int64_t rows_left, std::int64_t columns_left) {
    auto const rows = std::min<std::int64_t>(micro_.mr, rows_left - i);
    auto const columns = std::min<std::int64_t>(micro_.nr, columns_left - j);
    if constexpr (!kComplex && !std::is_same_v<Scalar, std::uint32_t>) {
      bool const c_follows = !g_.reads_c || follow_one_another(&c_places_.rows[i], rows);
      if (stores_plainly_ && c_follows && follow_one_another(&d_places_.rows[i], rows)) {
        auto const* const c = g_.reads_c ? static_cast<Scalar const*>(c_) + c_places_.rows[i] : nullptr;
        micro_.store(alpha_, acc, beta_, c, g_.reads_c ? &c_places_.columns[j] : nullptr,
                     static_cast<Scalar*>(d_) + d_places_.rows[i], &d_places_.columns[j], rows, columns);
        return;
      }
    }
    for (std::int64_t jj = 0; jj < columns; ++jj) {
      for (std::int64_t ii = 0; ii < rows; ++ii) {
        E const x = epilogue(accumulated(acc, jj * micro_.mr + ii), i + ii, j + jj);
        numeric::store_as(d_, g_.type[Role::d], d_places_.rows[i + ii] + d_places_.columns[j + jj], x, g_.saturate);
      }
    }
  }

  E accumulated(Scalar const* acc, std::int64_t index) const {
    if constexpr (kComplex) {
      return E(acc[index], acc[index + micro_.mr * micro_.nr]);
    } else if constexpr (std::is_same_v<Scalar, std::uint32_t>) {
      return static_cast<E>(static_cast<std::int32_t>(acc[index]));
    } else {
      return acc[index];
    }
  }

  E epilogue(E acc, std::int64_t i, std::int64_t j) const {
    auto const load = [&](void const* data, Role role, Places const& places) {
      return numeric::load_as<E>(data, g_.type[role], places.rows[i] + places.columns[j]);
    };
    E x = g_.reads_c ? numeric::axpby<E>(alpha_, acc, beta_, load(c_, Role::c, c_places_)) : alpha_ * acc;
    if (g_.is_plain()) return x;
    if (g_.has_bias) x = x + load(bias_, Role::bias, bias_places_);
    x = numeric::activate(g_.activation, x);
    if (g_.scales) x = x * scale_;
    if (g_.has_residual) x = x + load(residual_, Role::residual, residual_places_);
    return x;
  }

  MicroKernel<Scalar> const micro_;
  Geometry const& g_;
  Arguments const& x_;
  std::int64_t const k_;
  std::int64_t const block_m_;
  std::int64_t const sum_m_;
  std::int64_t const block_n_;
  std::int64_t const block_k_;
  AlignedBuffer<Scalar> packed_a_;
  AlignedBuffer<Scalar> packed_a_swapped_;
  AlignedBuffer<Scalar> packed_b_;
  bool const keeps_lost_;
  AlignedBuffer<Sum> sums_;  // kept while there is more of K to come
  AlignedBuffer<Sum> lost_;
  AlignedBuffer<Scalar> tile_;
  std::vector<std::int64_t> a_rows_;
  std::vector<std::int64_t> b_rows_;
  std::vector<std::int64_t> a_steps_;
  std::vector<std::int64_t> b_steps_;
  E const alpha_;
  E const beta_;
  E const scale_;
  bool stores_plainly_ = false;
  Execution const* execution_ = nullptr;
  std::int64_t unchecked_ = 0;  // multiply-adds since somebody was asked whether to stop
  Places c_places_;
  Places d_places_;
  Places bias_places_;
  Places residual_places_;
  void* a_ = nullptr;
  void* b_ = nullptr;
  void* c_ = nullptr;
  void* d_ = nullptr;
  void* bias_ = nullptr;
  void* residual_ = nullptr;
};

// Into how many parts a result is cut along m and along n so that so many threads have one each. A thread packs its
// rows and its columns: the fewer of both its part has, the better, and no thread has more tiles than it must.
std::pair<std::int64_t, std::int64_t> cut(std::int64_t threads, std::int64_t tiles_m, std::int64_t mr,
                                          std::int64_t tiles_n, std::int64_t nr) {
  std::pair<std::int64_t, std::int64_t> best{1, threads};
  auto least = std::numeric_limits<double>::infinity();
  for (std::int64_t parts_m = 1; parts_m <= threads; ++parts_m) {
    if (threads % parts_m != 0) continue;
    auto const rows = static_cast<double>(ceil_div(tiles_m, parts_m) * mr);
    auto const columns = static_cast<double>(ceil_div(tiles_n, threads / parts_m) * nr);
    // Multiply-adds, and what it costs to pack: as much as kPackingCost of them for an element.
    constexpr double kPackingCost = 16;
    double const cost = rows * columns + kPackingCost * (rows + columns);
    if (cost < least) {
      least = cost;
      best = {parts_m, threads / parts_m};
    }
  }
  return best;
}

// Cuts the batch, and if that is not enough each result, into parts for the threads.
template <Compute compute, Isa isa>
int run(Geometry const& g, Arguments const& x, Execution const& execution) {
  using Scalar = typename Arithmetic<compute>::Scalar;
  if (g.is_empty()) return 0;
  auto const micro = micro_kernel<Scalar, isa>();
  auto const m = g.m.size();
  auto const n = g.n.size();
  auto const l = g.l.size();
  auto const tiles_m = ceil_div(m, micro.mr);
  auto const tiles_n = ceil_div(n, micro.nr);
  double const product_work =
      static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(std::max<std::int64_t>(g.k.size(), 1));
  double const work = product_work * static_cast<double>(l);
  auto const threads = static_cast<std::int64_t>(
      std::clamp(work / kWorkPerThread, 1.0, static_cast<double>(std::max(execution.host_threads, 1))));

  auto const cuts = cut(ceil_div(threads, std::min(l, threads)), tiles_m, micro.mr, tiles_n, micro.nr);
  auto const parts_m = cuts.first;
  auto const parts_n = cuts.second;
  auto const part_m = ceil_div(tiles_m, parts_m) * micro.mr;
  auto const part_n = ceil_div(tiles_n, parts_n) * micro.nr;

  // Each worker keeps its buffers from part to part.
  auto const parts = parts_m * parts_n * l;
  auto const workers = std::min(threads, parts);
  parallel_for(static_cast<int>(threads), workers, [&](std::int64_t worker) {
    Multiplication<compute> multiplication(micro, g, x, std::min(part_m, m), std::min(part_n, n));
    for (auto part = parts * worker / workers; part < parts * (worker + 1) / workers; ++part) {
      auto const first_m = part % parts_m * part_m;
      auto const first_n = part / parts_m % parts_n * part_n;
      if (first_m >= m || first_n >= n) continue;
      multiplication.run(part / parts_m / parts_n, {first_m, std::min(part_m, m - first_m)},
                         {first_n, std::min(part_n, n - first_n)}, execution);
    }
  });
  return 0;
}

template <Compute compute, Isa isa>
std::unique_ptr<Launch> prepare(char const*, Geometry const& geometry, Cut const&) {
  return std::make_unique<HostLaunch<&run<compute, isa>>>(geometry);
}

constexpr char const* kLetters[kComputes] = {"f32", "tf32", "f64", "c64", "c128", "i32"};

template <Isa isa, Compute compute>
Entry entry() {
  constexpr auto kTile = register_tile(isa);
  static std::string const name = std::string("cpu_") + name_of(isa) + "_" + kLetters[static_cast<int>(compute)];
  Traits traits = host_traits(name.c_str(), "cpu", compute);
  traits.factors = factor_types(compute);
  traits.results = result_types(compute);
  traits.conjugates = true;
  traits.tile[0] = kTile.mr(sizeof(typename Arithmetic<compute>::Scalar));
  traits.tile[1] = kTile.nr;
  traits.tile[2] = static_cast<int>(kBlockK);
  traits.isa = isa;
  return {traits, &engine_rules, &prepare<compute, isa>, nullptr, nullptr};
}

template <Isa isa, int... compute>
void add(std::vector<Entry>& entries, std::integer_sequence<int, compute...>) {
  (entries.push_back(entry<isa, static_cast<Compute>(compute)>()), ...);
}

}  // namespace

void add_engine(std::vector<Entry>& entries) {
  constexpr auto kEach = std::make_integer_sequence<int, kComputes>();
  add<Isa::baseline>(entries, kEach);
#ifdef __x86_64__
  add<Isa::avx2>(entries, kEach);
  add<Isa::avx512>(entries, kEach);
#endif
}

}  // namespace cute_py::cpu
