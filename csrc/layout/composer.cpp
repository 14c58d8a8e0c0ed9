#include "layout/composer.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/errors.hpp"
#include "layout/modes.hpp"
#include "layout/text.hpp"

namespace cute_py::layout {
namespace {

constexpr std::size_t kCorners = 1 << 12;

IntTuple const& at_path(Basis const& path, IntTuple const& t) {
  IntTuple const* result = &t;
  for (int level = 0; level < path.depth; ++level) {
    if (!result->is_tuple() || path.mode[level] >= result->rank()) {
      throw LayoutError("composition: a coordinate stride of B steps along mode " + std::to_string(path.mode[level]) +
                        ", which A does not have");
    }
    result = &(*result)[path.mode[level]];
  }
  return *result;
}

// Indices where every flat mode is at its first, second or last element.
std::vector<std::int64_t> corners(Layout const& layout) {
  std::vector<std::int64_t> result{0};
  std::int64_t below = 1;
  for (auto const& extent : leaves(layout.shape())) {
    std::int64_t const s = extent.value;
    std::size_t const count = result.size();
    if (count > kCorners) break;
    for (std::int64_t const digit : {std::int64_t{1}, s - 1}) {
      if (digit <= 0 || digit >= s || (digit == s - 1 && s == 2)) continue;
      for (std::size_t i = 0; i < count; ++i) result.push_back(result[i] + digit * below);
    }
    below = multiply(below, s);
  }
  std::sort(result.begin(), result.end());
  return result;
}

void add_coprofile(IntTuple const& stride, IntTuple& sum) {
  if (stride.is_tuple()) {
    for (auto const& e : stride.elements()) add_coprofile(e, sum);
  } else if (stride.leaf().has_basis()) {
    sum = arithmetic_sum(sum, repeat_like(as_arithmetic_tuple(stride.leaf()), fixed(0)));
  }
}

// Throws LayoutError if a coordinate stride steps along a mode that a does not have.
void check_modes(Layout const& a, IntTuple const& stride) {
  if (stride.is_tuple()) {
    for (auto const& e : stride.elements()) check_modes(a, e);
  } else if (stride.leaf().has_basis()) {
    at_path(stride.leaf().basis, a.shape());
  }
}

}  // namespace

IntTuple coprofile(Layout const& layout) {
  IntTuple sum = fixed(0);
  add_coprofile(layout.stride(), sum);
  return sum;
}

Composer::Composer(Layout const& a, Layout const& b) : a_(a), b_(b) {
  require_elements("composition", a);
  require_elements("composition", b);
  check_modes(a, b.stride());
  lhs_ = by_profile("composition", a, coprofile(b), [](Layout const& l) { return from_modes(merged(flat(l), true)); });
}

Layout Composer::result() {
  Layout result = compose(b_.shape(), b_.stride());
  if (!is_proven()) check(result);
  return result;
}

bool Composer::is_proven() const {
  if (!proven_) return false;
  for (auto const& leaf : leaves_) {
    IntTuple const& extents = at_path(leaf.path, lhs_.shape());
    for (int i = 0; i + 1 < extents.rank(); ++i) {
      if (leaf.reach[i] >= extents[i].leaf().value) return false;
    }
  }
  return true;
}

Layout Composer::compose(IntTuple const& shape, IntTuple const& stride) {
  if (!shape.is_tuple()) return compose_mode(shape.leaf(), stride.leaf());
  LayoutBuilder result(shape.rank());
  for (int i = 0; i < shape.rank(); ++i) result.append(compose(shape[i], stride[i]));
  return std::move(result).tuple();
}

std::vector<std::int64_t>& Composer::reach_of(Basis const& path, std::size_t digits) {
  for (auto& leaf : leaves_) {
    if (leaf.path == path) return leaf.reach;
  }
  leaves_.push_back({path, std::vector<std::int64_t>(digits, 0)});
  return leaves_.back().reach;
}

Layout Composer::digits(Integer const& stride) const {
  return Layout::trusted(at_path(stride.basis, lhs_.shape()), at_path(stride.basis, lhs_.stride()));
}

Layout Composer::compose_mode(Integer const& shape, Integer const& stride) {
  IntTuple const& lhs_shape = at_path(stride.basis, lhs_.shape());
  IntTuple const& lhs_stride = at_path(stride.basis, lhs_.stride());
  Integer const step{stride.value, {}, stride.is_static};
  if (step.value == 0) return Layout::trusted(IntTuple(shape), IntTuple(step));
  if (!lhs_shape.is_tuple()) return Layout::trusted(IntTuple(shape), IntTuple(step * lhs_stride.leaf()));
  if (lhs_shape.depth() > 1) {
    throw LayoutError("composition: the stride " + to_string(stride) + " of B leads to " + to_string(lhs_shape) +
                      " of A, and other strides of B lead into a mode of that; next: strides that are all integers, " +
                      "or all basis elements of one depth, such as E(0) and E(1)");
  }

  int const rank = lhs_shape.rank();
  auto& reach = reach_of(stride.basis, rank);
  if (step.value < 0) proven_ = false;

  std::vector<IntTuple> shapes;
  std::vector<IntTuple> strides;
  shapes.reserve(rank);
  strides.reserve(rank);
  Integer rest_shape = shape;
  Integer rest_stride = step;
  for (int i = 0; i + 1 < rank; ++i) {
    Integer const& extent = lhs_shape[i].leaf();
    Integer const magnitude = abs(rest_stride);
    if (!rest_shape.is(1) && magnitude.value >= extent.value && magnitude.value % extent.value != 0) {
      refuse("the stride " + to_string(magnitude) + " is no multiple of A's extent " + to_string(extent), shape,
             stride);
    }
    Integer const next_shape = ceil_div(extent, magnitude);
    Integer const next_stride = ceil_div(magnitude, extent) * sign(rest_stride);
    if (!next_shape.is(1) && !rest_shape.is(1)) {
      Integer const piece = min(next_shape, rest_shape);
      if (rest_shape.value % piece.value != 0) {
        refuse("the extent " + to_string(rest_shape) + " is no multiple of the " + to_string(piece) +
                   " steps that fit A's extent " + to_string(extent),
               shape, stride);
      }
      if (rest_shape.value > piece.value && extent.value % magnitude.value != 0) proven_ = false;
      reach[i] = add(reach[i], multiply(piece.value - 1, magnitude.value));
      shapes.emplace_back(piece);
      strides.emplace_back(rest_stride * lhs_stride[i].leaf());
      rest_shape = rest_shape / piece;
    }
    rest_stride = next_stride;
  }

  Integer const last = rest_stride * lhs_stride[rank - 1].leaf();
  if (shapes.empty()) return Layout::trusted(IntTuple(rest_shape), IntTuple(last));
  if (!rest_shape.is(1)) {
    shapes.emplace_back(rest_shape);
    strides.emplace_back(last);
  }
  return Layout::trusted(unwrap(IntTuple(std::move(shapes))), unwrap(IntTuple(std::move(strides))));
}

void Composer::check(Layout const& result) const {
  try {
    check_law("composition", b_, [&](std::int64_t i) {
      IntTuple const index = dynamic(i);
      return Sides{lhs_(b_(index)), result(index), "A(B(c))", "mode by mode"};
    });
  } catch (LayoutError const& error) {
    throw LayoutError("composition: A o B is no layout\n  A " + to_string(a_) + "\n  B " + to_string(b_) + "\n  " +
                      std::string(error.what()).substr(sizeof("composition: ") - 1) +
                      "\n  next: make_composed_layout(A, 0, B) evaluates A(B(c)) as it stands");
  }
}

void Composer::refuse(std::string const& reason, Integer const& shape, Integer const& stride) const {
  // The first multiple of the mode's stride that is not where the first step points.
  std::string example;
  auto const value = [&](std::int64_t i) { return lhs_(as_arithmetic_tuple(stride * dynamic(i))); };
  IntTuple expected = value(1);
  for (std::int64_t i = 2; i < std::min<std::int64_t>(shape.value, 1 << 12); ++i) {
    expected = arithmetic_sum(expected, value(1));
    if (value(i) != expected) {
      example = "\n  at coordinate " + std::to_string(i) + " of that mode: A(B(c)) = " + to_string(value(i)) + ", " +
                std::to_string(i) + " steps as from 0 to 1 give " + to_string(expected);
      break;
    }
  }
  throw LayoutError("composition: A does not divide by the mode " + to_string(shape) + ":" + to_string(stride) +
                    " of B: " + reason + "\n  A " + to_string(a_) + "\n  B " + to_string(b_) + example +
                    "\n  next: make_composed_layout(A, 0, B) evaluates A(B(c)) as it stands");
}

void check_law(char const* operation, Layout const& layout, std::function<Sides(std::int64_t)> const& at) {
  auto const check = [&](std::int64_t i) {
    Sides const sides = at(i);
    if (sides.left == sides.right) return;
    throw LayoutError(std::string(operation) + ": at coordinate " +
                      to_string(idx2crd(IntTuple(dynamic(i)), layout.shape())) + ": " + sides.left_name + " = " +
                      to_string(sides.left) + ", " + sides.right_name + " = " + to_string(sides.right));
  };
  std::int64_t const size = layout.size().value;
  if (size > kExhaustive) {
    for (std::int64_t const i : corners(layout)) check(i);
  }
  for (std::int64_t i = 0; i < std::min(size, kExhaustive); ++i) check(i);
  if (size > kExhaustive) {
    throw LayoutError(std::string(operation) + ": the law holds at the first " + std::to_string(kExhaustive) + " of " +
                      std::to_string(size) +
                      " coordinates and at the corners, but modes carry into one another and no " +
                      "proof covers the rest");
  }
}

std::string describe_collision(Layout const& layout) {
  std::unordered_map<std::int64_t, std::int64_t> seen;
  std::int64_t const size = std::min<std::int64_t>(layout.size().value, 1 << 16);
  for (std::int64_t i = 0; i < size; ++i) {
    std::int64_t const index = layout(IntTuple(dynamic(i))).leaf().value;
    auto const [first, is_new] = seen.emplace(index, i);
    if (is_new) continue;
    return ": coordinates " + to_string(idx2crd(IntTuple(dynamic(first->second)), layout.shape())) + " and " +
           to_string(idx2crd(IntTuple(dynamic(i)), layout.shape())) + " both give " + std::to_string(index);
  }
  return "";
}

}  // namespace cute_py::layout
