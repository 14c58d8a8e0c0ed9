#include "layout/swizzle.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/errors.hpp"
#include "layout/composer.hpp"
#include "layout/text.hpp"

namespace cute_py::layout {
namespace {

constexpr int kIndexBits = 32;  // CuTe's swizzles act on 32-bit indices

Integer power_of_two(int exponent) { return fixed(std::int64_t{1} << exponent); }

int log2_of(char const* operation, std::int64_t n) {
  if (n < 1 || (n & (n - 1)) != 0) {
    throw LayoutError(std::string(operation) + ": the factor " + std::to_string(n) +
                      " is no power of two, which a swizzle needs");
  }
  return __builtin_ctzll(static_cast<unsigned long long>(n));
}

// The index space of a swizzle as five modes: below both masks, the lower mask, between, the upper mask, above.
Layout five_modes(Swizzle const& s, IntTuple const& stride) {
  int const gap = std::abs(s.shift()) - s.bits();
  Integer const mask = power_of_two(s.bits());
  return Layout(IntTuple(std::vector<IntTuple>{power_of_two(s.base()), mask, power_of_two(gap), mask, fixed(1)}),
                stride);
}

// Indices with the swizzle's masks cut out, and with nothing but the masks.
Layout without_masks(Swizzle const& s) {
  Integer const size = power_of_two(s.base() + s.bits() + std::abs(s.shift()));
  return five_modes(
      s, IntTuple(std::vector<IntTuple>{fixed(1), fixed(0), power_of_two(s.base() + s.bits()), fixed(0), size}));
}

Layout only_masks(Swizzle const& s) {
  return five_modes(s, IntTuple(std::vector<IntTuple>{fixed(0), power_of_two(s.base()), fixed(0),
                                                      power_of_two(s.base() + std::abs(s.shift())), fixed(0)}));
}

// What a step of 1 << i in one mask does to a swizzled index, given the bits of the offset.
std::vector<Integer> mask_strides(Swizzle const& s, bool is_z, std::int64_t offset, bool is_static) {
  std::int64_t const z = s.zzz() & -s.zzz();
  std::int64_t const y = s.yyy() & -s.yyy();
  std::vector<Integer> result;
  for (int i = 0; i < s.bits(); ++i) {
    std::int64_t value;
    if (is_z) {
      value = (offset & (y << i)) == 0 ? z << i : -(z << i);
    } else {
      value = ((offset & (z << i)) == 0 ? y + z : y - z) * (std::int64_t{1} << i);
    }
    result.push_back({value, {}, is_static});
  }
  return result;
}

Tiler integers_of(Tiler const& coord) { return dice(coord, coord); }

}  // namespace

Swizzle::Swizzle(int bits, int base, int shift) : bits_(bits), base_(base), shift_(shift) {
  std::string const text = to_string(*this);
  if (bits < 0 || base < 0) throw LayoutError(text + ": the bits and the base of a swizzle are 0 or more");
  if (std::abs(shift) < bits) {
    throw LayoutError(text + ": the shift is at least as far as the swizzle has bits, or its masks would overlap");
  }
  if (bits + base + std::abs(shift) >= kIndexBits) {
    throw LayoutError(text + ": a swizzle acts on indices of " + std::to_string(kIndexBits) + " bits");
  }
}

std::int64_t Swizzle::yyy() const { return ((std::int64_t{1} << bits_) - 1) << (base_ + std::max(0, shift_)); }
std::int64_t Swizzle::zzz() const { return ((std::int64_t{1} << bits_) - 1) << (base_ - std::min(0, shift_)); }

std::int64_t Swizzle::operator()(std::int64_t index) const {
  std::int64_t const bits = index & yyy();
  return index ^ (shift_ >= 0 ? bits >> shift_ : bits << -shift_);
}

Swizzle make_swizzle(std::uint64_t y, std::uint64_t z) {
  if (y == 0 && z == 0) return Swizzle(0, 0, 0);
  int const bits = __builtin_popcountll(y);
  if (y != 0 && z != 0 && bits == __builtin_popcountll(z) && (y >> kIndexBits) == 0 && (z >> kIndexBits) == 0) {
    int const low_y = __builtin_ctzll(y);
    int const low_z = __builtin_ctzll(z);
    if (std::abs(low_y - low_z) >= bits) {
      Swizzle const result(bits, std::min(low_y, low_z), low_y - low_z);
      if (result.yyy() == static_cast<std::int64_t>(y) && result.zzz() == static_cast<std::int64_t>(z)) return result;
    }
  }
  throw LayoutError("make_swizzle: the bits " + std::to_string(y) + " and " + std::to_string(z) +
                    " are no masks of one swizzle: each is one run of as many bits");
}

IntTuple ComposedLayout::Function::operator()(IntTuple const& index) const {
  IntTuple const i = arithmetic_sum(offset, index);
  if (!is_swizzle) return layout(i);
  if (i.is_tuple()) throw LayoutError(to_string(swizzle) + ": a swizzle takes an integer, not " + to_string(i));
  return Integer{swizzle(i.leaf().value), {}, i.leaf().is_static};
}

ComposedLayout::ComposedLayout(std::vector<Function> functions, Layout inner)
    : functions_(std::move(functions)), inner_(std::move(inner)) {
  if (functions_.empty()) throw LayoutError("a composed layout has a function in front of its layout");
  if (functions_.size() > kMaxFunctions) {
    throw LayoutError("a composed layout has at most " + std::to_string(kMaxFunctions) + " functions, not " +
                      std::to_string(functions_.size()));
  }
}

ComposedLayout ComposedLayout::rest() const {
  return ComposedLayout({functions_.begin() + 1, functions_.end()}, inner_);
}

ComposedLayout ComposedLayout::with_inner(Layout inner) const {
  ComposedLayout result = *this;
  result.inner_ = std::move(inner);
  return result;
}

ComposedLayout ComposedLayout::with_offset(Integer const& offset) const {
  ComposedLayout result = *this;
  result.functions_.front().offset = offset;
  return result;
}

IntTuple ComposedLayout::operator()(IntTuple const& coord) const {
  IntTuple index = inner_(coord);
  for (auto f = functions_.rbegin(); f != functions_.rend(); ++f) index = (*f)(index);
  return index;
}

Swizzle composition(Swizzle const& a, Swizzle const& b) {
  if (a.shift() != b.shift()) {
    throw LayoutError("composition: " + to_string(a) + " and " + to_string(b) +
                      " have different shifts; next: make_composed_layout(A, 0, composition(B, layout)) has both");
  }
  return make_swizzle(static_cast<std::uint64_t>(a.yyy() ^ b.yyy()), static_cast<std::uint64_t>(a.zzz() ^ b.zzz()));
}

namespace {

// a o b, or the reason why no swizzle in front of a gives it.
ComposedLayout swizzled(Layout const& a, Swizzle const& b) {
  auto const image = [&](std::int64_t mask) {
    IntTuple const index = a(IntTuple(fixed(mask)));
    if (index.is_tuple()) throw LayoutError(to_string(a) + " gives coordinates, a swizzle takes integers");
    return static_cast<std::uint64_t>(index.leaf().value);
  };
  ComposedLayout const result(make_swizzle(image(b.yyy()), image(b.zzz())), fixed(0), a);
  check_law("composition", a, [&](std::int64_t i) {
    return Sides{a(IntTuple(dynamic(b(i)))), result(IntTuple(dynamic(i))), "A(Sw(c))", "the swizzled A"};
  });
  return result;
}

[[noreturn]] void refuse_composition(std::string const& a, std::string const& b, std::string reason,
                                     std::string const& next) {
  std::string const prefix = "composition: ";
  if (reason.compare(0, prefix.size(), prefix) == 0) reason.erase(0, prefix.size());
  reason.erase(std::min({reason.size(), reason.find("\n  next: "), reason.find("; next: ")}));
  throw LayoutError("composition: A o B is no swizzle in front of a layout\n  A " + a + "\n  B " + b + "\n  " + reason +
                    "\n  next: " + next);
}

}  // namespace

ComposedLayout composition(Layout const& a, Swizzle const& b) {
  try {
    return swizzled(a, b);
  } catch (LayoutError const& error) {
    refuse_composition(to_string(a), to_string(b), error.what(),
                       "make_composed_layout(A, 0, composition(B, Layout(size(A)))) evaluates A(B(c)) as it stands");
  }
}

Swizzle upcast(Swizzle const& s, std::int64_t n) {
  int const base = s.base() - log2_of("upcast", n);
  return base >= 0 ? Swizzle(s.bits(), base, s.shift()) : Swizzle(std::max(s.bits() + base, 0), 0, s.shift());
}

Swizzle downcast(Swizzle const& s, std::int64_t n) {
  return Swizzle(s.bits(), s.base() + log2_of("downcast", n), s.shift());
}

namespace {

void require_swizzle(char const* operation, ComposedLayout const& layout) {
  if (layout.has_swizzle() && !layout.is_nested()) return;
  throw LayoutError(std::string(operation) + ": " + to_string(layout) +
                    " is not one swizzle in front of a layout; next: use its outer and inner parts");
}

void require_plain_swizzle(char const* operation, ComposedLayout const& layout) {
  require_swizzle(operation, layout);
  if (layout.offset().value == 0) return;
  throw LayoutError(std::string(operation) + ": " + to_string(layout) +
                    " has an offset inside; next: slice or offset the result instead");
}

}  // namespace

ComposedLayout upcast(ComposedLayout const& layout, std::int64_t n) {
  require_swizzle("upcast", layout);
  log2_of("upcast", n);
  if (layout.offset().value % n != 0) {
    throw LayoutError("upcast: the offset " + to_string(layout.offset()) + " is no multiple of " + std::to_string(n));
  }
  return ComposedLayout(upcast(layout.swizzle(), n), layout.offset() / fixed(n), upcast(layout.inner(), n));
}

ComposedLayout downcast(ComposedLayout const& layout, std::int64_t n) {
  require_swizzle("downcast", layout);
  return ComposedLayout(downcast(layout.swizzle(), n), layout.offset() * fixed(n), downcast(layout.inner(), n));
}

namespace {

// Every function undone, the outermost one first, for indices below `size`.
ComposedLayout undone(char const* operation, ComposedLayout const& layout, std::int64_t size) {
  auto const inverse_of = [&](Layout const& part) {
    try {
      return left_inverse(part);
    } catch (LayoutError const& error) {
      throw LayoutError(std::string(operation) + ": of its part " + to_string(part) + ": " + error.what());
    }
  };
  auto const& functions = layout.functions();
  std::vector<ComposedLayout::Function> result{{inverse_of(layout.inner()), -functions.back().offset}};
  for (std::size_t i = functions.size(); i-- > 0;) {
    Integer const offset = i > 0 ? -functions[i - 1].offset : fixed(0);
    if (functions[i].is_swizzle) {
      result.emplace_back(functions[i].swizzle, offset);
    } else {
      result.emplace_back(inverse_of(functions[i].layout), offset);
    }
  }
  return ComposedLayout(std::move(result), Layout(IntTuple(dynamic(size))));
}

std::int64_t index_of(char const* operation, ComposedLayout const& layout, std::int64_t i) {
  IntTuple const index = layout(IntTuple(dynamic(i)));
  if (!index.is_tuple() && !index.leaf().has_basis()) return index.leaf().value;
  throw LayoutError(std::string(operation) + ": " + to_string(layout) + " gives coordinates, not indices");
}

std::int64_t greatest_index(char const* operation, ComposedLayout const& layout) {
  std::int64_t greatest = 0;
  std::int64_t const size = std::min(layout.inner().size().value, kExhaustive);
  for (std::int64_t i = 0; i < size; ++i) greatest = std::max(greatest, index_of(operation, layout, i));
  return greatest;
}

// Whether the inverse takes i to a coordinate of the layout with that index, not to one beyond its domain.
bool takes_back(ComposedLayout const& layout, ComposedLayout const& inverse, std::int64_t i) {
  std::int64_t const coord = index_of("right_inverse", inverse, i);
  return coord >= 0 && coord < layout.inner().size().value && index_of("right_inverse", layout, coord) == i;
}

void check_right_inverse(ComposedLayout const& layout, ComposedLayout const& inverse) {
  check_law("right_inverse", inverse.inner(), [&](std::int64_t i) {
    return Sides{IntTuple(dynamic(takes_back(layout, inverse, i))), IntTuple(dynamic(1)), "L(R(i)) == i", "the law"};
  });
}

void check_left_inverse(ComposedLayout const& layout, ComposedLayout const& inverse) {
  check_law("left_inverse", layout.inner(), [&](std::int64_t i) {
    IntTuple const at = layout(IntTuple(dynamic(i)));
    return Sides{layout(inverse(at)), at, "L(R(L(c)))", "L(c)"};
  });
}

// Of Sw o L a swizzle in front of L's inverse, if that is one.
std::optional<ComposedLayout> swizzled_inverse(ComposedLayout const& layout, Layout (*inverse)(Layout const&),
                                               void (*check)(ComposedLayout const&, ComposedLayout const&)) {
  if (layout.is_nested() || !layout.has_swizzle() || layout.offset().value != 0) return std::nullopt;
  try {
    ComposedLayout const result = swizzled(inverse(layout.inner()), layout.swizzle());
    check(layout, result);
    return result;
  } catch (LayoutError const&) {
    return std::nullopt;
  }
}

}  // namespace

ComposedLayout right_inverse(ComposedLayout const& layout) {
  if (auto const found = swizzled_inverse(layout, &right_inverse, &check_right_inverse)) return *found;
  std::int64_t const end = greatest_index("right_inverse", layout) + 1;
  ComposedLayout const back = undone("right_inverse", layout, end);
  std::int64_t size = 0;
  while (size < end && takes_back(layout, back, size)) ++size;
  if (size > 0) return undone("right_inverse", layout, size);
  throw LayoutError("right_inverse: " + to_string(layout) + " does not give the index 0" +
                    ", where an inverse begins; next: left_inverse takes the indices that it gives back to their "
                    "coordinates");
}

ComposedLayout left_inverse(ComposedLayout const& layout) {
  if (auto const found = swizzled_inverse(layout, &left_inverse, &check_left_inverse)) return *found;
  ComposedLayout const result = undone("left_inverse", layout, greatest_index("left_inverse", layout) + 1);
  check_left_inverse(layout, result);
  return result;
}

ComposedLayout composition(Layout const& a, ComposedLayout const& b) {
  try {
    require_plain_swizzle("composition", b);
    ComposedLayout const outer = swizzled(a, b.swizzle());
    ComposedLayout const result = outer.with_inner(composition(outer.inner(), b.inner()));
    check_law("composition", b.inner(), [&](std::int64_t i) {
      IntTuple const index = dynamic(i);
      return Sides{a(b(index)), result(index), "A(B(c))", "the swizzled A"};
    });
    return result;
  } catch (LayoutError const& error) {
    refuse_composition(to_string(a), to_string(b), error.what(),
                       "make_composed_layout(A, 0, B) evaluates A(B(c)) as it stands");
  }
}

Integer max_common_vector(ComposedLayout const& a, Layout const& b) {
  require_plain_swizzle("max_common_vector", a);
  return min(max_common_vector(a.inner(), b), power_of_two(a.swizzle().base()));
}

Integer max_common_vector(ComposedLayout const& a, ComposedLayout const& b) {
  require_plain_swizzle("max_common_vector", a);
  require_plain_swizzle("max_common_vector", b);
  Integer const vector = max_common_vector(a.inner(), b.inner());
  if (a.swizzle() == b.swizzle()) return vector;
  return min(vector, min(power_of_two(a.swizzle().base()), power_of_two(b.swizzle().base())));
}

Layout max_common_layout(ComposedLayout const& a, Layout const& b) {
  require_plain_swizzle("max_common_layout", a);
  Layout const common = max_common_layout(a.inner(), b);
  Integer const base = power_of_two(a.swizzle().base());
  return base.value < common.size().value ? composition(common, Tiler::of(base)) : common;
}

namespace {

constexpr std::int64_t kCheckedSlice = 1 << 14;

// CuTe's slice of a swizzled layout, right where neither the offsets nor the open modes carry into the masks.
SwizzledSlice cute_slice(Tiler const& coord, ComposedLayout const& layout, Layout const& open, Tiler const& given) {
  Swizzle const& swizzle = layout.swizzle();
  Layout const fixed_modes = dice(coord, layout.inner());
  IntTuple const at = coordinate(given);
  Integer const masked = composition(only_masks(swizzle), fixed_modes)(at).leaf();
  IntTuple const passed = composition(without_masks(swizzle), fixed_modes)(at);
  Integer const offset{layout.offset().value ^ masked.value, {}, layout.offset().is_static && masked.is_static};

  // The bits of the masks that the open modes reach, and whether one of them is swizzled by another.
  Layout const open_masked = composition(only_masks(swizzle), open);
  std::int64_t const active = open_masked(IntTuple(dynamic(open_masked.size().value - 1))).leaf().value;
  if ((active & ~swizzle(active)) != 0) {
    return {false, Layout(), ComposedLayout(swizzle, offset, open), passed};
  }
  auto low = mask_strides(swizzle, swizzle.zzz() < swizzle.yyy(), offset.value, offset.is_static);
  auto const high = mask_strides(swizzle, swizzle.zzz() > swizzle.yyy(), offset.value, offset.is_static);
  int const gap = std::abs(swizzle.shift()) - swizzle.bits();
  std::vector<IntTuple> shape{power_of_two(swizzle.base())};
  std::vector<IntTuple> stride{fixed(1)};
  auto const append_mask = [&](std::vector<Integer> const& steps) {
    for (auto const& step : steps) {
      shape.emplace_back(fixed(2));
      stride.emplace_back(step);
    }
  };
  append_mask(low);
  shape.emplace_back(power_of_two(gap));
  stride.emplace_back(power_of_two(swizzle.base() + swizzle.bits()));
  append_mask(high);
  shape.emplace_back(fixed(1));
  stride.emplace_back(power_of_two(swizzle.base() + swizzle.bits() + std::abs(swizzle.shift())));
  Layout const decayed(IntTuple(std::move(shape)), IntTuple(std::move(stride)));
  IntTuple const rest = arithmetic_sum(Integer{swizzle(offset.value), {}, offset.is_static}, passed);
  return {true, composition(decayed, open), layout, rest};
}

// Whether a slice is the function that it stands for.
bool is_exact(SwizzledSlice const& slice, ComposedLayout const& exact) {
  std::int64_t const size = exact.inner().size().value;
  if (size > kCheckedSlice) return false;
  for (std::int64_t i = 0; i < size; ++i) {
    IntTuple const index = dynamic(i);
    IntTuple const value = slice.is_plain ? slice.plain(index) : slice.composed(index);
    if (arithmetic_sum(value, slice.offset) != exact(index)) return false;
  }
  return true;
}

}  // namespace

SwizzledSlice slice_and_offset(Tiler const& coord, ComposedLayout const& layout) {
  Layout const open = slice(coord, layout.inner());
  Tiler const given = integers_of(coord);
  bool const all_open = coord.kind == Tiler::Kind::any || (given.is_tuple() && given.elements.empty());
  if (all_open) return {false, Layout(), layout.with_inner(open), fixed(0)};
  if (layout.is_nested()) {
    SwizzledSlice const rest = slice_and_offset(coord, layout.rest());
    ComposedLayout::Function outer = layout.functions().front();
    outer.offset = outer.offset + rest.offset.leaf();
    std::vector<ComposedLayout::Function> functions{outer};
    if (!rest.is_plain) {
      functions.insert(functions.end(), rest.composed.functions().begin(), rest.composed.functions().end());
    }
    return {false, Layout(), ComposedLayout(std::move(functions), rest.is_plain ? rest.plain : rest.composed.inner()),
            fixed(0)};
  }
  IntTuple const offset = slice_offset(coord, layout.inner());
  if (offset.is_tuple()) throw LayoutError("slice: " + to_string(layout) + " gives coordinates inside");
  SwizzledSlice const exact{false, Layout(), layout.with_inner(open).with_offset(layout.offset() + offset.leaf()),
                            fixed(0)};
  if (!layout.has_swizzle()) return exact;
  try {
    SwizzledSlice sliced = cute_slice(coord, layout, open, given);
    if (is_exact(sliced, exact.composed)) return sliced;
  } catch (LayoutError const&) {
    // the swizzle's masks do not divide the layout: CuTe has no slice of it
  }
  return exact;
}

}  // namespace cute_py::layout
