#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "layout/layout.hpp"

// CuTe's layout algebra on values. Structure and values of a result are those of CuTe's for static integers; a dynamic
// integer is treated by its value too, and stays dynamic. An operation throws LayoutError where its law would not hold.
namespace cute_py::layout {

Layout make_ordered_layout(IntTuple const& shape, IntTuple const& order);
Layout make_layout_like(Layout const& layout);
Layout make_fragment_like(Layout const& layout);
Layout make_identity_layout(IntTuple const& shape);

Layout get(Layout const& layout, std::vector<int> const& path);
Layout select(Layout const& layout, std::vector<int> const& modes);
Layout take(Layout const& layout, int begin, int end);
Layout group(Layout const& layout, int begin, int end);
Layout append(Layout const& layout, int rank, Layout const& mode = Layout());
Layout prepend(Layout const& layout, int rank, Layout const& mode = Layout());
Layout replace(Layout const& layout, int at, Layout const& mode);
Layout flatten(Layout const& layout);
Layout unflatten(Layout const& layout, IntTuple const& profile);
Layout zip(Layout const& layout);
IntTuple zip(IntTuple const& t);
Layout zip(Layout const& a, Layout const& b);

// The same function of an integer, in as few modes as possible; by a profile, at each of its leaves.
Layout coalesce(Layout const& layout);
Layout coalesce(Layout const& layout, IntTuple const& profile);
Layout filter_zeros(Layout const& layout);
Layout filter_zeros(Layout const& layout, IntTuple const& profile);
Layout filter(Layout const& layout);
Layout filter(Layout const& layout, IntTuple const& profile);

// result(c) == a(b(c)) for all c of b; compatible(b, result). A tuple acts by modes.
Layout composition(Layout const& a, Layout const& b);
Layout composition(Layout const& a, Tiler const& b);

// What `layout` misses of [0, size(cotarget)): ordered, and disjoint from it but for 0.
Layout complement(Layout const& layout, IntTuple const& cotarget);
Layout complement(Layout const& layout);

// layout(right(i)) == i for i < size(right). layout(left(layout(i))) == layout(i).
Layout right_inverse(Layout const& layout);
Layout left_inverse(Layout const& layout);
Layout nullspace(Layout const& layout);

Layout max_common_layout(Layout const& a, Layout const& b);
Integer max_common_vector(Layout const& a, Layout const& b);

// layout o (tiler, complement of tiler).
Layout logical_divide(Layout const& layout, Tiler const& tiler);
Layout zipped_divide(Layout const& layout, Tiler const& tiler);
Layout tiled_divide(Layout const& layout, Tiler const& tiler);
Layout flat_divide(Layout const& layout, Tiler const& tiler);

// (block, complement of block o tiler).
Layout logical_product(Layout const& block, Tiler const& tiler);
Layout zipped_product(Layout const& block, Tiler const& tiler);
Layout tiled_product(Layout const& block, Tiler const& tiler);
Layout flat_product(Layout const& block, Tiler const& tiler);
Layout blocked_product(Layout const& block, Layout const& tiler);
Layout raked_product(Layout const& block, Layout const& tiler);

// `block` repeated up to a shape, first mode first unless `order` says otherwise.
Layout tile_to_shape(Layout const& block, IntTuple const& shape, std::optional<IntTuple> const& order);

// The layout of the same memory in elements n times as large, or n times as small.
Layout upcast(Layout const& layout, std::int64_t n);
Layout downcast(Layout const& layout, std::int64_t n);

// Zips the rank-2 modes that a division or a product leaves where `tiler` has its leaves.
Layout tile_unzip(Layout const& layout, Tiler const& tiler);

}  // namespace cute_py::layout
