// D(m,n,l) = epilogue(alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l)) on the host
//
// The five loops of GotoBLAS and BLIS around a micro-kernel, over panels whose format is a type (panels.hpp). Tables of
// offsets say where the rows, columns and steps of k of a block are, whatever modes they have; packing turns them into
// panels with unit strides and of the type that is computed in.
//
//   loop 5   jc over N by NC      columns of B, packed, that L3 holds
//   loop 4   pc over K by KC      one block of the order of adds: kBlockOfK steps, or as many words
//   loop 3   ic over M by MC      rows of A, packed, that L2 holds
//   loop 2   jr over NC by NR     a panel of B, in L1
//   loop 1   ir over MC by MR     a panel of A; the micro-kernel goes over KC
//
// Requires:  any extents, any modes, any strides, every type that fits the compute type
// Numerics:  blocks of K, each summed with k ascending in one accumulator per element; the sums of up to 16 blocks are
//            added in their order in the same type, and the sums of those compensated (block_sums.hpp). The same bits
//            for any number of threads and any place in the result
// Workspace: packed blocks of A and B, sums that have to wait for the next block of K: up to 16 MB per thread
// Threads:   each its products of the batch, or a rectangle of the result; one per 2M multiply-adds at most
#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "base/workspace.hpp"
#include "cpu/dot/block_sums.hpp"
#include "cpu/family.hpp"
#include "cpu/finish.hpp"
#include "cpu/gemm/blocking.hpp"
#include "cpu/gemm/complex.hpp"
#include "cpu/gemm/gemm.hpp"
#include "cpu/gemm/real.hpp"
#include "cpu/gemm/words.hpp"

namespace cute_py::cpu {

extern Rules const gemm_rules;

namespace {

// With so many steps of k it shows how a tile's results are written.
constexpr std::int64_t kFewSteps = 128;

template <Compute compute>
using PanelsOf =
    std::conditional_t<compute == Compute::i32, WordPanels,
                       std::conditional_t<kParts<compute> == 2, ComplexPanels<compute>, RealPanels<compute>>>;

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

// How rectangles of the result are computed, of up to so many rows and columns, and what that takes.
template <Compute compute>
class Blocking {
 protected:
  using Panels = PanelsOf<compute>;
  using Scalar = typename Arithmetic<compute>::Scalar;
  using Accumulator = typename Arithmetic<compute>::Accumulator;
  using Sum = SumOf<Scalar>;
  static constexpr bool kComplex = numeric::kIsComplex<Accumulator>;
  static constexpr bool kInWords = std::is_same_v<Scalar, std::uint32_t>;
  static constexpr int kParts = cpu::kParts<compute>;  // real and imaginary part

 public:
  Blocking(Panels const& panels, Geometry const& g, bool is_scaled, std::int64_t rows, std::int64_t columns)
      : panels_(panels),
        g_(g),
        mr_(panels.mr()),
        nr_(panels.nr()),
        k_(g.k.size()),
        block_k_(std::clamp<std::int64_t>(k_, 1, kBlockOfK * panels.steps_of_scalar())),
        blocks_(ceil_div(k_, block_k_)),
        stores_(stores_tiles(panels, g, is_scaled)),
        // Sums of a group of blocks are kept where the result will be, unless C is there.
        keeps_in_d_((stores_ || joins()) && !(g.reads_c && g.c_is_d) && follows(g, Role::d)),
        writes_at_once_(!kInWords && stores_ && keeps_in_d_ && !g.reads_c && g.n.rank() <= 1 && k_ <= kFewSteps),
        block_m_(std::min(round_up(rows, mr_), host_cache_blocking().bytes_a / bytes_of_step() / mr_ * mr_)),
        block_n_(std::min(round_up(columns, nr_), host_cache_blocking().bytes_b / bytes_of_step() / nr_ * nr_)),
        sum_m_(rows_of_sums(rows)) {}

  std::size_t scratch_bytes() const {
    auto const scalars = [](std::int64_t count) { return Workspace::bytes_of<Scalar>(count); };
    return scalars(size_of_a()) + scalars(size_of_b()) + scalars(size_of_tile()) + scalars(size_of_group()) +
           2 * Workspace::bytes_of<Sum>(size_of_sums());
  }

 protected:
  // Steps of k as they are packed.
  std::int64_t packed_steps(std::int64_t steps) const { return ceil_div(steps, panels_.steps_of_scalar()); }

  std::int64_t size_of_a() const { return block_m_ * packed_steps(block_k_) * kParts + kMostLanes; }
  std::int64_t size_of_b() const { return block_n_ * packed_steps(block_k_) * kParts + kMostLanes; }
  std::int64_t size_of_tile() const { return kParts * mr_ * nr_; }
  std::int64_t size_of_group() const { return blocks_ <= 1 || keeps_in_d_ ? 0 : sum_m_ * block_n_ * kParts; }
  std::int64_t size_of_sums() const { return blocks_ <= kBlocksOfGroup ? 0 : sum_m_ * block_n_ * kParts; }

  // Are rows contiguous, wherever a tile begins?
  static bool follows(Geometry const& g, Role role) {
    return g.m.rank() == 0 || (g.m.rank() == 1 && g.m[0].stride[role] == 1);
  }

  // Is D = alpha * sums + beta * C all that is done to complex numbers, in one type?
  bool joins() const {
    if constexpr (kComplex) {
      return Panels::joins(g_);
    } else {
      return false;
    }
  }

 private:
  static bool stores_tiles(Panels const& panels, Geometry const& g, bool is_scaled) {
    if constexpr (kComplex) {
      return false;
    } else {
      return panels.stores(g, is_scaled);
    }
  }

  std::int64_t rows_of_sums(std::int64_t rows) const {
    auto const all = round_up(rows, mr_);
    if (blocks_ <= 1 || (keeps_in_d_ && blocks_ <= kBlocksOfGroup)) return all;
    std::int64_t const of_element = kParts * (sizeof(Scalar) + (blocks_ > kBlocksOfGroup ? 2 * sizeof(Sum) : 0));
    return std::min(all, std::max(kBytesOfSums / (of_element * block_n_) / block_m_, std::int64_t{1}) * block_m_);
  }

  // Of the packed elements of a row or a column in a block of K.
  static constexpr std::int64_t bytes_of_step() { return kBlockOfK * kParts * sizeof(Scalar); }

 protected:
  Panels const panels_;
  Geometry const& g_;
  std::int64_t const mr_;
  std::int64_t const nr_;
  std::int64_t const k_;
  std::int64_t const block_k_;  // KC, in steps of k
  std::int64_t const blocks_;
  bool const stores_;  // tiles of sums as they are, but for alpha, beta and C
  bool const keeps_in_d_;
  bool const writes_at_once_;   // a tile, out of the registers that it is summed in
  std::int64_t const block_m_;  // MC
  std::int64_t const block_n_;  // NC
  std::int64_t const sum_m_;    // rows whose sums are kept while K goes on
};

// One rectangle of the result of one product of the batch.
template <Compute compute>
class Multiplication : Blocking<compute> {
  using Base = Blocking<compute>;
  using Base::block_k_;
  using Base::block_m_;
  using Base::block_n_;
  using Base::blocks_;
  using Base::follows;
  using Base::g_;
  using Base::k_;
  using Base::kComplex;
  using Base::keeps_in_d_;
  using Base::kInWords;
  using Base::kParts;
  using Base::mr_;
  using Base::nr_;
  using Base::panels_;
  using Base::size_of_tile;
  using Base::stores_;
  using Base::sum_m_;
  using Base::writes_at_once_;
  using typename Base::Accumulator;
  using typename Base::Panels;
  using typename Base::Scalar;
  using typename Base::Sum;

 public:
  Multiplication(Panels const& panels, Geometry const& g, Arguments const& x, std::int64_t rows, std::int64_t columns)
      : Base(panels, g, x.alpha != 1.0, rows, columns),
        x_(x),
        memory_(this->scratch_bytes()),
        packed_a_(memory_.take<Scalar>(this->size_of_a())),
        packed_b_(memory_.take<Scalar>(this->size_of_b())),
        tile_(memory_.take<Scalar>(size_of_tile())),
        group_(memory_.take<Scalar>(this->size_of_group())),
        sums_(memory_.take<Sum>(this->size_of_sums())),
        compensation_(memory_.take<Sum>(BlockSums<Scalar>::kCompensates ? this->size_of_sums() : 0)),
        a_rows_(block_m_),
        b_rows_(block_n_),
        a_steps_(block_k_),
        b_steps_(block_k_),
        tile_columns_(nr_),
        finish_(g, x, panels_.kernels) {
    for (std::int64_t j = 0; j < nr_; ++j) tile_columns_[j] = j * mr_;
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
    product_ = l;
    for (std::int64_t jc = 0; jc < n.count; jc += block_n_) {  // loop 5
      Range const columns{n.first + jc, std::min(block_n_, n.count - jc)};
      for (std::int64_t is = 0; is < m.count; is += sum_m_) {
        multiply_blocks({m.first + is, std::min(sum_m_, m.count - is)}, columns);
      }
    }
  }

 private:
  // Rows and columns that share their sums: all of K, then the epilogue.
  void multiply_blocks(Range const& m, Range const& n) {
    m_ = m;
    n_ = n;
    d_places_.fill(g_, Role::d, m.first, m.count, n.first, n.count);
    c_places_.fill(g_, Role::c, m.first, m.count, n.first, n.count);
    bias_places_.fill(g_, Role::bias, m.first, m.count, n.first, n.count);
    residual_places_.fill(g_, Role::residual, m.first, m.count, n.first, n.count);
    if (k_ == 0) {
      std::fill_n(tile_, size_of_tile(), Scalar(0));
      for_each_tile(m.count, [&](std::int64_t i, std::int64_t j) { finish(tile_, i, j); });
      return;
    }
    for (std::int64_t pc = 0; pc < k_; pc += block_k_) {  // loop 4
      auto const kc = std::min(block_k_, k_ - pc);
      fill_offsets(g_.k, Role::a, pc, kc, a_steps_.data());
      fill_offsets(g_.k, Role::b, pc, kc, b_steps_.data());
      fill_offsets(g_.n, Role::b, n.first, n.count, b_rows_.data());
      panels_.pack_b({b_, g_.type[Role::b], b_rows_.data(), n.count, b_steps_.data(), kc}, packed_b_);
      for (std::int64_t ic = 0; ic < m.count; ic += block_m_) {  // loop 3
        auto const mc = std::min(block_m_, m.count - ic);
        count_work(mc * n.count * kc);
        fill_offsets(g_.m, Role::a, m.first + ic, mc, a_rows_.data());
        panels_.pack_a({a_, g_.type[Role::a], a_rows_.data(), mc, a_steps_.data(), kc}, g_.conj_a != g_.conj_b,
                       packed_a_);
        for_each_tile(mc, [&](std::int64_t ir, std::int64_t jr) {
          multiply_tile(pc / block_k_, this->packed_steps(kc), ic, ir, jr, mc);
        });
      }
    }
  }

  template <class Work>
  void for_each_tile(std::int64_t mc, Work const& work) {
    for (std::int64_t jr = 0; jr < n_.count; jr += nr_) {          // loop 2
      for (std::int64_t ir = 0; ir < mc; ir += mr_) work(ir, jr);  // loop 1
    }
  }

  // The tile at (ic + ir, jr): the products of a block of K are summed, added to those of the blocks before, and after
  // the last block written. By the shortest way that there is.
  void multiply_tile(std::int64_t block, std::int64_t steps, std::int64_t ic, std::int64_t ir, std::int64_t jr,
                     std::int64_t mc) {
    auto const* const a = packed_a_ + kParts * ir * steps;
    auto const* const b = packed_b_ + kParts * jr * steps;
    auto const row = ic + ir;
    bool const is_last = block + 1 == blocks_;
    if ((keeps_in_d_ || is_last) && follows(g_, Role::d) && ir + mr_ < mc) prefetch(row + mr_, jr);
    if constexpr (!kComplex && !kInWords) {
      if (writes_at_once_) return multiply_and_write(steps, a, b, row, jr);
    }
    if (is_whole_in_d(is_last, ir, jr, mc)) {
      auto* const d = static_cast<Scalar*>(d_) + kParts * d_places_.rows[row];
      panels_.multiply_into(steps, a, b, block == 0, is_last ? alpha() : one(), d, &d_places_.columns[jr]);
      return;
    }
    if constexpr (!kComplex) {
      if (!keeps_in_d_ && 1 < blocks_ && blocks_ <= kBlocksOfGroup) {
        auto* const sums = group_ + jr * sum_m_ + row * nr_;
        panels_.multiply_into(steps, a, b, block == 0, Scalar(1), sums, tile_columns_.data());
        if (is_last) finish(sums, row, jr);
        return;
      }
    }
    panels_.multiply(steps, a, b, g_.conj_b, tile_);
    if (add_blocks(block, row, jr)) finish(tile_, row, jr);
  }

  // Of the micro-kernel; of int32 there is none.
  auto alpha() const {
    if constexpr (kComplex) {
      return finish_.alpha();
    } else {
      return panels_.alpha(finish_);
    }
  }
  static auto one() {
    if constexpr (kComplex) {
      return Accumulator(1);
    } else {
      return Scalar(1);
    }
  }

  // Asks whether to stop after a moment's work.
  void count_work(std::int64_t multiply_adds) {
    unchecked_ += multiply_adds;
    if (unchecked_ < kWorkUnchecked) return;
    unchecked_ = 0;
    execution_->check_interrupt();
  }

  // Is the tile at (ir,jr) whole, and are its sums where the result will be, all the time?
  bool is_whole_in_d(bool is_last, std::int64_t ir, std::int64_t jr, std::int64_t mc) const {
    if constexpr (kComplex) {
      if (g_.conj_b || (is_last && finish_.alpha() != Accumulator(1))) return false;
    }
    return keeps_in_d_ && !g_.reads_c && blocks_ <= kBlocksOfGroup && ir + mr_ <= mc && jr + nr_ <= n_.count;
  }

  // A tile, whole or an edge tile, of all of K: out of registers.
  void multiply_and_write(std::int64_t steps, Scalar const* a, Scalar const* b, std::int64_t i, std::int64_t j) const {
    auto* const d = static_cast<Scalar*>(d_) + d_places_.rows[i] + d_places_.columns[j];
    auto const d_column = g_.n.rank() == 0 ? 0 : g_.n[0].stride[Role::d];
    panels_.kernels.unpacked.along_m(steps, a, mr_, rows_at(i), b, 1, nr_, columns_at(j), finish_.alpha(), d, d_column);
  }

  // Rows and columns of the tile at (i,j): fewer in edge tiles.
  std::int64_t rows_at(std::int64_t i) const { return std::min(mr_, m_.count - i); }
  std::int64_t columns_at(std::int64_t j) const { return std::min(nr_, n_.count - j); }

  // The tile of the result at (i,j), which is about to be read or written.
  void prefetch(std::int64_t i, std::int64_t j) const {
    auto const type = g_.type[Role::d];
    for (std::int64_t jj = j; jj < j + columns_at(j); ++jj) {
      auto const* const column = static_cast<char const*>(element(d_, type, d_places_.rows[i] + d_places_.columns[jj]));
      for (std::int64_t byte = 0; byte < rows_at(i) * bytes_of(type); byte += 64) __builtin_prefetch(column + byte, 1);
    }
  }

  // Adds tile_ to the sums of the register tile at (i,j). After the last block they are in tile_, and it says so.
  bool add_blocks(std::int64_t block, std::int64_t i, std::int64_t j) {
    bool const is_last = block + 1 == blocks_;
    if (blocks_ == 1) return true;
    auto const place = kParts * (j * sum_m_ + i * nr_);
    auto const all = size_of_tile();
    SumsKernel<Scalar> const& kernel = panels_.kernels.sums;
    if (!keeps_in_d_) {
      BlockSums<Scalar>{kernel, all, group_ + place, sums_ + place, compensation_ + place}.add(block, is_last, tile_);
      return is_last;
    }
    auto* const d = static_cast<Scalar*>(d_) + kParts * d_places_.rows[i];
    auto const* const columns = &d_places_.columns[j];
    auto const in_group = block % kBlocksOfGroup;
    if (in_group > 0) panels_.add(d, columns, rows_at(i), columns_at(j), tile_);
    if (!is_last && in_group + 1 < kBlocksOfGroup) {
      panels_.keep(tile_, rows_at(i), columns_at(j), d, columns);
      return false;
    }
    bool const is_first = block < kBlocksOfGroup;
    if (is_last && is_first) return true;
    Sum* const compensation = BlockSums<Scalar>::kCompensates ? compensation_ + place : nullptr;
    kernel.accumulate(all, tile_, sums_ + place, compensation, is_first);
    if (is_last) kernel.finalise(all, sums_ + place, compensation, tile_);
    return is_last;
  }

  // Writes the tile at (i,j), whose sums are `acc`: as a whole where its rows are contiguous, else by runs of rows.
  void finish(Scalar const* acc, std::int64_t i, std::int64_t j) {
    auto const rows = rows_at(i);
    auto const columns = columns_at(j);
    count_work(rows * columns * finish_.work_of_element());
    if constexpr (kComplex) {
      if (this->joins() && !g_.reads_c && are_consecutive(&d_places_.rows[i], rows)) {
        Scalar const parts[2] = {finish_.alpha().real(), finish_.alpha().imag()};
        auto const* const alpha = parts[0] == 1 && parts[1] == 0 ? nullptr : parts;
        panels_.join(acc, alpha, rows, columns, static_cast<Scalar*>(d_) + 2 * d_places_.rows[i],
                     &d_places_.columns[j]);
        return;
      }
    } else {
      bool const c_follows = !g_.reads_c || follows(g_, Role::c) || are_consecutive(&c_places_.rows[i], rows);
      if (stores_ && c_follows && (keeps_in_d_ || are_consecutive(&d_places_.rows[i], rows))) {
        auto const* const c = g_.reads_c ? static_cast<Scalar const*>(c_) + c_places_.rows[i] : nullptr;
        panels_.micro.store(alpha(), acc, mr_, g_.reads_c ? panels_.beta(finish_) : Scalar(0), c,
                            g_.reads_c ? &c_places_.columns[j] : nullptr, static_cast<Scalar*>(d_) + d_places_.rows[i],
                            &d_places_.columns[j], rows, columns);
        return;
      }
      if (stores_ && !g_.reads_c) return scatter(acc, i, j, rows, columns);
      if constexpr (!kInWords) {
        if (finish_.is_in_one_pass() && finish_tile(acc, i, j, rows, columns)) return;
      }
    }
    finish_runs(acc, i, j, rows, columns);
  }

  // Number by number, in the order in which the result lies.
  void scatter(Scalar const* acc, std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t columns) const {
    auto* const d = static_cast<Scalar*>(d_);
    auto const* const at_row = &d_places_.rows[i];
    auto const* const at_column = &d_places_.columns[j];
    auto const scale = alpha();
    if (columns > 1 && at_column[1] == at_column[0] + 1) {
      for (std::int64_t ii = 0; ii < rows; ++ii) {
        auto* const row = d + at_row[ii];
        for (std::int64_t jj = 0; jj < columns; ++jj) row[at_column[jj]] = scale * acc[jj * mr_ + ii];
      }
    } else {
      for (std::int64_t jj = 0; jj < columns; ++jj) {
        auto* const column = d + at_column[jj];
        for (std::int64_t ii = 0; ii < rows; ++ii) column[at_row[ii]] = scale * acc[jj * mr_ + ii];
      }
    }
  }

  // With a bias and an activation, if rows are contiguous.
  bool finish_tile(Scalar const* acc, std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t columns) const {
    if (!follows(g_, Role::d) && !are_consecutive(&d_places_.rows[i], rows)) return false;
    BiasOfTile<Scalar> bias{};
    if (g_.has_bias) {
      auto const* const of_rows = &bias_places_.rows[i];
      bool const is_same =
          g_.m.rank() == 1 ? g_.m[0].stride[Role::bias] == 0 : std::equal(of_rows + 1, of_rows + rows, of_rows);
      if (!is_same && !follows(g_, Role::bias) && !are_consecutive(of_rows, rows)) return false;
      bias = {static_cast<Scalar const*>(x_.data[Role::bias]) + offset_of(g_.l, Role::bias, product_) + of_rows[0],
              !is_same, &bias_places_.columns[j]};
    }
    return finish_.tile(rows, columns, acc, mr_, bias, static_cast<Scalar*>(d_) + d_places_.rows[i],
                        &d_places_.columns[j]);
  }

  // Any epilogue: runs of rows along the first mode of M.
  void finish_runs(Scalar const* acc, std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t columns) const {
    for (std::int64_t ii = 0; ii < rows;) {
      auto const left = g_.m.rank() == 0 ? rows : g_.m[0].extent - (m_.first + i + ii) % g_.m[0].extent;
      auto const count = std::min(rows - ii, left);
      PerRole<Line> lines;
      PerRole<std::int64_t> first;
      for (Role const role : kFinishRoles) {
        if (!g_.has(role)) continue;
        first[role] = offset_of(g_.l, role, product_) + places_of(role).rows[i + ii];
        lines[role].stride = g_.m.rank() == 0 ? 0 : g_.m[0].stride[role];
      }
      for (std::int64_t jj = 0; jj < columns; ++jj) {
        for (Role const role : kFinishRoles) {
          if (g_.has(role)) lines[role].offset = first[role] + places_of(role).columns[j + jj];
        }
        Accumulator buffer[kComplex ? kMostMr : 1];
        finish_(panels_.line(acc, jj * mr_ + ii, count, buffer), count, lines);
      }
      ii += count;
    }
  }

  static constexpr Role kFinishRoles[] = {Role::c, Role::d, Role::bias, Role::residual};

  Places const& places_of(Role role) const {
    return role == Role::c      ? c_places_
           : role == Role::d    ? d_places_
           : role == Role::bias ? bias_places_
                                : residual_places_;
  }

  Arguments const& x_;
  Workspace memory_;
  Scalar* const packed_a_;
  Scalar* const packed_b_;
  Scalar* const tile_;
  Scalar* const group_;  // sums of blocks, and of groups of blocks, while there is more of K to come
  Sum* const sums_;
  Sum* const compensation_;
  std::vector<std::int64_t> a_rows_;
  std::vector<std::int64_t> b_rows_;
  std::vector<std::int64_t> a_steps_;
  std::vector<std::int64_t> b_steps_;
  std::vector<std::int64_t> tile_columns_;  // where those of a tile of sums are
  Finish<compute> const finish_;
  Execution const* execution_ = nullptr;
  std::int64_t unchecked_ = 0;  // multiply-adds since somebody was asked whether to stop
  Places c_places_;             // of the rows m_ and the columns n_
  Places d_places_;
  Places bias_places_;
  Places residual_places_;
  Range m_{};
  Range n_{};
  void* a_ = nullptr;
  void* b_ = nullptr;
  void* c_ = nullptr;
  void* d_ = nullptr;
  std::int64_t product_ = 0;  // of the batch
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

// The batch, and if that is not enough each result, cut into parts for the threads.
template <Compute compute>
class GemmLaunch final : public Launch {
 public:
  GemmLaunch(PanelsOf<compute> const& panels, Geometry const& geometry) : panels_(panels), geometry_(geometry) {}

  int run(Arguments const& x, Execution const& execution) const override {
    Geometry const& g = geometry_;
    if (g.is_empty()) return 0;
    Parts const of = parts_for(execution.host_threads);
    // Each worker keeps its buffers from part to part.
    auto const parts = of.parts_m * of.parts_n * g.l.size();
    parallel_for(static_cast<int>(of.threads), of.workers, [&](std::int64_t worker) {
      Multiplication<compute> multiplication(panels_, g, x, of.rows, of.columns);
      for (auto part = parts * worker / of.workers; part < parts * (worker + 1) / of.workers; ++part) {
        auto const first_m = part % of.parts_m * of.part_m;
        auto const first_n = part / of.parts_m % of.parts_n * of.part_n;
        if (first_m >= g.m.size() || first_n >= g.n.size()) continue;
        multiplication.run(part / of.parts_m / of.parts_n, {first_m, std::min(of.part_m, g.m.size() - first_m)},
                           {first_n, std::min(of.part_n, g.n.size() - first_n)}, execution);
      }
    });
    return 0;
  }

  std::int64_t scratch_bytes(int host_threads) const override {
    if (geometry_.is_empty()) return 0;
    Parts const of = parts_for(host_threads);
    // An alpha takes int32 by way of memory.
    Blocking<compute> const each(panels_, geometry_, true, of.rows, of.columns);
    return of.workers * static_cast<std::int64_t>(each.scratch_bytes());
  }

 private:
  struct Parts {
    std::int64_t threads;
    std::int64_t workers;
    std::int64_t parts_m;
    std::int64_t parts_n;
    std::int64_t part_m;  // rows and columns that a part begins behind the one before
    std::int64_t part_n;
    std::int64_t rows;  // the most that one has
    std::int64_t columns;
  };

  Parts parts_for(int host_threads) const {
    Geometry const& g = geometry_;
    auto const mr = panels_.mr();
    auto const nr = panels_.nr();
    auto const m = g.m.size();
    auto const n = g.n.size();
    auto const l = g.l.size();
    auto const tiles_m = ceil_div(m, mr);
    auto const tiles_n = ceil_div(n, nr);
    double const work = static_cast<double>(m) * static_cast<double>(n) *
                        static_cast<double>(std::max<std::int64_t>(g.k.size(), 1)) * static_cast<double>(l);
    auto const threads = static_cast<std::int64_t>(threads_for(work, kWorkPerThread, host_threads));
    auto const [parts_m, parts_n] = cut(ceil_div(threads, std::min(l, threads)), tiles_m, mr, tiles_n, nr);
    auto const part_m = ceil_div(tiles_m, parts_m) * mr;
    auto const part_n = ceil_div(tiles_n, parts_n) * nr;
    auto const workers = std::min(threads, parts_m * parts_n * l);
    return {threads, workers, parts_m, parts_n, part_m, part_n, std::min(part_m, m), std::min(part_n, n)};
  }

  PanelsOf<compute> const panels_;
  Geometry const geometry_;
};

struct GemmFamily {
  static constexpr char const* kernel = "cpu";
  static constexpr Rules const* rules = &gemm_rules;
  using List = decltype(Variants<Isas, Compute::f32, Compute::tf32, Compute::f64, Compute::c64, Compute::c128>{} +
                        Variants<Int8Isas, Compute::i32>{});

  template <class V>
  static void limit(Traits& traits) {
    constexpr auto kTile = register_tile(V::isa);
    traits.tile[0] = kTile.mr(sizeof(typename Arithmetic<V::compute>::Scalar));
    traits.tile[1] = kParts<V::compute> == 2 ? kTile.nr_complex() : kTile.nr;
    traits.tile[2] = static_cast<int>(kBlockOfK) * panels<V>().steps_of_scalar();
    traits.one_order = true;
  }

  template <class V>
  static std::unique_ptr<Launch> prepare(Geometry const& geometry) {
    return std::make_unique<GemmLaunch<V::compute>>(panels<V>(), geometry);
  }

 private:
  template <class V>
  static auto panels() {
    return PanelsOf<V::compute>::template of<V::isa>();
  }
};

}  // namespace

void add_gemm(std::vector<Entry>& entries) { add_variants<GemmFamily>(entries); }

namespace {

template <Isa... isa>
std::unique_ptr<Launch> prepare_int8(Isa wanted, Geometry const& geometry, IsaList<isa...>) {
  std::unique_ptr<Launch> launch;
  ((isa == wanted ? void(launch = GemmFamily::prepare<Variant<Compute::i32, isa, Int8Isas::widest>>(geometry))
                  : void()),
   ...);
  return launch;
}

}  // namespace

std::unique_ptr<Launch> prepare_int8_gemm(Isa isa, Geometry const& geometry) {
  return prepare_int8(isa, geometry, Int8Isas{});
}

}  // namespace cute_py::cpu
