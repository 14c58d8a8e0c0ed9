#include "layout/swizzle.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "layout/composer.hpp"
#include "layout/text.hpp"
#include "problem/errors.hpp"

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

ComposedLayout ComposedLayout::with_inner(Layout inner) const {
  ComposedLayout result = *this;
  result.inner_ = std::move(inner);
  return result;
}

ComposedLayout ComposedLayout::with_offset(Integer const& offset) const {
  ComposedLayout result = *this;
  result.offset_ = offset;
  return result;
}

IntTuple ComposedLayout::operator()(IntTuple const& coord) const {
  IntTuple const index = arithmetic_sum(offset_, inner_(coord));
  if (!has_swizzle_) return outer_(index);
  if (index.is_tuple()) throw LayoutError(to_string(*this) + ": a swizzle takes an integer, not " + to_string(index));
  return Integer{swizzle_(index.leaf().value), {}, index.leaf().is_static};
}

Swizzle composition(Swizzle const& a, Swizzle const& b) {
  if (a.shift() != b.shift()) {
    throw LayoutError("composition: " + to_string(a) + " and " + to_string(b) + " have different shifts");
  }
  return make_swizzle(static_cast<std::uint64_t>(a.yyy() ^ b.yyy()), static_cast<std::uint64_t>(a.zzz() ^ b.zzz()));
}

ComposedLayout composition(Layout const& a, Swizzle const& b) {
  auto const image = [&](std::int64_t mask) {
    IntTuple const index = a(IntTuple(fixed(mask)));
    if (index.is_tuple())
      throw LayoutError("composition: " + to_string(a) + " o " + to_string(b) + " gives coordinates");
    return static_cast<std::uint64_t>(index.leaf().value);
  };
  ComposedLayout const result(make_swizzle(image(b.yyy()), image(b.zzz())), fixed(0), a);
  check_law("composition", a, [&](std::int64_t i) {
    return Sides{a(IntTuple(dynamic(b(i)))), result(IntTuple(dynamic(i))), "A(Sw(c))", "the swizzled A"};
  });
  return result;
}

Swizzle upcast(Swizzle const& s, std::int64_t n) {
  int const base = s.base() - log2_of("upcast", n);
  return base >= 0 ? Swizzle(s.bits(), base, s.shift()) : Swizzle(std::max(s.bits() + base, 0), 0, s.shift());
}

Swizzle downcast(Swizzle const& s, std::int64_t n) {
  return Swizzle(s.bits(), s.base() + log2_of("downcast", n), s.shift());
}

ComposedLayout upcast(ComposedLayout const& layout, std::int64_t n) {
  if (!layout.has_swizzle()) throw LayoutError("upcast: " + to_string(layout) + " has no swizzle on the outside");
  log2_of("upcast", n);
  if (layout.offset().value % n != 0) {
    throw LayoutError("upcast: the offset " + to_string(layout.offset()) + " is no multiple of " + std::to_string(n));
  }
  return ComposedLayout(upcast(layout.swizzle(), n), layout.offset() / fixed(n), upcast(layout.inner(), n));
}

ComposedLayout downcast(ComposedLayout const& layout, std::int64_t n) {
  if (!layout.has_swizzle()) throw LayoutError("downcast: " + to_string(layout) + " has no swizzle on the outside");
  return ComposedLayout(downcast(layout.swizzle(), n), layout.offset() * fixed(n), downcast(layout.inner(), n));
}

namespace {

void require_plain_swizzle(char const* operation, ComposedLayout const& layout) {
  if (!layout.has_swizzle() || layout.offset().value != 0) {
    throw LayoutError(std::string(operation) + ": " + to_string(layout) +
                      " needs a swizzle on the outside and the offset 0");
  }
}

}  // namespace

ComposedLayout right_inverse(ComposedLayout const& layout) {
  require_plain_swizzle("right_inverse", layout);
  ComposedLayout const result = composition(right_inverse(layout.inner()), layout.swizzle());
  check_law("right_inverse", result.inner(), [&](std::int64_t i) {
    IntTuple const index = dynamic(i);
    return Sides{layout(result(index)), index, "L(R(i))", "i"};
  });
  return result;
}

ComposedLayout left_inverse(ComposedLayout const& layout) {
  require_plain_swizzle("left_inverse", layout);
  ComposedLayout const result = composition(left_inverse(layout.inner()), layout.swizzle());
  check_law("left_inverse", layout.inner(), [&](std::int64_t i) {
    IntTuple const at = layout(IntTuple(dynamic(i)));
    return Sides{layout(result(at)), at, "L(R(L(c)))", "L(c)"};
  });
  return result;
}

ComposedLayout composition(Layout const& a, ComposedLayout const& b) {
  require_plain_swizzle("composition", b);
  ComposedLayout const outer = composition(a, b.swizzle());
  ComposedLayout const result = outer.with_inner(composition(outer.inner(), b.inner()));
  check_law("composition", b.inner(), [&](std::int64_t i) {
    IntTuple const index = dynamic(i);
    return Sides{a(b(index)), result(index), "A(B(c))", "the swizzled A"};
  });
  return result;
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
