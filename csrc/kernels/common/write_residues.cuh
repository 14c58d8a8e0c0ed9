#pragma once

#include "kernels/common/moduli.hpp"
#include "kernels/common/write_staged.cuh"

// Write policy: residues of emulated precision, staged through shared memory.
namespace cute_py::kernels {

// Writes what is left of the sums of a CTA's tile, in lines along n, four residues at a time: lines have room for whole
// vectors.
template <int TileM, int TileN, int Threads, int SharedBytes, class T, class Accumulators, class Coords, class Origin,
          class Shape>
CUTE_DEVICE void store_residues(EpilogueOf<T> const& product, ModulusOfTile const& modulus, Accumulators const& acc,
                                Coords const& coord, Origin const& origin, Shape const& shape, void* shared) {
  constexpr int together = 4;
  using Sums = SumsInShared<std::int32_t, TileM, TileN, SharedBytes>;
  Sums const tile(shared, true);
  int const first_m = cute::get<0>(origin);
  int const first_n = cute::get<1>(origin);
  int const rows = cute::min(cute::get<0>(shape) - first_m, TileM);  // that exist
  int const columns = cute::min(cute::get<1>(shape) - first_n, TileN);
  auto const own = thread_of_lines<Threads>(threadIdx.x, Sums::kColumns, together);
  auto* const d = static_cast<std::int8_t*>(product.data[kEpilogueD]) + first_n + own.x;
  tile.for_each_chunk(acc, coord, first_m, first_n, [&](int chunk) {
    if (own.x >= cute::min(columns - chunk, int(Sums::kColumns))) return;
    for (int line = own.first_line; line < rows; line += 1 << own.log2_step) {
      auto const sums = *reinterpret_cast<AlignedArray<std::int32_t, together> const*>(&tile.at(line, own.x));
      AlignedArray<std::int8_t, together> residues;
      CUTE_UNROLL
      for (int i = 0; i < together; ++i) residues.x[i] = scaled<std::int8_t>(modulus, sums.x[i]);
      *reinterpret_cast<AlignedArray<std::int8_t, together>*>(d + product.e.m.offset(first_m + line, kEpilogueD) +
                                                              chunk) = residues;
    }
  });
}

}  // namespace cute_py::kernels
