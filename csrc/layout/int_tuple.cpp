#include "layout/int_tuple.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <numeric>
#include <string>

#include "base/errors.hpp"
#include "layout/text.hpp"

namespace cute_py::layout {
namespace {

void require_equal_ranks(char const* what, IntTuple const& a, IntTuple const& b) {
  if (!a.is_tuple() || !b.is_tuple() || a.rank() != b.rank()) {
    throw LayoutError(std::string(what) + ": " + to_string(a) + " and " + to_string(b) +
                      " differ in rank; next: give two of one nesting");
  }
}

// Strides of `shape` with the first mode fastest, starting at `current`, which becomes the stride after the last mode.
IntTuple compact_from(IntTuple const& shape, Integer& current, bool left) {
  if (!shape.is_tuple()) {
    Integer const& s = shape.leaf();
    if (s.is_static && s.value == 1) return fixed(0);
    Integer const stride = current;
    current = current * s;
    return stride;
  }
  std::vector<IntTuple> strides(shape.rank());
  for (int i = 0; i < shape.rank(); ++i) {
    int const mode = left ? i : shape.rank() - 1 - i;
    strides[mode] = compact_from(shape[mode], current, left);
  }
  return IntTuple(std::move(strides));
}

IntTuple basis_like(IntTuple const& shape, Basis const& path) {
  if (!shape.is_tuple()) return Integer{1, path, true};
  if (path.depth == Basis::kMaxDepth || shape.rank() > 255) {
    throw LayoutError("coordinate strides reach " + std::to_string(Basis::kMaxDepth) + " levels of 255 modes, " +
                      to_string(shape) + " has more");
  }
  std::vector<IntTuple> result;
  for (int i = 0; i < shape.rank(); ++i) {
    Basis next = path;
    next.mode[next.depth++] = static_cast<std::uint8_t>(i);
    result.push_back(basis_like(shape[i], next));
  }
  return IntTuple(std::move(result));
}

// The strides of each mode of `order` from where it starts.
IntTuple compact_order(IntTuple const& shape, IntTuple const& order, std::vector<Integer> const& starts,
                       std::size_t& next) {
  if (!order.is_tuple()) return compact_left(shape, starts[next++]);
  require_equal_ranks("ordered layout", shape, order);
  std::vector<IntTuple> result;
  for (int i = 0; i < shape.rank(); ++i) result.push_back(compact_order(shape[i], order[i], starts, next));
  return IntTuple(std::move(result));
}

// The product of the extents of lower rank, for each mode.
std::vector<Integer> starts_by_rank(std::vector<Integer> const& extents, std::vector<Integer> const& ranks) {
  std::vector<std::size_t> ascending(ranks.size());
  std::iota(ascending.begin(), ascending.end(), 0);
  std::sort(ascending.begin(), ascending.end(),
            [&](std::size_t a, std::size_t b) { return ranks[a].value < ranks[b].value; });
  std::vector<Integer> starts(ranks.size());
  Integer below = fixed(1);
  for (std::size_t i = 0; i < ascending.size();) {
    std::int64_t const rank = ranks[ascending[i]].value;
    Integer const start = below;
    for (; i < ascending.size() && ranks[ascending[i]].value == rank; ++i) {
      starts[ascending[i]] = start;
      below = below * extents[ascending[i]];
    }
  }
  return starts;
}

void append_products_like(IntTuple const& shape, IntTuple const& guide, std::vector<Integer>& products) {
  if (!guide.is_tuple()) {
    products.push_back(product(shape));
    return;
  }
  require_equal_ranks("ordered layout", shape, guide);
  for (int i = 0; i < guide.rank(); ++i) append_products_like(shape[i], guide[i], products);
}

}  // namespace

void check_depth(int depth) {
  if (depth > kMaxDepth) {
    throw LayoutError("nested deeper than " + std::to_string(kMaxDepth) +
                      " levels; next: flatten takes the nesting out");
  }
}

void check_leaves(std::int64_t leaves) {
  if (leaves > kMaxLeaves) {
    throw LayoutError("more than " + std::to_string(kMaxLeaves) +
                      " integers in one tuple; next: coalesce merges modes");
  }
}

IntTuple::IntTuple(std::vector<IntTuple> elements) {
  int depth = 0;
  std::int64_t leaves = 0;
  for (auto const& e : elements) {
    depth = std::max(depth, e.depth());
    leaves += e.count();
  }
  check_depth(++depth);
  check_leaves(leaves);
  static_assert(alignof(IntTuple) == alignof(Node));
  void* const memory = ::operator new(sizeof(Node) + elements.size() * sizeof(IntTuple));
  node_ = new (memory) Node{{1}, static_cast<std::int32_t>(elements.size()), leaves, depth};
  std::uninitialized_move(elements.begin(), elements.end(), node_->elements());
}

// Whoever is the only one left need not tell anyone.
void IntTuple::release() {
  if (node_->uses.load(std::memory_order_acquire) != 1 && node_->uses.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  std::destroy_n(node_->elements(), node_->rank);
  node_->~Node();
  ::operator delete(node_);
}

bool IntTuple::operator==(IntTuple const& other) const {
  if (is_tuple() != other.is_tuple()) return false;
  if (!is_tuple()) return leaf_ == other.leaf_;
  if (node_ == other.node_) return true;
  return std::equal(elements().begin(), elements().end(), other.elements().begin(), other.elements().end());
}

void append_leaves(IntTuple const& t, std::vector<Integer>& leaves) {
  if (!t.is_tuple()) {
    leaves.push_back(t.leaf());
    return;
  }
  for (auto const& e : t.elements()) append_leaves(e, leaves);
}

std::vector<Integer> leaves(IntTuple const& t) {
  std::vector<Integer> result;
  result.reserve(8);
  append_leaves(t, result);
  return result;
}

IntTuple flatten(IntTuple const& t) {
  if (!t.is_tuple()) return t;
  std::vector<Integer> const flat = leaves(t);
  return IntTuple(std::vector<IntTuple>(flat.begin(), flat.end()));
}

namespace {

IntTuple unflatten(std::vector<Integer> const& flat, IntTuple const& profile, std::size_t& next) {
  if (!profile.is_tuple()) {
    ++next;
    return next <= flat.size() ? flat[next - 1] : fixed(1);
  }
  std::vector<IntTuple> result;
  for (auto const& e : profile.elements()) result.push_back(unflatten(flat, e, next));
  return IntTuple(std::move(result));
}

}  // namespace

IntTuple unflatten(std::vector<Integer> const& flat, IntTuple const& profile) {
  std::size_t next = 0;
  IntTuple result = unflatten(flat, profile, next);
  if (next != flat.size()) {
    throw LayoutError("unflatten: the profile " + to_string(profile) + " has " +
                      (next < flat.size() ? "fewer" : "more") + " modes; next: give it " + std::to_string(flat.size()));
  }
  return result;
}

IntTuple unwrap(IntTuple const& t) { return t.is_tuple() && t.rank() == 1 ? unwrap(t[0]) : t; }

IntTuple wrap(IntTuple const& t) { return t.is_tuple() ? t : IntTuple(std::vector<IntTuple>{t}); }

Integer product(IntTuple const& t) {
  if (!t.is_tuple()) return t.leaf();
  Integer result = fixed(1);
  for (auto const& e : t.elements()) result = result * product(e);
  return result;
}

IntTuple product_each(IntTuple const& t) {
  if (!t.is_tuple()) return IntTuple(std::vector<IntTuple>{t});
  std::vector<IntTuple> result;
  result.reserve(t.rank());
  for (auto const& e : t.elements()) result.push_back(product(e));
  return IntTuple(std::move(result));
}

IntTuple product_like(IntTuple const& t, IntTuple const& profile) {
  if (!profile.is_tuple()) return product(t);
  require_equal_ranks("product_like", t, profile);
  std::vector<IntTuple> result;
  for (int i = 0; i < t.rank(); ++i) result.push_back(product_like(t[i], profile[i]));
  return IntTuple(std::move(result));
}

bool has_zero(IntTuple const& t) {
  if (!t.is_tuple()) return t.leaf().value == 0;
  return std::any_of(t.elements().begin(), t.elements().end(), [](IntTuple const& e) { return has_zero(e); });
}

bool congruent(IntTuple const& a, IntTuple const& b) {
  if (a.is_tuple() != b.is_tuple() || a.rank() != b.rank()) return false;
  if (!a.is_tuple()) return true;
  for (int i = 0; i < a.rank(); ++i) {
    if (!congruent(a[i], b[i])) return false;
  }
  return true;
}

bool weakly_congruent(IntTuple const& a, IntTuple const& b) {
  if (!a.is_tuple()) return true;
  if (!b.is_tuple() || a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (!weakly_congruent(a[i], b[i])) return false;
  }
  return true;
}

bool compatible(IntTuple const& a, IntTuple const& b) {
  if (!a.is_tuple()) return a.leaf().value == product(b).value;
  if (!b.is_tuple() || a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (!compatible(a[i], b[i])) return false;
  }
  return true;
}

bool elem_less(IntTuple const& a, IntTuple const& b) {
  if (a.is_tuple() != b.is_tuple()) {
    throw LayoutError("elem_less: " + to_string(a) + " and " + to_string(b) +
                      ": one is a tuple, the other is not; next: give a coordinate and a shape of one nesting");
  }
  if (!a.is_tuple()) return a.leaf().value < b.leaf().value;
  if (a.rank() > b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (!elem_less(a[i], b[i])) return false;
  }
  return true;
}

IntTuple ceil_div(IntTuple const& a, IntTuple const& b) {
  if (!a.is_tuple()) return ceil_div(a.leaf(), product(b));
  std::vector<IntTuple> result;
  if (b.is_tuple()) {
    if (a.rank() < b.rank()) {
      throw LayoutError("ceil_div: " + to_string(b) + " has more modes than " + to_string(a) +
                        "; next: give a divisor for each mode, or fewer of them");
    }
    for (int i = 0; i < a.rank(); ++i) result.push_back(i < b.rank() ? ceil_div(a[i], b[i]) : a[i]);
  } else {
    Integer rest = b.leaf();
    for (auto const& e : a.elements()) {
      result.push_back(ceil_div(e, rest));
      rest = ceil_div(rest, product(e));
    }
  }
  return IntTuple(std::move(result));
}

namespace {

// f of the elements of two tuples of one rank.
template <class F>
IntTuple by_modes(char const* what, IntTuple const& a, IntTuple const& b, F f) {
  require_equal_ranks(what, a, b);
  std::vector<IntTuple> result;
  result.reserve(a.rank());
  for (int i = 0; i < a.rank(); ++i) result.push_back(f(a[i], b[i]));
  return IntTuple(std::move(result));
}

// f of all integers, from left to right.
template <class F>
Integer folded(char const* what, IntTuple const& t, F f) {
  std::vector<Integer> const all = leaves(t);
  if (all.empty()) throw LayoutError(std::string(what) + ": there is no integer in " + to_string(t));
  for (auto const& i : all) {
    if (i.has_basis()) throw LayoutError(std::string(what) + ": " + to_string(i) + " is no integer");
  }
  Integer result = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) result = f(result, all[i]);
  return result;
}

// Whether a comes before b by their elements, from the first or from the last one. What ends earlier comes before.
bool comes_before(char const* what, IntTuple const& a, IntTuple const& b, bool from_last) {
  if (a.is_tuple() != b.is_tuple()) {
    throw LayoutError(std::string(what) + ": " + to_string(a) + " and " + to_string(b) +
                      ": one is a tuple, the other is not; next: give two of one nesting");
  }
  if (!a.is_tuple()) {
    if (a.leaf().basis != b.leaf().basis) {
      throw LayoutError(std::string(what) + ": " + to_string(a) + " and " + to_string(b) + " have no order");
    }
    return a.leaf().value < b.leaf().value;
  }
  for (int i = 0; i < std::min(a.rank(), b.rank()); ++i) {
    IntTuple const& x = a[from_last ? a.rank() - 1 - i : i];
    IntTuple const& y = b[from_last ? b.rank() - 1 - i : i];
    if (x != y) return comes_before(what, x, y, from_last);
  }
  return a.rank() < b.rank();
}

}  // namespace

IntTuple shape_div(IntTuple const& a, IntTuple const& b) {
  if (!a.is_tuple()) {
    Integer const divisor = product(b);
    Integer const& whole = a.leaf();
    Integer const result = ceil_div(whole, divisor);  // throws for a divisor of 0
    if (whole.value != 0 && whole.value % divisor.value != 0 && divisor.value % whole.value != 0) {
      throw LayoutError("shape_div: neither of " + to_string(a) + " and " + to_string(divisor) +
                        " divides the other; next: ceil_div rounds up");
    }
    return result;
  }
  if (b.is_tuple()) return by_modes("shape_div", a, b, [](auto const& x, auto const& y) { return shape_div(x, y); });
  std::vector<IntTuple> result;
  IntTuple rest = b;
  for (auto const& e : a.elements()) {
    result.push_back(shape_div(e, rest));
    rest = shape_div(rest, e);
  }
  return IntTuple(std::move(result));
}

IntTuple round_up(IntTuple const& a, IntTuple const& b) {
  if (!a.is_tuple() && !b.is_tuple()) return ceil_div(a.leaf(), b.leaf()) * b.leaf();
  if (!a.is_tuple() || !b.is_tuple() || a.rank() < b.rank()) {
    throw LayoutError("round_up: " + to_string(b) + " has no mode for each of " + to_string(a) +
                      "; next: give multiples in the nesting of the shape, or fewer of them");
  }
  std::vector<IntTuple> result;
  for (int i = 0; i < a.rank(); ++i) result.push_back(i < b.rank() ? round_up(a[i], b[i]) : a[i]);
  return IntTuple(std::move(result));
}

bool evenly_divides(IntTuple const& a, IntTuple const& b) {
  if (!b.is_tuple()) return product(a).value == multiply(b.leaf().value, product(ceil_div(a, b)).value);
  if (b.rank() > a.rank()) return false;
  for (int i = 0; i < b.rank(); ++i) {
    if (!evenly_divides(a[i], b[i])) return false;
  }
  return true;
}

IntTuple elem_scale(IntTuple const& a, IntTuple const& b) {
  if (!a.is_tuple()) return a.leaf() * product(b);
  return by_modes("elem_scale", a, b, [](auto const& x, auto const& y) { return elem_scale(x, y); });
}

IntTuple inner_product(IntTuple const& a, IntTuple const& b) {
  if (!a.is_tuple() && !b.is_tuple()) return as_arithmetic_tuple(a.leaf() * b.leaf());
  require_equal_ranks("inner_product", a, b);
  IntTuple total = fixed(0);
  for (int i = 0; i < a.rank(); ++i) total = arithmetic_sum(total, inner_product(a[i], b[i]));
  return total;
}

Integer greatest(IntTuple const& t) {
  return folded("tuple_max", t, [](Integer const& a, Integer const& b) { return max(a, b); });
}

Integer sum(IntTuple const& t) {
  return folded("tuple_sum", t, [](Integer const& a, Integer const& b) { return a + b; });
}

Integer gcd(IntTuple const& t) {
  auto const magnitude = [](Integer const& i) { return i.value < 0 ? fixed(-1) * i : i; };  // refuses the least integer
  return magnitude(folded("tuple_gcd", t, [&](Integer const& a, Integer const& b) {
    return Integer{std::gcd(magnitude(a).value, magnitude(b).value), {}, a.is_static && b.is_static};
  }));
}

bool colex_less(IntTuple const& a, IntTuple const& b) { return comes_before("colex_less", a, b, true); }

bool lex_less(IntTuple const& a, IntTuple const& b) { return comes_before("lex_less", a, b, false); }

IntTuple repeat_like(IntTuple const& t, Integer const& value) {
  if (!t.is_tuple()) return value;
  std::vector<IntTuple> result;
  result.reserve(t.rank());
  for (auto const& e : t.elements()) result.push_back(repeat_like(e, value));
  return IntTuple(std::move(result));
}

IntTuple as_arithmetic_tuple(Integer const& i) {
  IntTuple result = Integer{i.value, {}, i.is_static};
  for (int level = i.basis.depth - 1; level >= 0; --level) {
    std::vector<IntTuple> tuple(i.basis.mode[level], IntTuple(fixed(0)));
    tuple.push_back(std::move(result));
    result = IntTuple(std::move(tuple));
  }
  return result;
}

IntTuple arithmetic_sum(IntTuple const& a, IntTuple const& b) {
  if (!a.is_tuple() && !b.is_tuple()) return a.leaf() + b.leaf();
  if (!a.is_tuple() && a.leaf().is(0)) return b;
  if (!b.is_tuple() && b.leaf().is(0)) return a;
  if (!a.is_tuple() || !b.is_tuple()) {
    throw LayoutError("the coordinates " + to_string(a) + " and " + to_string(b) + " cannot be added");
  }
  std::vector<IntTuple> result;
  for (int i = 0; i < std::max(a.rank(), b.rank()); ++i) {
    result.push_back(i >= a.rank() ? b[i] : i >= b.rank() ? a[i] : arithmetic_sum(a[i], b[i]));
  }
  return IntTuple(std::move(result));
}

IntTuple compact_left(IntTuple const& shape, Integer const& first) {
  Integer current = first;
  return compact_from(shape, current, true);
}

IntTuple compact_right(IntTuple const& shape, Integer const& first) {
  Integer current = first;
  return compact_from(shape, current, false);
}

IntTuple compact_order(IntTuple const& shape, IntTuple const& order) {
  std::vector<Integer> extents;
  append_products_like(shape, order, extents);
  std::size_t next = 0;
  return compact_order(shape, order, starts_by_rank(extents, leaves(order)), next);
}

IntTuple basis_like(IntTuple const& shape) { return basis_like(shape, Basis{}); }

IntTuple crd2idx(IntTuple const& coord, IntTuple const& shape, IntTuple const& stride) {
  if (coord.is_tuple()) {
    if (!shape.is_tuple() || coord.rank() != shape.rank()) {
      throw LayoutError("crd2idx: the coordinate " + to_string(coord) + " does not fit the shape " + to_string(shape) +
                        "; next: give an integer for each mode, or one index for all of them");
    }
    IntTuple sum = fixed(0);
    for (int i = 0; i < coord.rank(); ++i) {
      IntTuple const part = crd2idx(coord[i], shape[i], stride[i]);
      sum = i == 0 ? part : arithmetic_sum(sum, part);
    }
    return sum;
  }
  if (!shape.is_tuple()) return as_arithmetic_tuple(coord.leaf() * stride.leaf());
  IntTuple sum = fixed(0);
  Integer rest = coord.leaf();
  for (int i = 0; i < shape.rank(); ++i) {
    bool const last = i + 1 == shape.rank();
    Integer const extent = last ? fixed(1) : product(shape[i]);
    IntTuple const part = crd2idx(last ? rest : rest % extent, shape[i], stride[i]);
    if (!last) rest = rest / extent;
    sum = i == 0 ? part : arithmetic_sum(sum, part);
  }
  return sum;
}

std::int64_t index_at(std::int64_t coord, IntTuple const& shape, IntTuple const& stride) {
  if (!shape.is_tuple()) return multiply(coord, stride.leaf().value);
  std::int64_t sum = 0;
  int const last = shape.rank() - 1;
  if (last < 0) return 0;
  for (int i = 0; i < last; ++i) {
    std::int64_t const extent = product(shape[i]).value;
    if (extent == 0) throw LayoutError("the shape " + to_string(shape) + " has no coordinates");
    sum = add(sum, index_at(coord % extent, shape[i], stride[i]));
    coord /= extent;
  }
  return add(sum, index_at(coord, shape[last], stride[last]));
}

bool has_basis(IntTuple const& stride) {
  if (!stride.is_tuple()) return stride.leaf().has_basis();
  return std::any_of(stride.elements().begin(), stride.elements().end(),
                     [](IntTuple const& e) { return has_basis(e); });
}

namespace {

void append_like(IntTuple const& coord, IntTuple const& shape, std::vector<Integer>& coords,
                 std::vector<Integer>& extents) {
  if (!coord.is_tuple()) {
    coords.push_back(coord.leaf());
    extents.push_back(product(shape));
    return;
  }
  if (!shape.is_tuple() || coord.rank() != shape.rank()) {
    throw LayoutError("crd2idx: the coordinate " + to_string(coord) + " does not fit the shape " + to_string(shape) +
                      "; next: give an integer for each mode, or one index for all of them");
  }
  for (int i = 0; i < coord.rank(); ++i) append_like(coord[i], shape[i], coords, extents);
}

}  // namespace

IntTuple crd2idx(IntTuple const& coord, IntTuple const& shape) {
  if (!coord.is_tuple()) return coord;
  std::vector<Integer> coords;
  std::vector<Integer> extents;
  append_like(coord, shape, coords, extents);
  if (coords.empty()) throw LayoutError("crd2idx: the coordinate " + to_string(coord) + " is empty");
  Integer index = coords.back();
  for (std::size_t i = coords.size() - 1; i-- > 0;) index = coords[i] + extents[i] * index;
  return index;
}

IntTuple idx2crd(IntTuple const& index, IntTuple const& shape) {
  if (index.is_tuple()) {
    require_equal_ranks("idx2crd", index, shape);
    std::vector<IntTuple> result;
    for (int i = 0; i < shape.rank(); ++i) result.push_back(idx2crd(index[i], shape[i]));
    return IntTuple(std::move(result));
  }
  if (!shape.is_tuple()) return index;
  std::vector<IntTuple> result;
  Integer rest = index.leaf();
  for (int i = 0; i < shape.rank(); ++i) {
    bool const last = i + 1 == shape.rank();
    Integer const extent = last ? fixed(1) : product(shape[i]);
    result.push_back(idx2crd(last ? rest : rest % extent, shape[i]));
    if (!last) rest = rest / extent;
  }
  return IntTuple(std::move(result));
}

IntTuple idx2crd(IntTuple const& index, IntTuple const& shape, IntTuple const& stride) {
  if (shape.is_tuple()) {
    if (index.is_tuple()) require_equal_ranks("idx2crd", index, shape);
    if (stride.is_tuple()) require_equal_ranks("idx2crd", shape, stride);
    IntTuple const strides = stride.is_tuple() ? stride : compact_left(shape, stride.leaf());
    std::vector<IntTuple> result;
    for (int i = 0; i < shape.rank(); ++i) {
      result.push_back(idx2crd(index.is_tuple() ? index[i] : index, shape[i], strides[i]));
    }
    return IntTuple(std::move(result));
  }
  if (index.is_tuple() || stride.is_tuple()) {
    throw LayoutError("idx2crd: the index " + to_string(index) + " does not fit the shape " + to_string(shape) +
                      "; next: give one index, or one for each mode");
  }
  if (stride.leaf().has_basis())
    throw LayoutError("idx2crd: no inverse along the coordinate stride " + to_string(stride) +
                      "; next: strides that are integers of 1 or more");
  if (shape.leaf().value == 1) return fixed(0);
  return index.leaf() / stride.leaf() % shape.leaf();
}

IntTuple crd2crd(IntTuple const& coord, IntTuple const& from, IntTuple const& to) {
  if (coord.is_tuple() && from.is_tuple() && to.is_tuple()) {
    require_equal_ranks("crd2crd", coord, from);
    require_equal_ranks("crd2crd", coord, to);
    std::vector<IntTuple> result;
    for (int i = 0; i < coord.rank(); ++i) result.push_back(crd2crd(coord[i], from[i], to[i]));
    return IntTuple(std::move(result));
  }
  return idx2crd(crd2idx(coord, from), to);
}

}  // namespace cute_py::layout
