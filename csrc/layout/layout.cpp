#include "layout/layout.hpp"

#include <algorithm>
#include <string>

#include "base/errors.hpp"
#include "layout/composer.hpp"
#include "layout/text.hpp"

namespace cute_py::layout {
namespace {

void check_extents(IntTuple const& shape, IntTuple const& whole, std::int64_t least) {
  if (shape.is_tuple()) {
    if (shape.rank() == 0 && (least > 0 || whole.rank() > 0)) {
      throw LayoutError("the shape " + to_string(whole) + " has an empty tuple in it");
    }
    for (auto const& e : shape.elements()) check_extents(e, whole, least);
    return;
  }
  if (shape.leaf().has_basis()) {
    throw LayoutError("the shape " + to_string(whole) + " has the basis element " + to_string(shape) +
                      " in it; only a stride can be one");
  }
  if (shape.leaf().value < least) {
    throw LayoutError("the shape " + to_string(whole) + " has the extent " + to_string(shape) + " in it; extents are " +
                      std::to_string(least) + " or more");
  }
}

void append_slice(Tiler const& guide, IntTuple const& t, bool keep_any, std::vector<IntTuple>& kept) {
  if (guide.is_tuple()) {
    if (!t.is_tuple() || guide.rank() != t.rank()) {
      throw LayoutError("slice: the coordinate " + to_string(guide) + " does not fit " + to_string(t) +
                        "; next: give an integer, or None to keep it, for each mode");
    }
    for (int i = 0; i < guide.rank(); ++i) append_slice(guide.elements[i], t[i], keep_any, kept);
  } else if ((guide.kind == Tiler::Kind::any) == keep_any) {
    kept.push_back(t);
  }
}

IntTuple sliced(Tiler const& guide, IntTuple const& t, bool keep_any) {
  if (!guide.is_tuple() && (guide.kind == Tiler::Kind::any) == keep_any) return t;
  std::vector<IntTuple> kept;
  append_slice(guide, t, keep_any, kept);
  return IntTuple(std::move(kept));
}

Tiler zeros_for_any(Tiler const& coord) {
  if (coord.is_tuple()) {
    std::vector<Tiler> elements;
    for (auto const& e : coord.elements) elements.push_back(zeros_for_any(e));
    return Tiler::of(std::move(elements));
  }
  return coord.kind == Tiler::Kind::any ? Tiler::of(fixed(0)) : coord;
}

// The elements of t where the guide has `_`, or where it has none.
void append_kept(char const* operation, Tiler const& guide, Tiler const& t, bool keep_any, std::vector<Tiler>& kept) {
  if (guide.is_tuple()) {
    if (!t.is_tuple() || guide.rank() != t.rank()) {
      throw LayoutError(std::string(operation) + ": " + to_string(guide) + " does not fit the value " + to_string(t) +
                        "; next: give an element for each of its modes");
    }
    for (int i = 0; i < guide.rank(); ++i) append_kept(operation, guide.elements[i], t.elements[i], keep_any, kept);
  } else if ((guide.kind == Tiler::Kind::any) == keep_any) {
    kept.push_back(t);
  }
}

Tiler kept_elements(char const* operation, Tiler const& guide, Tiler const& t, bool keep_any) {
  if (!guide.is_tuple() && (guide.kind == Tiler::Kind::any) == keep_any) return t;
  std::vector<Tiler> kept;
  append_kept(operation, guide, t, keep_any, kept);
  return Tiler::of(std::move(kept));
}

IntTuple plus_one(IntTuple const& t) {
  if (!t.is_tuple()) return t.leaf() + fixed(1);
  std::vector<IntTuple> result;
  for (auto const& e : t.elements()) result.push_back(plus_one(e));
  return IntTuple(std::move(result));
}

}  // namespace

Layout::Layout(IntTuple shape, IntTuple stride) : shape_(std::move(shape)), stride_(std::move(stride)) {
  check_extents(shape_, shape_, 0);
  if (!congruent(shape_, stride_)) {
    throw LayoutError("the shape " + to_string(shape_) + " and the stride " + to_string(stride_) +
                      " are not congruent: they need the same nesting");
  }
  size();  // fits in 64 bits
}

Layout::Layout(IntTuple const& shape) : shape_(shape) {
  check_extents(shape_, shape_, 0);
  stride_ = compact_left(shape_);
}

Layout Layout::operator[](int i) const { return trusted(shape_[i], stride_[i]); }

void LayoutBuilder::append(Layout const& mode) {
  shapes_.push_back(mode.shape());
  strides_.push_back(mode.stride());
}

Layout LayoutBuilder::tuple() && {
  Layout result = Layout::trusted(IntTuple(std::move(shapes_)), IntTuple(std::move(strides_)));
  result.size();  // fits in 64 bits
  return result;
}

Layout make_layout(std::vector<Layout> const& modes) {
  if (modes.empty()) throw LayoutError("make_layout: there is no layout of no modes");
  LayoutBuilder builder(static_cast<int>(modes.size()));
  for (auto const& mode : modes) builder.append(mode);
  return std::move(builder).tuple();
}

Tiler Tiler::of(Integer const& value) {
  Tiler t;
  t.kind = Kind::integer;
  t.integer = value;
  return t;
}

Tiler Tiler::of(Layout value) {
  Tiler t;
  t.kind = Kind::layout;
  t.layout = std::move(value);
  return t;
}

Tiler Tiler::of(std::vector<Tiler> elements) {
  Tiler t;
  t.kind = Kind::tuple;
  t.elements = std::move(elements);
  for (auto const& e : t.elements) t.depth = std::max(t.depth, e.depth);
  check_depth(++t.depth);
  return t;
}

Tiler Tiler::of(IntTuple const& t) {
  if (!t.is_tuple()) return of(t.leaf());
  std::vector<Tiler> elements;
  for (auto const& e : t.elements()) elements.push_back(of(e));
  return of(std::move(elements));
}

namespace {

std::vector<Tiler> elements_of(Tiler const& t) { return t.is_tuple() ? t.elements : std::vector<Tiler>{t}; }

void check_element(char const* operation, Tiler const& t, int at) {
  if (at < 0 || at >= t.rank()) {
    throw LayoutError(std::string(operation) + ": there is no element " + std::to_string(at) + " in " + to_string(t) +
                      "; next: count from 0 to " + std::to_string(t.rank() - 1));
  }
}

Tiler extended(char const* operation, Tiler const& t, int rank, Tiler const& element, bool in_front) {
  if (rank < t.rank()) {
    throw LayoutError(std::string(operation) + ": " + to_string(t) + " has more than " + std::to_string(rank) +
                      " elements; next: take(t, 0, " + std::to_string(rank) + ") shortens it");
  }
  if (rank == t.rank()) return t;
  std::vector<Tiler> result = elements_of(t);
  result.insert(in_front ? result.begin() : result.end(), static_cast<std::size_t>(rank - t.rank()), element);
  return Tiler::of(std::move(result));
}

}  // namespace

Tiler select(Tiler const& t, std::vector<int> const& modes) {
  std::vector<Tiler> const elements = elements_of(t);
  std::vector<Tiler> result;
  for (int const mode : modes) {
    check_element("select", t, mode);
    result.push_back(elements[static_cast<std::size_t>(mode)]);
  }
  return Tiler::of(std::move(result));
}

Tiler take(Tiler const& t, int begin, int end) {
  if (begin < 0 || end > t.rank() || begin >= end) {
    throw LayoutError("[" + std::to_string(begin) + ", " + std::to_string(end) + ") is no range of elements of " +
                      to_string(t) + "; next: 0 <= begin < end <= " + std::to_string(t.rank()));
  }
  std::vector<Tiler> const elements = elements_of(t);
  return Tiler::of(std::vector<Tiler>(elements.begin() + begin, elements.begin() + end));
}

Tiler group(Tiler const& t, int begin, int end) {
  Tiler const grouped = take(t, begin, end);
  std::vector<Tiler> result = elements_of(t);
  result.erase(result.begin() + begin, result.begin() + end);
  result.insert(result.begin() + begin, grouped);
  return Tiler::of(std::move(result));
}

Tiler append(Tiler const& t, int rank, Tiler const& element) { return extended("append", t, rank, element, false); }

Tiler prepend(Tiler const& t, int rank, Tiler const& element) { return extended("prepend", t, rank, element, true); }

Tiler replace(Tiler const& t, int at, Tiler const& element) {
  check_element("replace", t, at);
  std::vector<Tiler> result = elements_of(t);
  result[static_cast<std::size_t>(at)] = element;
  return Tiler::of(std::move(result));
}

void require_elements(char const* operation, Layout const& layout) {
  if (!layout.is_empty()) return;
  throw LayoutError(std::string(operation) + ": " + to_string(layout) +
                    " has no elements; next: give extents that are 1 or more");
}

void require_elements(IntTuple const& shape) { check_extents(shape, shape, 1); }

bool has_any(Tiler const& coord) {
  for (auto const& e : coord.elements) {
    if (has_any(e)) return true;
  }
  return coord.kind == Tiler::Kind::any;
}

IntTuple coordinate(Tiler const& coord) {
  if (coord.kind == Tiler::Kind::integer) return coord.integer;
  if (!coord.is_tuple()) throw LayoutError("a coordinate has integers in it, " + to_string(coord) + " has not");
  std::vector<IntTuple> result;
  for (auto const& e : coord.elements) result.push_back(coordinate(e));
  return IntTuple(std::move(result));
}

IntTuple coshape(Layout const& layout) {
  if (layout.is_empty()) return coprofile(layout);
  FlatLayout const f = flat(layout);
  IntTuple last = fixed(0);
  for (std::size_t i = 0; i < f.shape.size(); ++i) {
    Integer const reach = (f.shape[i] + fixed(-1)) * abs(f.stride[i]);
    last = i == 0 ? as_arithmetic_tuple(reach) : arithmetic_sum(last, as_arithmetic_tuple(reach));
  }
  return plus_one(last);
}

Integer cosize(Layout const& layout) { return product(coshape(layout)); }

Layout slice(Tiler const& coord, Layout const& layout) {
  IntTuple shape = sliced(coord, layout.shape(), true);
  if (shape.is_tuple() && shape.rank() == 0) {
    throw LayoutError("slice: the coordinate " + to_string(coord) +
                      " leaves no mode open; next: layout(coord) is the index there");
  }
  return Layout(std::move(shape), sliced(coord, layout.stride(), true));
}

Layout dice(Tiler const& coord, Layout const& layout) {
  IntTuple shape = sliced(coord, layout.shape(), false);
  if (shape.is_tuple() && shape.rank() == 0) return Layout();
  return Layout(std::move(shape), sliced(coord, layout.stride(), false));
}

IntTuple slice_offset(Tiler const& coord, Layout const& layout) { return layout(coordinate(zeros_for_any(coord))); }

Tiler dice(Tiler const& guide, Tiler const& t) { return kept_elements("dice", guide, t, false); }

Tiler slice(Tiler const& guide, Tiler const& t) { return kept_elements("slice", guide, t, true); }

FlatLayout flat(Layout const& layout) { return {leaves(layout.shape()), leaves(layout.stride())}; }

}  // namespace cute_py::layout
