#pragma once

#include <cstdint>
#include <optional>

#include "problem/geometry.hpp"

// A factor that is brought into a dense array first, because kernels read it too slowly where it lies; a result that
// they write to one, because they would scatter it.
namespace cute_py::dispatch {

struct Packed {
  Geometry product;       // with the dense array in the place of the other
  Geometry copy;          // from A to D
  std::int64_t bytes;     // that it takes
  bool has_gaps = false;  // between its lines, which have to be 0
};

// Does a factor lie so that no kernel reads it in vectors?
bool is_worth_packing(Geometry const& geometry, Role factor);

// Does a result lie so that what a CTA writes is scattered: is its unit stride that of a mode in L?
bool is_worth_packing_result(Geometry const& geometry);

// Are rows or columns in short runs in the result, which tiles of the copy engine have one of each?
bool has_short_rows(Geometry const& geometry);

// Does no group of modes have a long piece of the result? Then a host writes it number by number, whatever it computes.
bool is_in_short_pieces(Geometry const& geometry);

// The product with a dense result, M first.
Packed packed_result(Geometry const& geometry);

// Do a host's kernels look for a factor's elements in many places, for few products of each?
bool is_worth_packing_on_host(Geometry const& geometry, Role factor);

// The product with a dense factor, its modes of K in the order of the other's.
Packed packed_on_host(Geometry const& geometry, Role factor);

// The product with a factor in lines of vectors of 16 bytes; nothing if it cannot be laid out so that M, or N, or K is
// one mode.
std::optional<Packed> packed(Geometry const& geometry, Role factor);

}  // namespace cute_py::dispatch
