#pragma once

#include <optional>

#include "problem/geometry.hpp"

// Products of complex numbers in which one factor is real, or the number one.
namespace cute_py::dispatch {

// The same product of real numbers: real and imaginary part are a mode of two more, of the complex factor and of the
// result. Half the multiplications, and infinity times a real number has no NaN in its other part. Nothing for a
// product that is none of this kind, or whose epilogue does not treat both parts alike.
std::optional<Geometry> in_real_parts(Geometry const& geometry);

}  // namespace cute_py::dispatch
