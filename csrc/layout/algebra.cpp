#include "layout/algebra.hpp"

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <string>

#include "base/errors.hpp"
#include "layout/composer.hpp"
#include "layout/text.hpp"

namespace cute_py::layout {
namespace {

// The modes as a layout of depth at most 1.
Layout from_modes(FlatLayout const& f) {
  if (f.shape.size() == 1) return Layout::trusted(IntTuple(f.shape[0]), IntTuple(f.stride[0]));
  return Layout::trusted(IntTuple(std::vector<IntTuple>(f.shape.begin(), f.shape.end())),
                         IntTuple(std::vector<IntTuple>(f.stride.begin(), f.stride.end())));
}

// Modes i and i+1 merge where shape_i * stride_i == stride_i+1, and modes of extent 1 vanish. With `beyond`, the result
// is the same function outside the domain too: the last mode stays even with extent 1.
FlatLayout merged(FlatLayout f, bool beyond, Record* record = nullptr) {
  auto const note = [&](char const* kind, std::initializer_list<std::pair<char const*, std::size_t>> modes) {
    if (record == nullptr) return;
    record->push_back({kind, {}});
    for (auto const& [name, i] : modes) record->back().values.push_back({name, one_mode(f.shape[i], f.stride[i])});
  };
  if (f.shape.empty()) return {{fixed(1)}, {fixed(0)}};  // the shape ()
  std::size_t const last = f.shape.size() - 1;
  if (beyond && f.shape[last].is(1)) f.shape[last] = fixed(2);
  note("start", {{"mode", last}});
  std::size_t head = last;  // what is merged so far lies in [head, last]
  for (std::size_t i = last; i-- > 0;) {
    if (f.shape[i].is(1)) {
      note("vanish", {{"mode", i}});
    } else if (head == last && f.shape[head].is(1)) {
      note("give way", {{"head", head}, {"mode", i}});
      f.shape[head] = f.shape[i];
      f.stride[head] = f.stride[i];
    } else if (f.shape[i] * f.stride[i] == f.stride[head]) {
      note("merge", {{"mode", i}, {"head", head}});
      f.shape[head] = f.shape[i] * f.shape[head];
      f.stride[head] = f.stride[i];
      if (record != nullptr) record->back().values.push_back({"result", one_mode(f.shape[head], f.stride[head])});
    } else {
      note("stay", {{"mode", i}, {"head", head}});
      --head;
      f.shape[head] = f.shape[i];
      f.stride[head] = f.stride[i];
    }
  }
  f.shape.erase(f.shape.begin(), f.shape.begin() + static_cast<std::ptrdiff_t>(head));
  f.stride.erase(f.stride.begin(), f.stride.begin() + static_cast<std::ptrdiff_t>(head));
  if (f.shape.size() == 1 && f.shape[0].is(1)) {
    if (!f.stride[0].is(0)) note("alone", {{"mode", 0}});
    f = {{fixed(1)}, {fixed(0)}};
  }
  return f;
}

Layout coalesced(Layout const& layout, bool beyond, Record* record = nullptr) {
  return from_modes(merged(flat(layout), beyond, record));
}

// The modes without zero strides and extents of 1.
FlatLayout filtered_modes(Layout const& layout) {
  FlatLayout f = flat(layout);
  for (std::size_t i = 0; i < f.shape.size(); ++i) {
    if (f.stride[i].is(0)) f.shape[i] = fixed(1);
  }
  return merged(std::move(f), false);
}

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

void note_mode(Record* record, int mode, Layout const& operand, Tiler const& tiler, Layout const& result) {
  if (record == nullptr) return;
  record->push_back({"by mode",
                     {{"index", Tiler::of(dynamic(mode))},
                      {"mode", Tiler::of(operand)},
                      {"tiler", tiler},
                      {"result", Tiler::of(result)}}});
}

// f of each mode and its tiler; modes beyond the tiler are kept.
template <class F>
Layout by_mode(char const* name, Layout const& layout, Tiler const& tiler, Record* record, F f) {
  if (tiler.rank() > layout.rank()) {
    throw LayoutError(std::string(name) + ": the tiler " + to_string(tiler) + " has more modes than " +
                      to_string(layout) + "; next: give it " + std::to_string(layout.rank()) + " or fewer");
  }
  if (tiler.elements.empty()) throw LayoutError(std::string(name) + ": the tiler is an empty tuple");
  LayoutBuilder result(layout.rank());
  for (int i = 0; i < layout.rank(); ++i) {
    Layout const mode = layout[i];
    if (i >= tiler.rank()) {
      result.append(mode);
      continue;
    }
    Layout const made = f(mode, tiler.elements[i]);
    note_mode(record, i, mode, tiler.elements[i], made);
    result.append(made);
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

// Neighbouring static extents as one, and neighbouring dynamic ones.
IntTuple coalesced_shape(IntTuple const& shape) {
  std::vector<IntTuple> result;
  for (auto const& s : leaves(shape)) {
    if (!result.empty() && result.back().leaf().is_static == s.is_static) {
      result.back() = result.back().leaf() * s;
    } else {
      result.push_back(s);
    }
  }
  return result.size() == 1 ? result[0] : IntTuple(std::move(result));
}

void refuse_basis(char const* name, Layout const& layout) {
  if (!has_basis(layout.stride())) return;
  throw LayoutError(std::string(name) + ": the coordinate strides of " + to_string(layout) +
                    " have no place in an order of integers; next: a layout whose strides are integers");
}

// Positions of the strides in ascending order, exchanged as CuTe's static sort does, which matters for equal ones.
std::vector<std::size_t> sorted_by_stride(std::vector<Integer> const& stride) {
  std::vector<std::size_t> order(stride.size());
  std::iota(order.begin(), order.end(), 0);
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end(),
            [&](std::size_t i, std::size_t j) { return stride[i].value < stride[j].value; });
  bool const distinct = std::adjacent_find(sorted.begin(), sorted.end(), [&](std::size_t i, std::size_t j) {
                          return stride[i].value == stride[j].value;
                        }) == sorted.end();
  if (distinct) return sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      if (stride[order[j]].value < stride[order[i]].value) std::swap(order[i], order[j]);
    }
  }
  return order;
}

std::vector<Integer> prefix_product(std::vector<Integer> const& shape) {
  std::vector<Integer> result{fixed(1)};
  for (auto const& s : shape) result.push_back(result.back() * s);
  return result;
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

Layout coalesce(Layout const& layout, Record* record) { return coalesced(layout, false, record); }

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

Layout composition(Layout const& a, Layout const& b, Record* record) {
  require_elements("composition", a);
  require_elements("composition", b);
  check_modes(a, b);
  Layout const lhs = by_profile("composition", a, coprofile(b), [](Layout const& l) { return coalesced(l, true); });
  return Composer(a, lhs, b, record).result();
}

Layout composition(Layout const& a, Tiler const& b, Record* record) {
  switch (b.kind) {
    case Tiler::Kind::any:
      return a;
    case Tiler::Kind::layout:
      return composition(a, b.layout, record);
    case Tiler::Kind::integer:
      return composition(a, Layout(IntTuple(b.integer), IntTuple(fixed(1))), record);
    case Tiler::Kind::tuple:
      break;
  }
  if (b.rank() > a.rank()) {
    throw LayoutError("composition: the tiler " + to_string(b) + " has more modes than " + to_string(a) +
                      "; next: give it " + std::to_string(a.rank()) + " or fewer");
  }
  std::vector<Layout> result;
  for (int i = 0; i < b.rank(); ++i) {
    result.push_back(composition(a[i], b.elements[i]));
    note_mode(record, i, a[i], b.elements[i], result.back());
  }
  return make_layout(result);
}

Layout complement(Layout const& layout, IntTuple const& cotarget, Record* record) {
  require_elements("complement", layout);
  refuse_basis("complement", layout);
  auto const note = [&](char const* kind, std::initializer_list<std::pair<char const*, Tiler>> values) {
    record->push_back({kind, values});
  };
  FlatLayout const filtered = filtered_modes(layout);
  if (record != nullptr) note("filtered", {{"layout", Tiler::of(from_modes(filtered))}});
  if (filtered.stride.size() == 1 && filtered.stride[0].value == 0) {
    Layout result(coalesced_shape(cotarget));
    if (record != nullptr) note("nothing", {{"result", Tiler::of(result)}});
    return result;
  }

  // In ascending order of the strides: the gap below each mode, then what is left above the last.
  std::vector<std::size_t> ascending(filtered.stride.size());
  std::iota(ascending.begin(), ascending.end(), 0);
  std::stable_sort(ascending.begin(), ascending.end(),
                   [&](std::size_t i, std::size_t j) { return filtered.stride[i].value < filtered.stride[j].value; });
  FlatLayout gaps;
  Integer reached = fixed(1);
  for (std::size_t const i : ascending) {
    Integer const& s = filtered.shape[i];
    Integer const& d = filtered.stride[i];
    if (d.value < 0) {
      if (record != nullptr) note("negative", {{"mode", one_mode(s, d)}});
      throw LayoutError("complement: the stride " + to_string(d) + " of " + to_string(layout) +
                        " is negative: its indices go below 0");
    }
    Integer const gap = d / reached;
    if (gap.value == 0) {
      if (record != nullptr) note("interleave", {{"mode", one_mode(s, d)}, {"reached", Tiler::of(reached)}});
      std::string const where = gaps.shape.empty() ? "" : " inside the span " + to_string(reached) + " of those below";
      throw LayoutError("complement: the modes of " + to_string(layout) + " interleave: the mode " + to_string(s) +
                        ":" + to_string(d) + " starts" + where + describe_collision(from_modes(filtered)));
    }
    gaps.shape.push_back(gap);
    gaps.stride.push_back(reached);
    reached = d * s;
    if (record != nullptr)
      note("gap",
           {{"mode", one_mode(s, d)}, {"result", one_mode(gap, gaps.stride.back())}, {"reached", Tiler::of(reached)}});
  }
  IntTuple const rest = coalesced_shape(ceil_div(cotarget, IntTuple(reached)));
  if (record != nullptr)
    note("above", {{"target", Tiler::of(cotarget)}, {"reached", Tiler::of(reached)}, {"rest", Tiler::of(rest)}});
  auto const rest_extents = leaves(rest);
  for (std::size_t i = 0; i < rest_extents.size(); ++i) {
    gaps.shape.push_back(rest_extents[i]);
    gaps.stride.push_back(rest_extents[i].is(1) ? fixed(0) : reached);
    if (i + 1 < rest_extents.size()) reached = reached * rest_extents[i];
  }
  if (record != nullptr) note("gaps", {{"layout", Tiler::of(from_modes(gaps))}});
  return from_modes(merged(std::move(gaps), false));
}

Layout complement(Layout const& layout, Record* record) {
  Layout const filtered = from_modes(filtered_modes(layout));
  return complement(filtered, IntTuple(cosize(filtered)), record);
}

Layout right_inverse(Layout const& layout, Record* record) {
  require_elements("right_inverse", layout);
  refuse_basis("right_inverse", layout);
  FlatLayout const f = merged(flat(layout), false);
  auto const note = [&](char const* kind, std::initializer_list<std::pair<char const*, Tiler>> values) {
    record->push_back({kind, values});
  };
  if (record != nullptr) note("coalesced", {{"layout", Tiler::of(from_modes(f))}});
  std::vector<Integer> const below = prefix_product(f.shape);
  std::vector<Integer> shape{fixed(1)};
  std::vector<Integer> stride{fixed(0)};
  Integer reached = fixed(1);
  for (std::size_t const i : sorted_by_stride(f.stride)) {
    Tiler const mode = record != nullptr ? one_mode(f.shape[i], f.stride[i]) : Tiler{};
    if (f.stride[i].value != reached.value) {
      if (record != nullptr) note("skip", {{"mode", mode}, {"reached", Tiler::of(reached)}});
      continue;
    }
    shape.push_back(f.shape[i]);
    stride.push_back(below[i]);
    if (record != nullptr)
      note("take",
           {{"mode", mode}, {"reached", Tiler::of(reached)}, {"result", one_mode(shape.back(), stride.back())}});
    reached = f.shape[i] * f.stride[i];
  }
  return from_modes(merged({std::move(shape), std::move(stride)}, false));
}

Layout left_inverse(Layout const& layout, Record* record) {
  require_elements("left_inverse", layout);
  refuse_basis("left_inverse", layout);
  FlatLayout const f = merged(flat(layout), false);
  auto const note = [&](char const* kind, std::initializer_list<std::pair<char const*, Tiler>> values) {
    record->push_back({kind, values});
  };
  if (record != nullptr) note("coalesced", {{"layout", Tiler::of(from_modes(f))}});
  std::vector<Integer> const below = prefix_product(f.shape);
  std::vector<Integer> shape;
  std::vector<Integer> stride{fixed(0)};
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
    shape.push_back(d / reached);
    if (record != nullptr)
      note("below", {{"mode", one_mode(f.shape[i], d)},
                     {"reached", Tiler::of(reached)},
                     {"result", one_mode(shape.back(), stride.back())},
                     {"next", Tiler::of(below[i])}});
    stride.push_back(below[i]);
    reached = reached * shape.back();
  }
  shape.push_back(f.shape[order.back()]);
  if (record != nullptr) note("last", {{"result", one_mode(shape.back(), stride.back())}});
  Layout const result = from_modes(merged({std::move(shape), std::move(stride)}, false));
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

Layout logical_divide(Layout const& layout, Tiler const& tiler, Record* record) {
  switch (tiler.kind) {
    case Tiler::Kind::any:
      return layout;
    case Tiler::Kind::integer:
      return logical_divide(layout, Tiler::of(Layout(IntTuple(tiler.integer))), record);
    case Tiler::Kind::layout: {
      require_elements("logical_divide", layout);
      require_elements("logical_divide", tiler.layout);
      IntTuple const target = coalesce(layout).shape();
      Layout const rest = complement(tiler.layout, target);
      Layout const both = make_layout({tiler.layout, rest});
      if (record != nullptr) {
        record->push_back({"divide",
                           {{"tile", Tiler::of(tiler.layout)},
                            {"target", Tiler::of(target)},
                            {"rest", Tiler::of(rest)},
                            {"both", Tiler::of(both)}}});
      }
      return composition(layout, both);
    }
    case Tiler::Kind::tuple:
      break;
  }
  return by_mode("logical_divide", layout, tiler, record,
                 [](Layout const& l, Tiler const& t) { return logical_divide(l, t); });
}

Layout zipped_divide(Layout const& layout, Tiler const& tiler) {
  return tile_unzip(logical_divide(layout, tiler), tiler);
}

Layout tiled_divide(Layout const& layout, Tiler const& tiler) { return unpack_second(zipped_divide(layout, tiler)); }

Layout flat_divide(Layout const& layout, Tiler const& tiler) { return unpack_both(zipped_divide(layout, tiler)); }

Layout logical_product(Layout const& block, Tiler const& tiler, Record* record) {
  switch (tiler.kind) {
    case Tiler::Kind::any:
      return block;
    case Tiler::Kind::integer:
      return logical_product(block, Tiler::of(Layout(IntTuple(tiler.integer))), record);
    case Tiler::Kind::layout: {
      require_elements("logical_product", block);
      require_elements("logical_product", tiler.layout);
      Integer const reach = block.size() * cosize(tiler.layout);
      Layout const free = complement(block, IntTuple(reach));
      if (record != nullptr) {
        record->push_back({"product",
                           {{"size", Tiler::of(block.size())},
                            {"cosize", Tiler::of(cosize(tiler.layout))},
                            {"reach", Tiler::of(reach)},
                            {"free", Tiler::of(free)}}});
      }
      Layout const copies = composition(free, tiler.layout);
      if (record != nullptr) record->push_back({"copies", {{"result", Tiler::of(copies)}}});
      return make_layout({block, copies});
    }
    case Tiler::Kind::tuple:
      break;
  }
  return by_mode("logical_product", block, tiler, record,
                 [](Layout const& l, Tiler const& t) { return logical_product(l, t); });
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
