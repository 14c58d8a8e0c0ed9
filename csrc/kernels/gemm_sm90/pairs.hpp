#pragma once

#include <cstdint>

// Which CTAs share what they copy.
namespace cute_py::kernels {

// 2 along m: CTAs with neighbouring tiles of A share a tile of B; 2 along n: the other way round.
struct Pairs {
  int m = 1;
  int n = 1;
};

// Neighbours share what is copied more often, where no tile is wasted for it; where K is in parts, there is no tile
// more. Rows and columns are those of the first modes.
inline Pairs pairs_of(std::int64_t rows, std::int64_t columns, int tile_m, int tile_n, bool has_parts) {
  constexpr std::int64_t kMany = 16;  // tiles, of which one more is no waste
  auto const tiles_m = (rows + tile_m - 1) / tile_m;
  auto const tiles_n = (columns + tile_n - 1) / tile_n;
  bool const saves_more_of_a = rows * tiles_n > columns * tiles_m;
  auto const choice = [&](bool along_m, bool along_n) {
    if (along_m && along_n) return saves_more_of_a ? Pairs{1, 2} : Pairs{2, 1};
    return Pairs{along_m ? 2 : 1, along_n ? 2 : 1};
  };
  bool const is_even_m = tiles_m % 2 == 0;
  bool const is_even_n = tiles_n % 2 == 0;
  if (is_even_m || is_even_n || has_parts) return choice(is_even_m, is_even_n);
  return choice(tiles_m > kMany, tiles_n > kMany);
}

}  // namespace cute_py::kernels
