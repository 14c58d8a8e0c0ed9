#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "layout/algebra.hpp"
#include "layout/layout.hpp"

namespace cute_py::layout {

// i -> i ^ ((i & yyy) >> shift): B bits, the lowest at M, are changed by those S places further up (down, for S < 0).
class Swizzle {
 public:
  Swizzle() : Swizzle(0, 4, 3) {}
  Swizzle(int bits, int base, int shift);  // throws LayoutError

  int bits() const { return bits_; }
  int base() const { return base_; }
  int shift() const { return shift_; }

  std::int64_t yyy() const;
  std::int64_t zzz() const;
  std::int64_t operator()(std::int64_t index) const;

  bool operator==(Swizzle const& other) const {
    return bits_ == other.bits_ && base_ == other.base_ && shift_ == other.shift_;
  }

 private:
  int bits_;
  int base_;
  int shift_;
};

// The swizzle with these bits for Y and Z; throws LayoutError if there is none.
Swizzle make_swizzle(std::uint64_t y, std::uint64_t z);

// c -> outer(offset + inner(c)) where outer is a swizzle, or a layout that inner does not compose with. The inner
// layout may be composed itself: then there are several functions with an offset each, applied one after the other.
class ComposedLayout {
 public:
  static constexpr int kMaxFunctions = 32;

  // i -> swizzle(offset + i), or layout(offset + i).
  struct Function {
    Function(Swizzle const& s, Integer const& o) : swizzle(s), is_swizzle(true), offset(o) {}
    Function(Layout l, Integer const& o) : layout(std::move(l)), offset(o) {}

    IntTuple operator()(IntTuple const& index) const;
    bool operator==(Function const& other) const {
      return is_swizzle == other.is_swizzle && (is_swizzle ? swizzle == other.swizzle : layout == other.layout) &&
             offset == other.offset;
    }

    Swizzle swizzle;
    Layout layout;
    bool is_swizzle = false;
    Integer offset;
  };

  ComposedLayout(Swizzle const& swizzle, Integer const& offset, Layout inner)
      : functions_{{swizzle, offset}}, inner_(std::move(inner)) {}
  ComposedLayout(Layout outer, Integer const& offset, Layout inner)
      : functions_{{std::move(outer), offset}}, inner_(std::move(inner)) {}

  // The outermost function first. Throws LayoutError for none, and for more than kMaxFunctions.
  ComposedLayout(std::vector<Function> functions, Layout inner);

  // The outermost function and its offset.
  bool has_swizzle() const { return functions_.front().is_swizzle; }
  Swizzle const& swizzle() const { return functions_.front().swizzle; }
  Layout const& outer() const { return functions_.front().layout; }
  Integer const& offset() const { return functions_.front().offset; }

  // The innermost layout, whose modes are those of the whole.
  Layout const& inner() const { return inner_; }

  std::vector<Function> const& functions() const { return functions_; }
  bool is_nested() const { return functions_.size() > 1; }
  ComposedLayout rest() const;  // of a nested one, without the outermost function

  ComposedLayout with_inner(Layout inner) const;
  ComposedLayout with_offset(Integer const& offset) const;

  IntTuple operator()(IntTuple const& coord) const;

  bool operator==(ComposedLayout const& other) const {
    return functions_ == other.functions_ && inner_ == other.inner_;
  }

 private:
  std::vector<Function> functions_;
  Layout inner_;
};

Swizzle composition(Swizzle const& a, Swizzle const& b);

// layout o swizzle as another swizzle o layout. Throws LayoutError where there is none.
ComposedLayout composition(Layout const& a, Swizzle const& b);

// layout o (swizzle o layout). Requires an offset of 0. Throws LayoutError where there is none.
ComposedLayout composition(Layout const& a, ComposedLayout const& b);

Swizzle upcast(Swizzle const& swizzle, std::int64_t n);
Swizzle downcast(Swizzle const& swizzle, std::int64_t n);
ComposedLayout upcast(ComposedLayout const& layout, std::int64_t n);
ComposedLayout downcast(ComposedLayout const& layout, std::int64_t n);

// layout(inverse(i)) == i, and inverse(layout(i)) == i: a swizzle in front of a layout where that is one, else all
// functions of the layout undone one after the other. Throws LayoutError for what has none.
ComposedLayout right_inverse(ComposedLayout const& layout);
ComposedLayout left_inverse(ComposedLayout const& layout);

Integer max_common_vector(ComposedLayout const& a, Layout const& b);
Integer max_common_vector(ComposedLayout const& a, ComposedLayout const& b);
Layout max_common_layout(ComposedLayout const& a, Layout const& b);

// A slice of a swizzled layout: a plain layout where the open modes do not meet the swizzle, as in CuTe, else a
// composed one, and the offset that is left for a pointer.
struct SwizzledSlice {
  bool is_plain;
  Layout plain;
  ComposedLayout composed;
  IntTuple offset;
};
SwizzledSlice slice_and_offset(Tiler const& coord, ComposedLayout const& layout);

}  // namespace cute_py::layout
