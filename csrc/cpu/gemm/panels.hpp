#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/arithmetic.hpp"
#include "cpu/operations.hpp"
#include "numeric/types.hpp"

// Panels: what packing makes of a block of a factor. A panel has `width` rows (MR of A, NR of B), which follow one
// another for each step of k; the next panel comes behind the last step. A panel format is a type:
//
//   pack_a, pack_b   a block to panels                multiply, multiply_into   the micro-kernel over two of them
//   mr, nr, steps    MR, NR, steps of k in a scalar   add, store, ...           what happens to the tile of sums
//
//   real.hpp      (width,k)      float32, float64, tfloat32; other types are converted
//   complex.hpp   A (width,2,k), real and imaginary parts; B (2,width,k) as it is
//   words.hpp     (width,words)  int8 in words of 2 or of 4 (VNNI) steps
namespace cute_py::cpu {

// A block of a factor: where its rows and its steps of k are, whatever modes they have.
struct Block {
  void const* data;
  DType type;
  std::int64_t const* rows;
  std::int64_t row_count;
  std::int64_t const* steps;
  std::int64_t step_count;
};

inline bool are_consecutive(std::int64_t const* offsets, std::int64_t count) {
  for (std::int64_t i = 1; i < count; ++i) {
    if (offsets[i] != offsets[i - 1] + 1) return false;
  }
  return true;
}

// The rows of a panel, and how they lie.
struct PanelRows {
  std::int64_t const* rows;
  std::int64_t count;  // up to the width of the panel
  bool steps_follow;   // one another along k

  PanelRows(Block const& block, std::int64_t first, std::int64_t width, bool steps_follow_)
      : rows(block.rows + first), count(std::min(width, block.row_count - first)), steps_follow(steps_follow_) {}

  bool follow() const { return are_consecutive(rows, count); }
  // Where a row is; those that do not exist are like the last that does.
  std::int64_t operator[](std::int64_t row) const { return rows[std::min(row, count - 1)]; }
};

// Calls put(i, p, x) for every element of a panel.
template <class Stored, class Put>
void visit_panel(Block const& block, PanelRows const& panel, Put const& put) {
  auto const* const data = static_cast<Stored const*>(block.data);
  auto const* const rows = panel.rows;
  if (panel.follow()) {
    for (std::int64_t p = 0; p < block.step_count; ++p) {
      auto const* const column = data + rows[0] + block.steps[p];
      for (std::int64_t i = 0; i < panel.count; ++i) put(i, p, numeric::load(column + i));
    }
  } else if (panel.steps_follow) {
    constexpr std::int64_t kLine = 64 / sizeof(Stored);
    for (std::int64_t p0 = 0; p0 < block.step_count; p0 += kLine) {
      auto const length = std::min(kLine, block.step_count - p0);
      for (std::int64_t i = 0; i < panel.count; ++i) {
        auto const* const row = data + rows[i] + block.steps[p0];
        for (std::int64_t p = 0; p < length; ++p) put(i, p0 + p, numeric::load(row + p));
      }
    }
  } else {
    for (std::int64_t p = 0; p < block.step_count; ++p) {
      auto const* const column = data + block.steps[p];
      for (std::int64_t i = 0; i < panel.count; ++i) put(i, p, numeric::load(column + rows[i]));
    }
  }
}

// Calls use(row, group) with lanes(row) for groups of as many rows as a vector has lanes, the last first: vectors may
// reach behind the panel's rows, and what lies there is written after them.
template <class Pack>
void for_lane_groups(std::int64_t width, std::int64_t lanes, Pack const& pack) {
  for (auto group = (width - 1) / lanes * lanes; group >= 0; group -= lanes) pack(group);
}

// How many whole panels from a row on have contiguous rows, up to so many that cache lines are read whole
// and a step's are not too many to be written.
template <class T>
std::int64_t panels_to_copy(Block const& block, std::int64_t first, std::int64_t width) {
  constexpr std::int64_t kBytesAtOnce = 256;
  auto const most = ceil_div(kBytesAtOnce, width * static_cast<std::int64_t>(sizeof(T)));
  std::int64_t panels = 0;
  for (; panels < most && first + width <= block.row_count; ++panels, first += width) {
    auto const* const rows = block.rows + first;
    if (!are_consecutive(rows, width) || (panels > 0 && rows[0] != rows[-1] + 1)) break;
  }
  return panels;
}

// Panels of the type that is computed in, and how many; 0: rows and steps are both apart.
template <class T>
std::int64_t pack_own_type(Block const& block, std::int64_t first, std::int64_t width, bool steps_follow,
                           TransposeKernel<T> const& kernel, T* out) {
  auto const* const data = static_cast<T const*>(block.data);
  PanelRows const panel(block, first, width, steps_follow);
  if (auto const panels = panels_to_copy<T>(block, first, width); panels > 0) {
    kernel.panels(width, panels, block.step_count, data + panel.rows[0], block.steps, out, width * block.step_count);
    return panels;
  }
  if (!steps_follow || width < kernel.lanes / 2) return 0;
  T const* starts[kMostLanes];
  for_lane_groups(width, kernel.lanes, [&](std::int64_t group) {
    for (int lane = 0; lane < kernel.lanes; ++lane) starts[lane] = data + panel[group + lane] + block.steps[0];
    kernel.rows(starts, block.step_count, out + group, width);
  });
  return 1;
}

// A tile of real sums: those of words are of the same form.
template <class T>
struct RealTile {
  MicroKernel<T> const micro;

  static constexpr int kParts = 1;
  std::int64_t mr() const { return micro.mr; }
  std::int64_t nr() const { return micro.nr; }

  void multiply(std::int64_t steps, T const* a, T const* b, bool, T* tile) const { micro.multiply(steps, a, b, tile); }
  void multiply_into(std::int64_t steps, T const* a, T const* b, bool first, T alpha, T* d,
                     std::int64_t const* columns) const {
    micro.multiply_into(steps, a, b, first, alpha, d, columns);
  }
  // Sums that wait in the result, or go there.
  void add(T const* d, std::int64_t const* d_columns, std::int64_t rows, std::int64_t columns, T* tile) const {
    micro.add(d, d_columns, rows, columns, tile);
  }
  void keep(T const* tile, std::int64_t rows, std::int64_t columns, T* d, std::int64_t const* d_columns) const {
    micro.store(T(1), tile, micro.mr, T(0), nullptr, nullptr, d, d_columns, rows, columns);
  }
  // `count` sums from one on, for an epilogue.
  template <class Accumulator>
  Accumulator const* line(T const* tile, std::int64_t at, std::int64_t, Accumulator*) const {
    return reinterpret_cast<Accumulator const*>(tile + at);
  }
};

}  // namespace cute_py::cpu
