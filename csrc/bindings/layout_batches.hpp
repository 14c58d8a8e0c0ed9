#pragma once

#include <pybind11/pybind11.h>

#include <optional>

#include "layout/layout.hpp"
#include "layout/swizzle.hpp"

// Layouts at many coordinates at once: NumPy arrays of integers in the place of integers. Values are int64 arrays,
// tuples of them where a layout gives coordinates, with the integer 0 where it has no stride. Each function throws
// LayoutError for arrays of anything else than integers, for coordinates that do not fit the shape, and where a value
// could leave 55 bits, so that sums of 255 of them fit in 64.
namespace cute_py::bindings {

namespace py = pybind11;

// Whether a value is a NumPy array, or a tuple or list with one among its first 4096 elements.
bool has_array(py::handle value);

// The values of a layout at a coordinate in which `has_array`; its arrays broadcast.
py::object values_at(layout::Layout const& l, py::handle coord);
py::object values_at(layout::ComposedLayout const& l, py::handle coord);

// idx2crd of an index in which `has_array`.
py::object coordinates_at(py::handle index, layout::IntTuple const& shape,
                          std::optional<layout::IntTuple> const& stride);

}  // namespace cute_py::bindings
