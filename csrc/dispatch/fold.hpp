#pragma once

#include "problem/problem.hpp"

// A problem in fewer modes. The product is the same; the fewer and longer its modes, the better a kernel reads them.
namespace cute_py::dispatch {

// The same product with the roles of A and B exchanged: D^T = alpha * B * A^T + beta * C^T. The bits of D do not
// change, those of complex numbers aside: in an imaginary part, the two products change places.
Problem transposed(Problem const& problem);

// The same problem with its modes folded: those of one element are dropped, two that follow one another in every array
// are one, and they are ordered so that neighbouring elements of a tile are neighbours in memory; those of K are not
// ordered if the problem is batch_invariant, since that is the order of the adds. alpha == 0 becomes K == 0.
Problem folded(Problem const& problem);

// Which of its two groups the shortest stride of A, B or D is in: 0 for its first (M, or N of B), 1 for its second.
int fastest_group(Array const& array, Modes const& first, Modes const& second);

}  // namespace cute_py::dispatch
