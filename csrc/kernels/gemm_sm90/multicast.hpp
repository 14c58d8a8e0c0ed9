#pragma once

#include <cstdint>

// Which CTAs of a cluster share what TMA loads, by multicast.
namespace cute_py::kernels {

// The shape of a cluster that computes adjacent tiles: 2 along m, CTAs with adjacent tiles of A, to which tiles
// of B are multicast; 2 along n, the other way round.
struct Multicast {
  int m = 1;
  int n = 1;
};

// Multicasts what is loaded more often, where no tile is wasted for it; where K is split, there is no tile more. Rows
// and columns are those of the first modes.
inline Multicast multicast_of(std::int64_t rows, std::int64_t columns, int tile_m, int tile_n, bool splits_k) {
  constexpr std::int64_t kMany = 16;  // tiles, of which one more is no waste
  auto const tiles_m = (rows + tile_m - 1) / tile_m;
  auto const tiles_n = (columns + tile_n - 1) / tile_n;
  bool const saves_more_of_a = rows * tiles_n > columns * tiles_m;
  auto const choice = [&](bool along_m, bool along_n) {
    if (along_m && along_n) return saves_more_of_a ? Multicast{1, 2} : Multicast{2, 1};
    return Multicast{along_m ? 2 : 1, along_n ? 2 : 1};
  };
  bool const is_even_m = tiles_m % 2 == 0;
  bool const is_even_n = tiles_n % 2 == 0;
  if (is_even_m || is_even_n || splits_k) return choice(is_even_m, is_even_n);
  return choice(tiles_m > kMany, tiles_n > kMany);
}

}  // namespace cute_py::kernels
