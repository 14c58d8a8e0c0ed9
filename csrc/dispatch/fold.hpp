#pragma once

#include "problem/geometry.hpp"

// A product in fewer modes. It is the same; the fewer and longer its modes, the better a kernel reads them.
namespace cute_py::dispatch {

// The same product with the roles of A and B exchanged: D^T = alpha * B * A^T + beta * C^T. The bits of D do not
// change, those of complex numbers aside: in an imaginary part, the two products change places.
Geometry transposed(Geometry const& geometry);

// The same product with its modes folded: those of one element are dropped, two that follow one another in every array
// are one, and they are ordered so that neighbouring elements of a tile are neighbours in memory; those of K are not
// ordered if the geometry is batch_invariant, since that is the order of the adds. Without a multiplication K is 0.
Geometry folded(Geometry const& geometry);

// Which of two groups has the shortest stride of an array: 0 for the first, 1 for the second.
int fastest_group(Role role, Modes const& first, Modes const& second);

}  // namespace cute_py::dispatch
