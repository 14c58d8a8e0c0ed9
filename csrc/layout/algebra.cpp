#include "layout/algebra.hpp"

#include <algorithm>
#include <string>

#include "base/errors.hpp"
#include "layout/composer.hpp"
#include "layout/modes.hpp"
#include "layout/text.hpp"

namespace cute_py::layout {
namespace {

// f of each mode and its tiler; modes beyond the tiler are kept.
template <class F>
Layout by_mode(char const* name, Layout const& layout, Tiler const& tiler, F f) {
  if (tiler.rank() > layout.rank()) {
    throw LayoutError(std::string(name) + ": the tiler " + to_string(tiler) + " has more modes than " +
                      to_string(layout) + "; next: give it " + std::to_string(layout.rank()) + " or fewer");
  }
  if (tiler.elements.empty()) throw LayoutError(std::string(name) + ": the tiler is an empty tuple");
  LayoutBuilder result(layout.rank());
  for (int i = 0; i < layout.rank(); ++i) {
    result.append(i < tiler.rank() ? f(layout[i], tiler.elements[i]) : layout[i]);
  }
  return std::move(result).tuple();
}

IntTuple ones_for_zeros(IntTuple const& stride, IntTuple const& shape) {
  if (stride.is_tuple()) {
    if (!shape.is_tuple() || shape.rank() != stride.rank()) {
      throw LayoutError("filter_zeros: " + to_string(stride) + " and " + to_string(shape) + " differ in rank");
    }
    std::vector<IntTuple> result;
    for (int i = 0; i < stride.rank(); ++i) result.push_back(ones_for_zeros(stride[i], shape[i]));
    return IntTuple(std::move(result));
  }
  return stride.leaf().is(0) ? repeat_like(shape, fixed(1)) : shape;
}

// The slice (_, (_, _, ...)) of a rank-2 layout, and ((_, ...), (_, ...)). A mode of rank 1 meets a single _ and stays.
void append_unpacked(Layout const& mode, LayoutBuilder& result) {
  if (mode.rank() == 1) {
    result.append(mode);
    return;
  }
  for (int i = 0; i < mode.rank(); ++i) result.append(mode[i]);
}

Layout unpack_second(Layout const& zipped) {
  LayoutBuilder result(1 + zipped[1].rank());
  result.append(zipped[0]);
  append_unpacked(zipped[1], result);
  return std::move(result).tuple();
}

Layout unpack_both(Layout const& zipped) {
  LayoutBuilder result(zipped[0].rank() + zipped[1].rank());
  append_unpacked(zipped[0], result);
  append_unpacked(zipped[1], result);
  return std::move(result).tuple();
}

IntTuple zip2_by(IntTuple const& t, Tiler const& guide) {
  if (!guide.is_tuple()) {
    if (!t.is_tuple() || t.rank() != 2) {
      std::string const hint =
          guide.kind == Tiler::Kind::any ? "; next: give an extent in the place of `_`, 1 or the mode's own" : "";
      throw LayoutError("zip: " + to_string(t) + " is no pair at the leaf " + to_string(guide) + " of the tiler" +
                        hint);
    }
    return t;
  }
  std::vector<IntTuple> first;
  std::vector<IntTuple> second;
  first.reserve(guide.rank());
  second.reserve(t.rank());
  for (int i = 0; i < t.rank(); ++i) {
    if (i < guide.rank()) {
      IntTuple const pair = zip2_by(t[i], guide.elements[i]);
      first.push_back(pair[0]);
      second.push_back(pair[1]);
    } else {
      second.push_back(t[i]);
    }
  }
  return IntTuple(std::vector<IntTuple>{IntTuple(std::move(first)), IntTuple(std::move(second))});
}

IntTuple zip_pair(IntTuple const& a, IntTuple const& b) {
  if (!a.is_tuple()) return IntTuple(std::vector<IntTuple>{IntTuple(std::vector<IntTuple>{a, b})});
  std::vector<IntTuple> result;
  for (int i = 0; i < a.rank(); ++i) result.push_back(IntTuple(std::vector<IntTuple>{a[i], b[i]}));
  return IntTuple(std::move(result));
}

IntTuple zip_tuple(IntTuple const& t) {
  if (!t.is_tuple() || t.rank() == 0 || !t[0].is_tuple())
    throw LayoutError("zip: " + to_string(t) + " is no tuple of tuples; next: zip(a, b) pairs the modes of two");
  std::vector<IntTuple> result;
  for (int i = 0; i < t[0].rank(); ++i) {
    std::vector<IntTuple> row;
    for (auto const& e : t.elements()) {
      if (!e.is_tuple() || e.rank() != t[0].rank())
        throw LayoutError("zip: modes of " + to_string(t) + " differ in rank; next: give tuples of one rank");
      row.push_back(e[i]);
    }
    result.emplace_back(std::move(row));
  }
  return IntTuple(std::move(result));
}

Layout upcast_mode(IntTuple const& shape, IntTuple const& stride, std::int64_t n) {
  if (shape.is_tuple()) {
    LayoutBuilder result(shape.rank());
    for (int i = 0; i < shape.rank(); ++i) result.append(upcast_mode(shape[i], stride[i], n));
    return std::move(result).tuple();
  }
  Integer const& d = stride.leaf();
  if (d.value == 0) return Layout(shape, stride);
  if (d.value % n != 0 && n % d.value != 0) {
    throw LayoutError("upcast: the stride " + to_string(d) + " neither divides nor is divided by " + std::to_string(n));
  }
  Integer const step = ceil_div(fixed(n), abs(d));
  return Layout(IntTuple(ceil_div(shape.leaf(), step)), IntTuple(sign(d) * ceil_div(abs(d), fixed(n))));
}

bool is_unit(Integer const& d) { return d.is(1) || d.is(-1); }

// `grow_ones`: a mode of extent 1 is the one whose elements are split, because no wider mode is.
Layout downcast_mode(IntTuple const& shape, IntTuple const& stride, std::int64_t n, bool& grow_ones) {
  if (shape.is_tuple()) {
    LayoutBuilder result(shape.rank());
    for (int i = 0; i < shape.rank(); ++i) result.append(downcast_mode(shape[i], stride[i], n, grow_ones));
    return std::move(result).tuple();
  }
  Integer const& d = stride.leaf();
  if (!is_unit(d)) return Layout(shape, IntTuple(d * fixed(n)));
  if (shape.leaf().value == 1 && !grow_ones) return Layout(shape, stride);
  if (shape.leaf().value == 1) grow_ones = false;
  return Layout(IntTuple(shape.leaf() * fixed(n)), stride);
}

void check_mode(char const* name, Layout const& layout, int mode) {
  if (mode < 0 || mode >= layout.rank()) {
    throw LayoutError(std::string(name) + ": there is no mode " + std::to_string(mode) + " in " + to_string(layout) +
                      ", which has rank " + std::to_string(layout.rank()) + "; next: count them from 0 to " +
                      std::to_string(layout.rank() - 1));
  }
}

void check_range(char const* name, Layout const& layout, int begin, int end) {
  if (begin < 0 || end > layout.rank() || begin >= end) {
    throw LayoutError(std::string(name) + ": [" + std::to_string(begin) + ", " + std::to_string(end) +
                      ") is no range of modes of " + to_string(layout) + ", which has rank " +
                      std::to_string(layout.rank()) + "; next: 0 <= begin < end <= " + std::to_string(layout.rank()));
  }
}

void check_factor(char const* name, std::int64_t n) {
  if (n < 1) throw LayoutError(std::string(name) + ": the factor " + std::to_string(n) + " is below 1");
}

}  // namespace

Layout make_ordered_layout(IntTuple const& shape, IntTuple const& order) {
  std::vector<Integer> ranks = leaves(order);
  std::sort(ranks.begin(), ranks.end(), [](Integer const& a, Integer const& b) { return a.value < b.value; });
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].has_basis())
      throw LayoutError("make_ordered_layout: order " + to_string(order) + " has a basis element in it");
    if (i > 0 && ranks[i] == ranks[i - 1]) {
      throw LayoutError("make_ordered_layout: order " + to_string(order) + " has " + to_string(ranks[i]) +
                        " twice: modes of one rank would overlap; next: give each mode another rank");
    }
  }
  return Layout(shape, compact_order(shape, order));
}

Layout make_layout_like(Layout const& layout) {
  refuse_basis("make_layout_like", layout);
  return Layout(layout.shape(), compact_order(ones_for_zeros(layout.stride(), layout.shape()), layout.stride()));
}

Layout make_fragment_like(Layout const& layout) {
  if (layout.rank() < 2) return Layout(layout.shape());
  refuse_basis("make_fragment_like", layout);
  Layout const first = layout[0];
  Layout const rest = take(layout, 1, layout.rank());
  return tiled_product(Layout(first.shape(), compact_left(ones_for_zeros(first.stride(), first.shape()))),
                       Tiler::of(Layout(rest.shape(), compact_order(rest.shape(), rest.stride()))));
}

Layout make_identity_layout(IntTuple const& shape) { return Layout(shape, basis_like(shape)); }

Layout get(Layout const& layout, std::vector<int> const& path) {
  Layout result = layout;
  for (int const mode : path) {
    check_mode("get", result, mode);
    result = result[mode];
  }
  return result;
}

Layout select(Layout const& layout, std::vector<int> const& modes) {
  std::vector<Layout> result;
  for (int const mode : modes) {
    check_mode("select", layout, mode);
    result.push_back(layout[mode]);
  }
  return make_layout(result);
}

Layout take(Layout const& layout, int begin, int end) {
  check_range("take", layout, begin, end);
  LayoutBuilder result(end - begin);
  for (int i = begin; i < end; ++i) result.append(layout[i]);
  return std::move(result).tuple();
}

Layout group(Layout const& layout, int begin, int end) {
  check_range("group", layout, begin, end);
  LayoutBuilder result(layout.rank() - (end - begin) + 1);
  for (int i = 0; i < begin; ++i) result.append(layout[i]);
  result.append(take(layout, begin, end));
  for (int i = end; i < layout.rank(); ++i) result.append(layout[i]);
  return std::move(result).tuple();
}

Layout append(Layout const& layout, int rank, Layout const& mode) {
  if (rank < layout.rank()) {
    throw LayoutError("append: " + to_string(layout) + " has more than " + std::to_string(rank) +
                      " modes; next: take(layout, 0, " + std::to_string(rank) + ") shortens it");
  }
  if (rank == layout.rank()) return layout;
  LayoutBuilder result(rank);
  for (int i = 0; i < rank; ++i) result.append(i < layout.rank() ? layout[i] : mode);
  return std::move(result).tuple();
}

Layout prepend(Layout const& layout, int rank, Layout const& mode) {
  if (rank < layout.rank()) {
    throw LayoutError("prepend: " + to_string(layout) + " has more than " + std::to_string(rank) +
                      " modes; next: take(layout, 0, " + std::to_string(rank) + ") shortens it");
  }
  if (rank == layout.rank()) return layout;
  LayoutBuilder result(rank);
  int const missing = rank - layout.rank();
  for (int i = 0; i < rank; ++i) result.append(i < missing ? mode : layout[i - missing]);
  return std::move(result).tuple();
}

Layout replace(Layout const& layout, int at, Layout const& mode) {
  check_mode("replace", layout, at);
  LayoutBuilder result(layout.rank());
  for (int i = 0; i < layout.rank(); ++i) result.append(i == at ? mode : layout[i]);
  return std::move(result).tuple();
}

Layout flatten(Layout const& layout) { return Layout::trusted(flatten(layout.shape()), flatten(layout.stride())); }

Layout unflatten(Layout const& layout, IntTuple const& profile) {
  FlatLayout const f = flat(layout);
  return Layout(unflatten(f.shape, profile), unflatten(f.stride, profile));
}

IntTuple zip(IntTuple const& t) { return zip_tuple(t); }

Layout zip(Layout const& layout) { return Layout::trusted(zip_tuple(layout.shape()), zip_tuple(layout.stride())); }

Layout zip(Layout const& a, Layout const& b) {
  if (a.shape().is_tuple() && (!b.shape().is_tuple() || a.rank() != b.rank())) {
    throw LayoutError("zip: " + to_string(a) + " and " + to_string(b) +
                      " differ in rank; next: append(layout, rank) makes the ranks equal");
  }
  return Layout::trusted(zip_pair(a.shape(), b.shape()), zip_pair(a.stride(), b.stride()));
}

Layout coalesce(Layout const& layout) { return from_modes(merged(flat(layout))); }

Layout coalesce(Layout const& layout, IntTuple const& profile) {
  return by_profile("coalesce", layout, profile, [](Layout const& l) { return coalesce(l); });
}

Layout filter_zeros(Layout const& layout) {
  return Layout::trusted(ones_for_zeros(layout.stride(), layout.shape()), layout.stride());
}

Layout filter_zeros(Layout const& layout, IntTuple const& profile) {
  return Layout(ones_for_zeros(profile, layout.shape()), layout.stride());
}

Layout filter(Layout const& layout) { return from_modes(filtered_modes(layout)); }

Layout filter(Layout const& layout, IntTuple const& profile) {
  return by_profile("filter", layout, profile, [](Layout const& l) { return filter(l); });
}

Layout composition(Layout const& a, Layout const& b) { return Composer(a, b).result(); }

Layout composition(Layout const& a, Tiler const& b) {
  switch (b.kind) {
    case Tiler::Kind::any:
      return a;
    case Tiler::Kind::layout:
      return composition(a, b.layout);
    case Tiler::Kind::integer:
      return composition(a, Layout(IntTuple(b.integer), IntTuple(fixed(1))));
    case Tiler::Kind::tuple:
      break;
  }
  if (b.rank() > a.rank()) {
    throw LayoutError("composition: the tiler " + to_string(b) + " has more modes than " + to_string(a) +
                      "; next: give it " + std::to_string(a.rank()) + " or fewer");
  }
  std::vector<Layout> result;
  for (int i = 0; i < b.rank(); ++i) result.push_back(composition(a[i], b.elements[i]));
  return make_layout(result);
}

Layout complement(Layout const& layout, IntTuple const& cotarget) {
  require_elements("complement", layout);
  refuse_basis("complement", layout);
  FlatLayout const filtered = filtered_modes(layout);
  if (filtered.stride.size() == 1 && filtered.stride[0].value == 0) return Layout(coalesced_shape(cotarget));
  return from_modes(merged(gaps_between(filtered, cotarget, layout)));
}

Layout complement(Layout const& layout) {
  Layout const filtered = filter(layout);
  return complement(filtered, IntTuple(cosize(filtered)));
}

Layout right_inverse(Layout const& layout) {
  require_elements("right_inverse", layout);
  refuse_basis("right_inverse", layout);
  FlatLayout const f = merged(flat(layout));
  std::vector<Integer> const below = prefix_product(f.shape);
  FlatLayout result{{fixed(1)}, {fixed(0)}};
  Integer reached = fixed(1);
  for (std::size_t const i : sorted_by_stride(f.stride)) {
    if (f.stride[i].value != reached.value) continue;
    result.shape.push_back(f.shape[i]);
    result.stride.push_back(below[i]);
    reached = f.shape[i] * f.stride[i];
  }
  return from_modes(merged(std::move(result)));
}

Layout left_inverse(Layout const& layout) {
  require_elements("left_inverse", layout);
  refuse_basis("left_inverse", layout);
  FlatLayout const f = merged(flat(layout));
  std::vector<Integer> const below = prefix_product(f.shape);
  FlatLayout inverse{{}, {fixed(0)}};
  Integer reached = fixed(1);
  bool proven = true;
  std::int64_t span = 1;
  auto const order = sorted_by_stride(f.stride);
  for (std::size_t const i : order) {
    Integer const& d = f.stride[i];
    if (d.value == 0) continue;
    if (d.value < 0 || d.value % reached.value != 0) {
      throw LayoutError("left_inverse: " + to_string(layout) + " has none: the stride " + to_string(d) +
                        (d.value < 0 ? " is negative" : " is no multiple of the stride " + to_string(reached)));
    }
    if (d.value < span) proven = false;
    span = multiply(f.shape[i].value, d.value);
    inverse.shape.push_back(d / reached);
    inverse.stride.push_back(below[i]);
    reached = reached * inverse.shape.back();
  }
  inverse.shape.push_back(f.shape[order.back()]);
  Layout const result = from_modes(merged(std::move(inverse)));
  if (!proven) {
    check_law("left_inverse", layout, [&](std::int64_t i) {
      IntTuple const at = layout(IntTuple(dynamic(i)));
      return Sides{layout(result(at)), at, "L(R(L(c)))", "L(c)"};
    });
  }
  return result;
}

Layout nullspace(Layout const& layout) {
  FlatLayout const f = flat(layout);
  std::vector<Integer> const stride = leaves(compact_left(flatten(layout.shape())));
  std::vector<Integer> null_shape;
  std::vector<Integer> null_stride;
  for (std::size_t i = 0; i < f.shape.size(); ++i) {
    if (!f.stride[i].is(0)) continue;
    null_shape.push_back(f.shape[i]);
    null_stride.push_back(stride[i]);
  }
  if (null_shape.empty()) return Layout();
  return from_modes({std::move(null_shape), std::move(null_stride)});
}

namespace {

// The first mode of a o right_inverse(b) if it is the identity.
std::optional<Layout> common_identity(Layout const& a, Layout const& inverse) {
  Layout const common = coalesce(composition(a, inverse));
  if (!common[0].stride().leaf().is(1)) return std::nullopt;
  return common[0];
}

}  // namespace

Layout max_common_layout(Layout const& a, Layout const& b) {
  Layout const inverse = right_inverse(b);
  auto const common = common_identity(a, inverse);
  return common ? composition(inverse, *common) : Layout();
}

Integer max_common_vector(Layout const& a, Layout const& b) {
  auto const common = common_identity(a, right_inverse(b));
  return common ? common->shape().leaf() : fixed(1);
}

Layout tile_unzip(Layout const& layout, Tiler const& tiler) {
  return Layout::trusted(zip2_by(layout.shape(), tiler), zip2_by(layout.stride(), tiler));
}

Layout logical_divide(Layout const& layout, Tiler const& tiler) {
  switch (tiler.kind) {
    case Tiler::Kind::any:
      return layout;
    case Tiler::Kind::integer:
      return logical_divide(layout, Tiler::of(Layout(IntTuple(tiler.integer))));
    case Tiler::Kind::layout: {
      require_elements("logical_divide", layout);
      require_elements("logical_divide", tiler.layout);
      Layout const rest = complement(tiler.layout, coalesce(layout).shape());
      return composition(layout, make_layout({tiler.layout, rest}));
    }
    case Tiler::Kind::tuple:
      break;
  }
  return by_mode("logical_divide", layout, tiler, &logical_divide);
}

Layout zipped_divide(Layout const& layout, Tiler const& tiler) {
  return tile_unzip(logical_divide(layout, tiler), tiler);
}

Layout tiled_divide(Layout const& layout, Tiler const& tiler) { return unpack_second(zipped_divide(layout, tiler)); }

Layout flat_divide(Layout const& layout, Tiler const& tiler) { return unpack_both(zipped_divide(layout, tiler)); }

Layout logical_product(Layout const& block, Tiler const& tiler) {
  switch (tiler.kind) {
    case Tiler::Kind::any:
      return block;
    case Tiler::Kind::integer:
      return logical_product(block, Tiler::of(Layout(IntTuple(tiler.integer))));
    case Tiler::Kind::layout: {
      require_elements("logical_product", block);
      require_elements("logical_product", tiler.layout);
      Layout const free = complement(block, IntTuple(block.size() * cosize(tiler.layout)));
      return make_layout({block, composition(free, tiler.layout)});
    }
    case Tiler::Kind::tuple:
      break;
  }
  return by_mode("logical_product", block, tiler, &logical_product);
}

Layout zipped_product(Layout const& block, Tiler const& tiler) {
  return tile_unzip(logical_product(block, tiler), tiler);
}

Layout tiled_product(Layout const& block, Tiler const& tiler) { return unpack_second(zipped_product(block, tiler)); }

Layout flat_product(Layout const& block, Tiler const& tiler) { return unpack_both(zipped_product(block, tiler)); }

Layout blocked_product(Layout const& block, Layout const& tiler) {
  int const rank = std::max(block.rank(), tiler.rank());
  Layout const result = logical_product(append(block, rank), Tiler::of(append(tiler, rank)));
  return zip(result[0], result[1]);
}

Layout raked_product(Layout const& block, Layout const& tiler) {
  int const rank = std::max(block.rank(), tiler.rank());
  Layout const result = logical_product(append(block, rank), Tiler::of(append(tiler, rank)));
  return zip(result[1], result[0]);
}

Layout tile_to_shape(Layout const& block, IntTuple const& shape, std::optional<IntTuple> const& order) {
  if (block.rank() > shape.rank()) {
    throw LayoutError("tile_to_shape: the block " + to_string(block) + " has more modes than the shape " +
                      to_string(shape) + "; next: give the shape an extent for each mode of the block");
  }
  require_elements("tile_to_shape", block);
  Layout const padded = append(block, shape.rank());
  IntTuple const block_shape = product_each(padded.shape());
  IntTuple const target = product_each(shape);
  for (int i = 0; i < target.rank(); ++i) {
    if (target[i].leaf().value % block_shape[i].leaf().value != 0) {
      throw LayoutError("tile_to_shape: mode " + std::to_string(i) + " of the block " + to_string(block) +
                        " does not divide the shape " + to_string(shape) + "; next: round_up(shape, block.shape)");
    }
  }
  IntTuple const repeats = ceil_div(target, block_shape);
  return blocked_product(padded, order ? make_ordered_layout(repeats, *order) : Layout(repeats));
}

Layout upcast(Layout const& layout, std::int64_t n) {
  check_factor("upcast", n);
  require_elements("upcast", layout);
  refuse_basis("upcast", layout);
  return upcast_mode(layout.shape(), layout.stride(), n);
}

Layout downcast(Layout const& layout, std::int64_t n) {
  check_factor("downcast", n);
  require_elements("downcast", layout);
  refuse_basis("downcast", layout);
  FlatLayout const f = flat(layout);
  if (std::none_of(f.stride.begin(), f.stride.end(), [](Integer const& d) { return d.is(1); })) {
    throw LayoutError(
        "downcast: no stride of " + to_string(layout) +
        " is 1: its elements are not adjacent; next: upcast and downcast a layout with a mode of stride 1");
  }
  bool grow_ones = true;
  for (std::size_t i = 0; i < f.shape.size(); ++i) {
    if (f.shape[i].value > 1 && is_unit(f.stride[i])) grow_ones = false;
  }
  return downcast_mode(layout.shape(), layout.stride(), n, grow_ones);
}

}  // namespace cute_py::layout
