#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/loops/factors.hpp"

namespace cute_py::cpu {

// GEMV by rows along k: acc(row,block), the sums of some blocks of K of up to kRows rows, whose places are in the
// scratch. Lanes are rows, which are transposed in registers, or into the scratch where they have to be converted; of
// fewer rows than a vector has lanes, lanes are blocks of K.
template <Compute compute>
class GemvRows {
  using Scalar = typename Arithmetic<compute>::Scalar;
  using Scratch = LoopScratch<compute>;
  static constexpr int kParts = cpu::kParts<compute>;
  static constexpr bool kComplex = kParts == 2;

  // 4 KB aliasing out of DRAM: rows that are multiples of so many bytes apart share a set of L1. Vectors of more rows
  // than its associativity would evict each other's lines before these are used up: narrower vectors are taken.
  // Measured (docs/perf-notes.md, "eight at a time, by AVX2"): 4096x4096 times a vector 4.0 to 3.5 ms.
  static constexpr std::int64_t kAliasingBytes = 4096;
  static constexpr int kWaysOfL1 = 8;

  static constexpr std::int64_t kShortRow = 32;  // steps of rows so short that what surrounds them counts

 public:
  // `narrow`: with half the lanes, where there is such. `pairs`: moves pairs of floats. `is_far`: rows come from DRAM.
  GemvRows(Factors<compute> const& of, GemvKernel<Scalar> const& narrow, TransposeKernel<double> const& pairs,
           bool is_far)
      : of_(of), narrow_(narrow), pairs_(pairs), far_(is_far), vectors_(is_far && of.plan.k > kShortRow ? 2 : 4) {}

  void sum_blocks(std::int64_t count, std::int64_t first, std::int64_t blocks, Scalar* acc, Scratch& s) const {
    if (blocks > 1 && count < kMostLanes && of_.g.k.rank() <= 1) {
      // Lanes are blocks, but for the last, which may be shorter.
      auto const whole = plan().steps_of(first + blocks - 1) == kBlockOfK ? blocks : blocks - 1;
      std::int64_t offsets_a[kRowsAtOnce];
      std::int64_t offsets_b[kRowsAtOnce];
      for (std::int64_t f = 0; f < count; ++f) {
        for (std::int64_t i = 0; i < whole; i += kRowsAtOnce) {
          auto const lanes = std::min<std::int64_t>(kRowsAtOnce, whole - i);
          for (std::int64_t lane = 0; lane < lanes; ++lane) {
            auto const k = (first + i + lane) * kBlockOfK;
            offsets_a[lane] = s.rows_a[f] + offset_of(of_.g.k, Role::a, k);
            offsets_b[lane] = s.rows_b[f] + offset_of(of_.g.k, Role::b, k);
          }
          alignas(64) Scalar sums[kParts * kRowsAtOnce];
          sum_rows({offsets_a, offsets_b, lanes, true}, 0, kBlockOfK, sums, s);
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
        sum_rows({s.rows_a + f, s.rows_b + f, lanes, false}, (first + i) * kBlockOfK, plan().steps_of(first + i), sums,
                 s);
        std::copy_n(sums, kParts * lanes, acc + kParts * (i * count + f));
      }
    }
  }

 private:
  // Up to kRowsAtOnce rows, one for each lane. `are_blocks`: of one row, blocks of K.
  struct Rows {
    std::int64_t const* a;
    std::int64_t const* b;
    std::int64_t lanes;
    bool are_blocks;

    std::int64_t const* of(Role role) const { return role == Role::a ? a : b; }
  };

  LoopPlan const& plan() const { return of_.plan; }

  // Their sums over some steps of k.
  void sum_rows(Rows const& rows, std::int64_t k, std::int64_t count_k, Scalar* acc, Scratch& s) const {
    auto const width = round_up(rows.lanes, of_.kernels.gemv.lanes);
    bool const in_place = is_along_k(of_.a, rows) || is_along_k(of_.b, rows);
    bool const is_last = k + count_k == plan().k;
    bool is_first = true;
    auto const sum_run = [&](std::int64_t at_a, std::int64_t at_b, std::int64_t run) {
      if (in_place && multiply_in_place(rows, at_a, at_b, run, is_last, acc, is_first)) {
        is_first = false;
        return;
      }
      for (std::int64_t p = 0; p < run; p += kStepsOfRows) {
        auto const steps = std::min(kStepsOfRows, run - p);
        auto const a = transposed(of_.a, rows, width, at_a + p * of_.a.step, steps, s.a);
        auto const b = transposed(of_.b, rows, width, at_b + p * of_.b.step, steps, s.b);
        of_.multiply(a.varies || b.varies ? width : 1, steps, a, b, acc, is_first);
        is_first = false;
      }
    };
    if (rows.are_blocks) {
      sum_run(0, 0, count_k);
    } else {
      of_.for_runs(k, count_k, sum_run);
    }
    if (rows.lanes > 1 && !varies(of_.a, rows) && !varies(of_.b, rows)) {
      for (std::int64_t lane = 1; lane < rows.lanes; ++lane) std::copy_n(acc, kParts, acc + kParts * lane);
    }
  }

  // Does a factor differ from row to row?
  static bool varies(Factor<compute> const& x, Rows const& rows) { return rows.are_blocks ? x.step != 0 : x.varies; }

  // Do lanes read rows of this factor, contiguous along k, where they lie?
  bool is_along_k(Factor<compute> const& x, Rows const& rows) const {
    return !kComplex && x.is_own_type && varies(x, rows) && of_.g.k.rank() > 0 && x.step == 1;
  }

  // Multiplies rows where they lie, and says true, if the other factor lies so, too, or is the same for all rows and
  // can be read where it lies.
  bool multiply_in_place(Rows const& rows, std::int64_t at_a, std::int64_t at_b, std::int64_t steps, bool is_last,
                         Scalar* acc, bool is_first) const {
    if constexpr (kComplex) {
      return false;
    } else {
      bool const along_a = is_along_k(of_.a, rows);
      Factor<compute> const& x = along_a ? of_.a : of_.b;
      Factor<compute> const& y = along_a ? of_.b : of_.a;
      auto const* const rows_x = rows.of(x.role);
      auto const* const rows_y = rows.of(y.role);
      auto const at_x = along_a ? at_a : at_b;
      auto const at_y = along_a ? at_b : at_a;
      bool const y_varies = varies(y, rows);
      if (y_varies ? !is_along_k(y, rows) : !y.is_own_type) return false;
      LineFactor<Scalar> const shared{y.at(rows_y[0] + at_y), false, y.step};
      Scalar const* starts_x[kRowsAtOnce];
      Scalar const* starts_y[kRowsAtOnce];
      bool const share_a_set = far_ && rows.lanes > kWaysOfL1 &&
                               (rows_x[1] - rows_x[0]) * std::int64_t{sizeof(Scalar)} % kAliasingBytes == 0;
      bool const by_blocks = rows.are_blocks || plan().blocks <= 2;  // the same steps of the rows behind come next
      RowsAhead const ahead{far_, by_blocks || is_last, by_blocks ? 0 : is_last ? -at_x : steps};
      auto const& gemv = share_a_set && of_.kernels.gemv.lanes > kWaysOfL1 ? narrow_ : of_.kernels.gemv;
      for (std::int64_t first = 0; first < rows.lanes;) {
        int vectors = 1;
        while (vectors < vectors_ && vectors * gemv.lanes < rows.lanes - first) vectors *= 2;
        int const together = vectors * gemv.lanes;
        for (int i = 0; i < together; ++i) {
          auto const lane = std::min(first + i, rows.lanes - 1);
          starts_x[i] = x.at(rows_x[lane] + at_x);
          starts_y[i] = y.at(rows_y[lane] + at_y);
        }
        gemv.rows(steps, starts_x, y_varies ? starts_y : nullptr, shared, acc + first, is_first, vectors, ahead);
        first += together;
      }
      return true;
    }
  }

  // Steps of k of some rows as (step,lane), where each step of all lanes is a line.
  LineFactor<Scalar> transposed(Factor<compute> const& x, Rows const& of_rows, std::int64_t width, std::int64_t offset,
                                std::int64_t steps, Scalar* buffer) const {
    auto const* const rows = of_rows.of(x.role);
    auto const last = of_rows.lanes - 1;
    if (!varies(x, of_rows)) {
      if (x.is_own_type) return {x.at(rows[0] + offset), false, x.step};
      of_.load(x, {rows[0] + offset, x.step}, steps, buffer);
      return {buffer, false, 1};
    }
    if constexpr (!kComplex) {
      if (x.is_own_type && x.step == 1) {
        Scalar const* starts[kRowsAtOnce];
        for (std::int64_t lane = 0; lane < width; ++lane) starts[lane] = x.at(rows[std::min(lane, last)] + offset);
        for (std::int64_t lane = 0; lane < width; lane += of_.kernels.gemv.lanes) {
          of_.kernels.transpose.rows(starts + lane, steps, buffer + lane, width);
        }
        return {buffer, true, width};
      }
    }
    if constexpr (std::is_same_v<Scalar, float> && !kComplex) {
      if (x.is_own_type && x.step == 2 && are_in_pairs(rows, of_rows.lanes)) {
        // Rows whose steps are two elements apart are transposed as doubles.
        double const* starts[kRowsAtOnce / 2];
        for (std::int64_t pair = 0; pair < width / 2; ++pair) {
          starts[pair] = reinterpret_cast<double const*>(x.at(rows[std::min(2 * pair, last - 1)] + offset));
        }
        for (std::int64_t pair = 0; pair < width / 2; pair += pairs_.lanes) {
          pairs_.rows(starts + pair, steps, reinterpret_cast<double*>(buffer) + pair, width / 2);
        }
        return {buffer, true, width};
      }
    }
    auto const scatter = [&](Scalar const* from, std::int64_t step, std::int64_t lane) {
      auto* const to = buffer + kParts * lane;
      for (std::int64_t p = 0; p < steps; ++p) {
        for (int part = 0; part < kParts; ++part) to[kParts * p * width + part] = from[kParts * p * step + part];
      }
    };
    Scalar row[kParts * kStepsOfRows];
    for (std::int64_t lane = 0; lane < width; ++lane) {
      auto const at = rows[std::min(lane, last)] + offset;
      if (x.is_own_type) {
        scatter(x.at(at), x.step, lane);
      } else {
        if (lane <= last) of_.load(x, {at, x.step}, steps, row);
        scatter(row, 1, lane);
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

  Factors<compute> const& of_;
  GemvKernel<Scalar> const& narrow_;
  TransposeKernel<double> const& pairs_;
  bool const far_;
  int const vectors_;  // of rows at a time
};

}  // namespace cute_py::cpu
