#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "layout/int_tuple.hpp"

namespace cute_py::layout {

// A function from coordinates to indices, or to coordinates where strides are basis elements: shape and stride of one
// profile. Extents are 0 or more and the size fits in 64 bits; the shape may be ().
class Layout {
 public:
  Layout() : Layout(fixed(1), fixed(0), Trusted{}) {}

  // Throws LayoutError for a shape and a stride that are not congruent and for extents below 0.
  Layout(IntTuple shape, IntTuple stride);

  // Compact, the first mode fastest.
  explicit Layout(IntTuple const& shape);

  // Without the checks, for what is made of the modes of checked layouts.
  static Layout trusted(IntTuple shape, IntTuple stride) {
    return Layout(std::move(shape), std::move(stride), Trusted{});
  }

  IntTuple const& shape() const { return shape_; }
  IntTuple const& stride() const { return stride_; }
  int rank() const { return shape_.rank(); }
  int depth() const { return shape_.depth(); }
  Integer size() const { return product(shape_); }
  bool is_empty() const { return has_zero(shape_); }

  // Mode i; of a layout that is one integer, itself for i == 0.
  Layout operator[](int i) const;

  IntTuple operator()(IntTuple const& coord) const { return crd2idx(coord, shape_, stride_); }

  // The index of a 1-D coordinate. Requires strides that are integers.
  std::int64_t operator()(std::int64_t coord) const { return index_at(coord, shape_, stride_); }

  bool operator==(Layout const& other) const { return shape_ == other.shape_ && stride_ == other.stride_; }
  bool operator!=(Layout const& other) const { return !(*this == other); }

 private:
  struct Trusted {};
  Layout(IntTuple shape, IntTuple stride, Trusted) : shape_(std::move(shape)), stride_(std::move(stride)) {}

  IntTuple shape_;
  IntTuple stride_;
};

// Collects modes into a layout of that many modes.
class LayoutBuilder {
 public:
  explicit LayoutBuilder(int rank) {
    shapes_.reserve(rank);
    strides_.reserve(rank);
  }

  void append(Layout const& mode);
  Layout tuple() &&;

 private:
  std::vector<IntTuple> shapes_;
  std::vector<IntTuple> strides_;
};

Layout make_layout(std::vector<Layout> const& modes);

// What a layout is divided or multiplied by, and what it is sliced with: `_` (everything), an integer, a layout, or one
// of these for each mode.
struct Tiler {
  enum class Kind { any, integer, layout, tuple };

  Kind kind = Kind::any;
  Integer integer;
  Layout layout;
  std::vector<Tiler> elements;
  int depth = 0;  // of tuples

  // A tuple throws LayoutError if it is deeper than kMaxDepth.
  static Tiler of(Integer const& value);
  static Tiler of(Layout value);
  static Tiler of(std::vector<Tiler> elements);
  static Tiler of(IntTuple const& t);

  bool is_tuple() const { return kind == Kind::tuple; }
  int rank() const { return is_tuple() ? static_cast<int>(elements.size()) : 1; }
};

// The operations on modes, of tuples whose elements are anything.
Tiler select(Tiler const& t, std::vector<int> const& modes);
Tiler take(Tiler const& t, int begin, int end);
Tiler group(Tiler const& t, int begin, int end);
Tiler append(Tiler const& t, int rank, Tiler const& element);
Tiler prepend(Tiler const& t, int rank, Tiler const& element);
Tiler replace(Tiler const& t, int at, Tiler const& element);

// Throws LayoutError for a layout without elements, which an operation cannot take.
void require_elements(char const* operation, Layout const& layout);
void require_elements(IntTuple const& shape);

bool has_any(Tiler const& coord);
// The coordinate without `_`. Throws LayoutError for a `_` or a layout in it.
IntTuple coordinate(Tiler const& coord);

// The smallest shape that every value of the layout lies in, and its size.
IntTuple coshape(Layout const& layout);
Integer cosize(Layout const& layout);

// The modes that the coordinate leaves open, and the index of the rest of it.
Layout slice(Tiler const& coord, Layout const& layout);
Layout dice(Tiler const& coord, Layout const& layout);
IntTuple slice_offset(Tiler const& coord, Layout const& layout);
// The elements of t where the guide has an integer, and where it has `_`.
Tiler dice(Tiler const& guide, Tiler const& t);
Tiler slice(Tiler const& guide, Tiler const& t);

// The modes of a layout from left to right, each with one extent.
struct FlatLayout {
  std::vector<Integer> shape;
  std::vector<Integer> stride;
};
FlatLayout flat(Layout const& layout);

}  // namespace cute_py::layout
