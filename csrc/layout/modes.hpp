#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "layout/layout.hpp"
#include "layout/text.hpp"

// A layout as its modes of one extent each, from left to right: what the operations of the algebra fold over.
namespace cute_py::layout {

// The modes as a layout of depth at most 1.
Layout from_modes(FlatLayout const& f);

// Modes i and i+1 merge where shape_i * stride_i == stride_i+1, and modes of extent 1 vanish. With `beyond`, the result
// is the same function outside the domain too: the last mode stays even with extent 1.
FlatLayout merged(FlatLayout f, bool beyond = false);

// The modes without zero strides and extents of 1.
FlatLayout filtered_modes(Layout const& layout);

// What modes that are filtered miss of [0, size(cotarget)): in ascending order of their strides, the gap below each
// mode, then what is left above the last. Throws LayoutError for a negative stride and where modes interleave.
FlatLayout gaps_between(FlatLayout const& filtered, IntTuple const& cotarget, Layout const& layout);

// Coalesces adjacent static extents, and adjacent dynamic ones.
IntTuple coalesced_shape(IntTuple const& shape);

// Positions of the strides in ascending order, those of equal ones as they stand.
std::vector<std::size_t> ascending(std::vector<Integer> const& stride);

// The same, but exchanged as CuTe's static sort does, which matters for equal ones.
std::vector<std::size_t> sorted_by_stride(std::vector<Integer> const& stride);

// 1, s0, s0 * s1, ...
std::vector<Integer> prefix_product(std::vector<Integer> const& shape);

// Throws LayoutError for coordinate strides, which an operation cannot take.
void refuse_basis(char const* operation, Layout const& layout);

// f at the leaves of the profile; modes beyond it are kept.
template <class F>
Layout by_profile(char const* name, Layout const& layout, IntTuple const& profile, F f) {
  if (!profile.is_tuple()) return f(layout);
  if (!layout.shape().is_tuple() || profile.rank() > layout.rank()) {
    throw LayoutError(std::string(name) + ": the profile " + to_string(profile) + " has more modes than " +
                      to_string(layout) + "; next: give " + std::to_string(layout.rank()) + " or fewer");
  }
  LayoutBuilder result(layout.rank());
  for (int i = 0; i < layout.rank(); ++i) {
    result.append(i < profile.rank() ? by_profile(name, layout[i], profile[i], f) : layout[i]);
  }
  return std::move(result).tuple();
}

}  // namespace cute_py::layout
