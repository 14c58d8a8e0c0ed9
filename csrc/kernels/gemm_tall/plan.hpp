#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "problem/geometry.hpp"

// Which part of each mode of M a tile of gemm_tall has: rows that are contiguous in A, and rows that are contiguous in
// D.
namespace cute_py::kernels {

// What a variant offers a plan.
struct TallLimits {
  int rows;    // of a tile
  int places;  // for a column of sums in shared memory

  static constexpr int kLine = 32;  // rows that are contiguous, of A and of D, where they are not the same
  static constexpr int kMostTiledModes = 6;

  // Of sums of `bytes` bytes.
  static constexpr TallLimits of_sums(int bytes) {
    int const rows = 4096 / bytes;
    return {rows, rows + rows / 16 + 16 / bytes};
  }
};

class TallPlan {
 public:
  struct TiledMode {
    std::int64_t extent;
    std::int64_t a;  // strides
    std::int64_t d;
    int number;  // in the geometry's M
    std::int64_t tile = 1;
    std::int64_t place = 0;  // stride in shared memory

    std::int64_t tiles() const { return (extent + tile - 1) / tile; }
  };

  // The geometry is folded, and adjacent modes of its M are coalesced.
  TallPlan(Geometry const& g, TallLimits const& limits) : limits_(limits) {
    for (int i = 0; i < g.m.rank(); ++i) {
      modes_.push_back({g.m[i].extent, g.m[i].stride[Role::a], g.m[i].stride[Role::d], i});
    }
    step_a_ = std::max(kSectorBytes / bytes_of(g.type[Role::a]), 1);
    step_d_ = std::max(kSectorBytes / bytes_of(g.type[Role::d]), 1);
    // Of a small product the tiles are smaller, so that most multiprocessors have one.
    constexpr std::int64_t kEnoughTiles = 256;
    std::int64_t const rows = g.m.size() * g.l.size();
    while (limits_.rows > kFewestRows && rows < kEnoughTiles * limits_.rows) limits_.rows /= 2;
    for (std::int64_t most = limits_.rows; !fits(most); most -= std::max<std::int64_t>(most / 16, 1)) {
    }
  }

  // Modes with a part of more than one element in a tile come first, by their strides in A.
  std::vector<TiledMode> const& modes() const { return modes_; }

  int tiled_modes() const { return tiled_; }

  // The tiled modes by their strides in D, as numbers of modes().
  std::vector<int> by_d() const {
    std::vector<int> order;
    for (int i = 0; i < tiled_; ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return length(mode(i).d) < length(mode(j).d); });
    return order;
  }

  std::int64_t rows() const {
    std::int64_t product = 1;
    for (TiledMode const& x : modes_) product *= x.tile;
    return product;
  }

  std::int64_t tiles() const {
    std::int64_t product = 1;
    for (TiledMode const& x : modes_) product *= x.tiles();
    return product;
  }

 private:
  using Stride = std::int64_t TiledMode::*;

  static constexpr int kSectorBytes = 32;  // the least that memory moves
  static constexpr int kFewestRows = 256;

  TiledMode const& mode(int i) const { return modes_[static_cast<std::size_t>(i)]; }

  static std::int64_t length(std::int64_t stride) {
    return stride == 0 ? std::numeric_limits<std::int64_t>::max() : std::abs(stride);
  }

  std::vector<TiledMode*> by(Stride stride) {
    std::vector<TiledMode*> order;
    for (TiledMode& x : modes_) order.push_back(&x);
    std::stable_sort(order.begin(), order.end(),
                     [&](TiledMode const* x, TiledMode const* y) { return length(x->*stride) < length(y->*stride); });
    return order;
  }

  // Chooses a tile of at most `most` rows. Is there a place for each in shared memory?
  bool fits(std::int64_t most) {
    choose_tile(most);
    std::stable_sort(modes_.begin(), modes_.end(), [](TiledMode const& x, TiledMode const& y) {
      return (x.tile > 1) != (y.tile > 1) ? x.tile > 1 : length(x.a) < length(y.a);
    });
    tiled_ =
        static_cast<int>(std::count_if(modes_.begin(), modes_.end(), [](TiledMode const& x) { return x.tile > 1; }));
    return find_places() <= limits_.places;
  }

  // A line of A, then one of D, then as much as there is room for.
  void choose_tile(std::int64_t most) {
    for (TiledMode& x : modes_) x.tile = 1;
    for (Stride const stride : {&TiledMode::a, &TiledMode::d}) {
      std::int64_t reached = 1;
      for (TiledMode* const x : by(stride)) {
        if (reached >= TallLimits::kLine) break;
        grow(*x, (TallLimits::kLine + reached - 1) / reached, most);
        reached *= x->tile;
        if (x->tile < x->extent) break;
      }
    }
    for (TiledMode* const x : by(&TiledMode::a)) {
      if (x->tile < x->extent) grow(*x, x->extent, most);
    }
  }

  // Gives a mode up to `wanted` rows of a tile, and about as many to each of its tiles, if there is room. Lines that
  // are contiguous are cut at sectors.
  void grow(TiledMode& x, std::int64_t wanted, std::int64_t most) {
    std::int64_t others = 1;
    int tiled = 0;
    for (TiledMode const& other : modes_) {
      if (&other == &x) continue;
      others *= other.tile;
      tiled += other.tile > 1;
    }
    if (tiled == TallLimits::kMostTiledModes) return;
    auto tile = std::max<std::int64_t>(std::min({wanted, most / others, x.extent}), 1);
    if (tile < x.extent) {
      std::int64_t const step = std::max<std::int64_t>(x.a == 1 ? step_a_ : 1, x.d == 1 ? step_d_ : 1);
      auto const count = (x.extent + tile - 1) / tile;
      auto const even = ((x.extent + count - 1) / count + step - 1) / step * step;
      tile = even <= tile ? even : std::max(tile / step * step, std::min(tile, step));
    }
    x.tile = std::max(x.tile, std::min(tile, x.extent));
  }

  // Columns of sums are written as rows lie in A, and read as they lie in D. Lines of A are an odd number of places
  // apart, so that both ways go through all banks. Returns the places of a column.
  std::int64_t find_places() {
    std::int64_t line = 1;
    int i = 0;
    for (; i < tiled_ && line < TallLimits::kLine; ++i) {
      modes_[static_cast<std::size_t>(i)].place = line;
      line *= mode(i).tile;
    }
    std::int64_t place = i < tiled_ ? line | 1 : line;
    for (int const other : by_d()) {
      if (other < i) continue;
      modes_[static_cast<std::size_t>(other)].place = place;
      place *= mode(other).tile;
    }
    return place;
  }

  TallLimits limits_;
  std::vector<TiledMode> modes_;
  int tiled_ = 0;
  int step_a_;
  int step_d_;
};

// A geometry whose M has as few modes as possible: folding may have cut them in runs.
inline Geometry with_coalesced_m(Geometry g) {
  coalesce(g.m);
  return g;
}

}  // namespace cute_py::kernels
