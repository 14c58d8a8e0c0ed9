#pragma once

#include "dispatch/choose.hpp"
#include "dispatch/program.hpp"
#include "problem/folded.hpp"

namespace cute_py::dispatch {

// The steps of a product by emulated precision: both factors are split into planes, planes are multiplied, and results
// are combined. Without candidates if no kernel takes a step, or if the workspace is too small.
Program make_emulated(FoldedProduct const& product, Planes const& planes, Question const& question);

// The step that splits A for products of emulated precision, into Source::split_a: exponents, and the planes behind
// them. workspace_bytes is what it takes there.
Program make_split(FoldedProduct const& product, Planes const& planes, Question const& question);

// In what planes a product may be computed as it was asked; none if it is exact. The fastest bound first.
std::vector<Planes> planes_for(Geometry const& geometry);

}  // namespace cute_py::dispatch
