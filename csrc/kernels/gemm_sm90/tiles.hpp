#pragma once

#include <cstdint>

#include "kernels/common/arrivals.hpp"
#include "kernels/common/mode_map.hpp"

// Which tiles a CTA computes, one after the other, and where the copy engine finds them.
namespace cute_py::kernels {

// Modes of a group: one that is cut in tiles, and others of which a tile has one element.
inline constexpr int kOuterModes = 2;

// The tiles of a group, those of its first mode first.
struct GroupTiles {
  Divisor tiles;               // of the first mode
  Divisor outer[kOuterModes];  // extents of the others
  std::uint32_t count = 1;     // of all
};

struct GroupDigits {
  int tile;
  int outer[kOuterModes];
};

CUTE_HOST_DEVICE GroupDigits digits_of(GroupTiles const& group, std::uint32_t number) {
  std::uint32_t const rest = group.tiles.divide(number);
  std::uint32_t const last = group.outer[0].divide(rest);
  return {static_cast<int>(number - rest * group.tiles.divisor),
          {static_cast<int>(rest - last * group.outer[0].divisor), static_cast<int>(last)}};
}

// What the clusters that share a tile's K leave to each other.
struct SumsOfClusters {
  Arrivals arrived;      // (part of a cluster,tile)
  void* sums = nullptr;  // (sums of some lines,cluster,part of a cluster,tile)
};

// A bias of a tile's rows, or of its columns, is brought to shared memory; any other is read where it is.
enum class BiasOf : std::uint8_t { none, rows, columns, elements };

// What a further mode of an operand is.
enum class Outer : std::uint8_t { none, mn0, mn1, k0, k1, l0, l1, l2 };

// An operand's modes in the order of the copy engine: its tiled modes, (k,mn) or (mn,k), and up to three of these.
struct OuterModes {
  Outer mode[3] = {Outer::none, Outer::none, Outer::none};
};

// Where a tile begins along an operand's further modes.
CUTE_HOST_DEVICE int outer_coordinate(Outer which, GroupDigits const& mn, GroupDigits const& k, int const (&l)[3]) {
  int c = which == Outer::mn0 ? mn.outer[0] : 0;
  c = which == Outer::mn1 ? mn.outer[1] : c;
  c = which == Outer::k0 ? k.outer[0] : c;
  c = which == Outer::k1 ? k.outer[1] : c;
  c = which == Outer::l0 ? l[0] : c;
  c = which == Outer::l1 ? l[1] : c;
  return which == Outer::l2 ? l[2] : c;
}

// The tiles of a product. Neighbours in the order of the numbers share rows of A or columns of B, which are in the
// second-level cache then: bands of `rows` rows of tiles are gone through column by column. Rows, or columns, are
// counted in pairs where a cluster computes two.
struct TileOrder {
  Divisor per_product;
  Divisor per_band;
  Divisor rows;
  Divisor last_rows;  // of the last band, which may have fewer
  std::uint32_t bands = 1;

  struct Tile {
    std::uint32_t m;
    std::uint32_t n;
  };

  CUTE_HOST_DEVICE Tile operator()(std::uint32_t number) const {
    std::uint32_t const band = per_band.divide(number);
    std::uint32_t const in_band = number - band * per_band.divisor;
    Divisor const& of_band = band + 1 == bands ? last_rows : rows;
    std::uint32_t const n = of_band.divide(in_band);
    return {band * rows.divisor + in_band - n * of_band.divisor, n};
  }
};

// Rows of a tile of A, or of B, that are copied. The copy engine fills what lies outside of an array with zeros, 16
// bytes at a time, which takes longer than to bring what is there: so the last tile has boxes of its own.
struct RowsToCopy {
  int all;      // of a tile
  int of_last;  // of the last tile, if it has fewer

  // Of a tile that begins there; a pair's second one may begin behind the last row.
  CUTE_HOST_DEVICE int operator()(int first_row, int of_tile, int extent) const {
    return first_row + of_tile <= extent ? all : first_row < extent ? of_last : 0;
  }
};

// The tiles of a launch, and the modes of its arrays.
struct GemmTiles {
  TileOrder order;
  int count = 1;  // of all products
  GroupTiles m;   // counted in pairs along the first mode, where there are pairs along it
  GroupTiles n;
  GroupTiles k;
  Divisor l[2];  // extents of the first modes of L
  OuterModes a;
  OuterModes b;
  OuterModes d;
  int extent_m;  // of the first mode
  int extent_n;
  int pair_m = 1;  // 2: CTAs with neighbouring tiles of A share a tile of B
  int pair_n = 1;  // 2: the other way round
  int parts = 1;   // of K in a cluster, a power of two: each a CTA, or a pair
  int log2_parts = 0;
  int clusters = 1;  // that share a tile's K
  int part_tiles;    // of K, in each but the last
  Divisor ctas;      // that share the K of a tile, or of a pair's two
  int step = 1;      // from a tile to the next of the same CTA
  RowsToCopy rows_a;
  RowsToCopy rows_b;
  bool is_flat;  // one mode in M, N and K, none in L
  bool has_outer_k;
  bool stores_boxes;      // D is written by the copy engine
  bool finishes = false;  // sums get the whole epilogue before they leave in boxes
  BiasOf bias = BiasOf::none;
  bool brings_bias = false;

  // What a CTA computes at a time.
  struct Work {
    std::uint32_t product;
    GroupDigits m;
    GroupDigits n;
    int l[3];
  };

  CUTE_HOST_DEVICE Work operator()(std::uint32_t number, int rank_in_pair) const {
    if (is_flat) {
      auto const at = order(number);
      return {0,
              {static_cast<int>(at.m) * pair_m + (pair_m - 1) * rank_in_pair, {0, 0}},
              {static_cast<int>(at.n) * pair_n + (pair_n - 1) * rank_in_pair, {0, 0}},
              {0, 0, 0}};
    }
    std::uint32_t const product = order.per_product.divide(number);
    auto const at = order(number - product * order.per_product.divisor);
    Work work{product, digits_of(m, at.m), digits_of(n, at.n), {}};
    work.m.tile = work.m.tile * pair_m + (pair_m - 1) * rank_in_pair;
    work.n.tile = work.n.tile * pair_n + (pair_n - 1) * rank_in_pair;
    std::uint32_t const l_rest = l[0].divide(product);
    std::uint32_t const l_last = l[1].divide(l_rest);
    work.l[0] = static_cast<int>(product - l_rest * l[0].divisor);
    work.l[1] = static_cast<int>(l_rest - l_last * l[1].divisor);
    work.l[2] = static_cast<int>(l_last);
    return work;
  }
};

}  // namespace cute_py::kernels
