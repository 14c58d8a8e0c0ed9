#pragma once

#include <cstdint>

#include "kernels/common/epilogue.cuh"
#include "kernels/common/moduli.hpp"

// The static tile scheduler of a persistent kernel: which tiles a CTA computes, one after the other, and where TMA
// finds them.
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

// Which mode a further mode of an operand is.
enum class Outer : std::uint8_t { none, mn0, mn1, k0, k1, l0, l1, l2 };

// An operand's modes in the order of its tensor map: its tiled modes, (k,mn) or (mn,k), and up to three of these.
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

// The raster (threadblock swizzle) of the tiles of a product, for hits in L2: tiles that run at a time share rows of A
// or columns of B. The raster is cut into bands of `rows` rows of tiles; each band goes column by column. Rows, or
// columns, are counted in pairs where a cluster has two of them.
struct Raster {
  Divisor per_product;
  Divisor per_band;
  Divisor rows;
  Divisor last_rows;  // of the last band of the raster, which may have fewer
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

// Rows of a tile of A, or of B, that TMA loads. TMA fills elements outside of an array with zeros, 16 bytes at a time,
// which takes longer than a load: so the edge tile has boxes of its own.
struct RowsToCopy {
  int all;      // of a tile
  int of_last;  // of the last tile, if it has fewer

  // Of a tile that begins there; the second one of a cluster may begin behind the last row.
  CUTE_HOST_DEVICE int operator()(int first_row, int of_tile, int extent) const {
    return first_row + of_tile <= extent ? all : first_row < extent ? of_last : 0;
  }
};

// By which powers of two the rows of A and of B were multiplied, whose planes these are.
struct PlaneExponents {
  std::int32_t const* of_rows = nullptr;
  std::int32_t const* of_columns = nullptr;
};

// The tiles of a launch, and the modes of its arrays. A CTA has every `step`th tile.
struct TileScheduler {
  Raster raster;
  int count = 1;  // of all products
  GroupTiles m;   // counted in pairs along the first mode, where a cluster has two along it
  GroupTiles n;
  GroupTiles k;
  Divisor l[2];  // extents of the first modes of L
  OuterModes a;
  OuterModes b;
  OuterModes d;
  int extent_m;  // of the first mode
  int extent_n;
  int multicast_m = 1;  // as Multicast has it
  int multicast_n = 1;
  int splits = 1;  // of K in a cluster, a power of two: each a CTA, or two with multicast
  int log2_splits = 0;
  int clusters = 1;  // that share a tile's K
  int split_tiles;   // of K, in each split but the last
  Divisor ctas;      // that share the K of a tile, or of two with multicast
  int step = 1;      // from a tile to the next of the same CTA
  RowsToCopy rows_a;
  RowsToCopy rows_b;
  bool is_flat;  // one mode in M, N and K, none in L
  bool has_outer_k;
  bool stores_boxes;      // D is written by TMA
  bool finishes = false;  // sums get the whole epilogue before they leave in boxes
  BiasOf bias = BiasOf::none;
  bool brings_bias = false;
  ModuliOfBatch moduli;  // of residues

  // The tile, or the split of it, that a CTA computes.
  struct Work {
    std::uint32_t product;
    GroupDigits m;
    GroupDigits n;
    int l[3];
  };

  CUTE_HOST_DEVICE Work operator()(std::uint32_t number, int multicast_rank) const {
    if (is_flat) {
      auto const at = raster(number);
      return {0,
              {static_cast<int>(at.m) * multicast_m + (multicast_m - 1) * multicast_rank, {0, 0}},
              {static_cast<int>(at.n) * multicast_n + (multicast_n - 1) * multicast_rank, {0, 0}},
              {0, 0, 0}};
    }
    std::uint32_t const product = raster.per_product.divide(number);
    auto const at = raster(number - product * raster.per_product.divisor);
    Work work{product, digits_of(m, at.m), digits_of(n, at.n), {}};
    work.m.tile = work.m.tile * multicast_m + (multicast_m - 1) * multicast_rank;
    work.n.tile = work.n.tile * multicast_n + (multicast_n - 1) * multicast_rank;
    std::uint32_t const l_rest = l[0].divide(product);
    std::uint32_t const l_last = l[1].divide(l_rest);
    work.l[0] = static_cast<int>(product - l_rest * l[0].divisor);
    work.l[1] = static_cast<int>(l_rest - l_last * l[1].divisor);
    work.l[2] = static_cast<int>(l_last);
    return work;
  }
};

}  // namespace cute_py::kernels
