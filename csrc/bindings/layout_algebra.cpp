#include <numeric>

#include "bindings/layout_entries.hpp"

namespace cute_py::bindings {
namespace {

[[noreturn]] void refuse_on_the_right(AnyLayout const& a, std::string const& b, char const* next) {
  throw LayoutError("composition: A is composed and merges with no swizzle on its right\n  A " +
                    std::visit([](auto const& l) { return to_string(l); }, a) + "\n  B " + b + "\n  next: " + next);
}

AnyLayout compose_any(py::handle a, py::handle b) {
  if (is_a<Swizzle>(a)) {
    Swizzle const& s = as<Swizzle>(a);
    Layout l = layout_argument({"composition", "B"}, b);
    if (s.bits() == 0) return l;
    return ComposedLayout(s, fixed(0), std::move(l));
  }
  AnyLayout const lhs = any_layout_argument({"composition", "A"}, a);
  if (is_a<Swizzle>(b)) {
    if (auto const* plain = std::get_if<Layout>(&lhs)) return composition(*plain, as<Swizzle>(b));
    refuse_on_the_right(lhs, to_string(as<Swizzle>(b)),
                        "make_composed_layout(A, 0, composition(B, Layout(size(A)))) evaluates A(B(c)) as it stands");
  }
  if (is_a<ComposedLayout>(b)) {
    if (auto const* plain = std::get_if<Layout>(&lhs)) return composition(*plain, as<ComposedLayout>(b));
    refuse_on_the_right(lhs, to_string(as<ComposedLayout>(b)),
                        "make_composed_layout(A, 0, B) evaluates A(B(c)) as it stands");
  }
  Tiler const tiler = tiler_argument({"composition", "B"}, b);
  if (auto const* plain = std::get_if<Layout>(&lhs)) return composition(*plain, tiler);
  auto const& composed = std::get<ComposedLayout>(lhs);
  return composed.with_inner(composition(composed.inner(), tiler));
}

// name(layout, profile=None).
void def_by_profile(py::module_& m, char const* name, Layout (*whole)(Layout const&),
                    Layout (*by_profile)(Layout const&, IntTuple const&)) {
  auto const call = [whole, by_profile](Operation op, py::handle l, py::handle profile) {
    if (profile.is_none()) return on_domain(op("layout"), l, whole);
    IntTuple const p = int_tuple_argument(op("profile"), profile);
    return on_domain(op("layout"), l, [&](Layout const& inner) { return by_profile(inner, p); });
  };
  def(m, name, with("layout"_a, "profile"_a = py::none()), call);
}

// name(layout) of a layout, composed or not; a swizzle is its own.
void def_inverse(py::module_& m, char const* name, Layout (*plain)(Layout const&),
                 ComposedLayout (*composed)(ComposedLayout const&)) {
  auto const call = [plain, composed](Operation op, py::handle l) -> py::object {
    if (is_a<Swizzle>(l)) return py::reinterpret_borrow<py::object>(l);
    AnyLayout const any = any_layout_argument(op("layout"), l);
    if (auto const* p = std::get_if<Layout>(&any)) return py::cast(plain(*p));
    return py::cast(composed(std::get<ComposedLayout>(any)));
  };
  def(m, name, with("layout"_a), call);
}

// name(first, tiler), for a tiler of any kind.
void def_tiled(py::module_& m, char const* name, char const* first, Layout (*f)(Layout const&, Tiler const&)) {
  auto const call = [first, f](Operation op, py::handle l, py::handle tiler) {
    Tiler const t = tiler_argument(op("tiler"), tiler);
    return on_domain(op(first), l, [&](Layout const& inner) { return f(inner, t); });
  };
  def(m, name, with(py::arg(first), "tiler"_a), call);
}

// name(block, tiler), for a tiler that is a layout.
void def_product(py::module_& m, char const* name, Layout (*f)(Layout const&, Layout const&)) {
  auto const call = [f](Operation op, py::handle block, py::handle tiler) {
    Layout const t = layout_argument(op("tiler"), tiler);
    return on_domain(op("block"), block, [&](Layout const& inner) { return f(inner, t); });
  };
  def(m, name, with("block"_a, "tiler"_a), call);
}

// f of a swizzle or of a layout, composed or not.
template <class F>
py::object of_function(Place place, py::handle value, F f) {
  if (is_a<Swizzle>(value)) return py::cast(f(as<Swizzle>(value)));
  return std::visit([&](auto const& layout) { return py::cast(f(layout)); }, any_layout_argument(place, value));
}

}  // namespace

void register_layout_algebra(py::module_& m) {
  def(m, "composition", with("a"_a, "b"_a), [](Operation op, py::handle a, py::handle b) -> py::object {
    if (has_layout(a)) return a.attr("with_layout")(cast_any(compose_any(layout_of(op("A"), a), b)));
    if (is_a<Swizzle>(a) && is_a<Swizzle>(b)) return py::cast(composition(as<Swizzle>(a), as<Swizzle>(b)));
    return cast_any(compose_any(a, b));
  });
  def_by_profile(m, "coalesce", &coalesce, &coalesce);
  def_by_profile(m, "filter_zeros", &filter_zeros, &filter_zeros);
  def_by_profile(m, "filter", &filter, &filter);
  def(m, "complement", with("layout"_a, "cotarget"_a = py::none()),
      [](Operation op, py::handle l, py::handle cotarget) {
        Layout const inner = domain_of(any_layout_argument(op("layout"), l));
        return cotarget.is_none() ? complement(inner) : complement(inner, extents_argument(op("cotarget"), cotarget));
      });
  def_inverse(m, "right_inverse", &right_inverse, &right_inverse);
  def_inverse(m, "left_inverse", &left_inverse, &left_inverse);
  def(m, "nullspace", with("layout"_a), [](Operation op, py::handle l) {
    AnyLayout const any = any_layout_argument(op("layout"), l);
    auto const* plain = std::get_if<Layout>(&any);
    return plain != nullptr ? nullspace(*plain) : Layout();
  });
  def(m, "max_common_vector", with("a"_a, "b"_a), [](Operation op, py::handle a, py::handle b) {
    AnyLayout const x = any_layout_argument(op("a"), a);
    AnyLayout const y = any_layout_argument(op("b"), b);
    auto const* plain_x = std::get_if<Layout>(&x);
    auto const* plain_y = std::get_if<Layout>(&y);
    if (plain_x != nullptr && plain_y != nullptr) return to_python(max_common_vector(*plain_x, *plain_y));
    if (plain_x != nullptr) return to_python(max_common_vector(std::get<ComposedLayout>(y), *plain_x));
    auto const& composed = std::get<ComposedLayout>(x);
    if (plain_y != nullptr) return to_python(max_common_vector(composed, *plain_y));
    return to_python(max_common_vector(composed, std::get<ComposedLayout>(y)));
  });
  def(m, "max_common_layout", with("a"_a, "b"_a), [](Operation op, py::handle a, py::handle b) {
    AnyLayout const x = any_layout_argument(op("a"), a);
    AnyLayout const y = any_layout_argument(op("b"), b);
    if (auto const* plain = std::get_if<Layout>(&x)) {
      if (auto const* other = std::get_if<Layout>(&y)) return max_common_layout(*plain, *other);
      return max_common_layout(std::get<ComposedLayout>(y), *plain);
    }
    return max_common_layout(std::get<ComposedLayout>(x), layout_argument(op("b"), b));
  });
  def_tiled(m, "logical_divide", "layout", &logical_divide);
  def_tiled(m, "zipped_divide", "layout", &zipped_divide);
  def_tiled(m, "tiled_divide", "layout", &tiled_divide);
  def_tiled(m, "flat_divide", "layout", &flat_divide);
  def_tiled(m, "logical_product", "block", &logical_product);
  def_tiled(m, "zipped_product", "block", &zipped_product);
  def_tiled(m, "tiled_product", "block", &tiled_product);
  def_tiled(m, "flat_product", "block", &flat_product);
  def_product(m, "blocked_product", &blocked_product);
  def_product(m, "raked_product", &raked_product);
  def(m, "tile_to_shape", with("block"_a, "shape"_a, "order"_a = py::none()),
      [](Operation op, py::handle block, py::handle shape, py::handle order) {
        IntTuple const s = extents_argument(op("shape"), shape);
        auto const o = order.is_none() ? std::nullopt : order_argument(op("order"), s, order);
        return on_domain(op("block"), block, [&](Layout const& inner) { return tile_to_shape(inner, s, o); });
      });
  def(m, "upcast", with("layout"_a, "n"_a), [](Operation op, py::handle l, py::handle n) {
    std::int64_t const factor = integer_argument(op("n"), n);
    return of_function(op("layout"), l, [&](auto const& layout) { return upcast(layout, factor); });
  });
  def(m, "downcast", with("layout"_a, "n"_a), [](Operation op, py::handle l, py::handle n) {
    std::int64_t const factor = integer_argument(op("n"), n);
    return of_function(op("layout"), l, [&](auto const& layout) { return downcast(layout, factor); });
  });
  def(m, "recast_layout", with("layout"_a, "old_bits"_a, "new_bits"_a),
      [](Operation op, py::handle l, py::handle old_bits, py::handle new_bits) {
        std::int64_t const from = integer_argument(op("old_bits"), old_bits);
        std::int64_t const to = integer_argument(op("new_bits"), new_bits);
        if (from < 1 || to < 1) throw LayoutError("recast_layout: sizes in bits are 1 or more");
        std::int64_t const common = std::gcd(from, to);
        return of_function(op("layout"), l, [&](auto const& layout) {
          auto const large = to / common == 1 ? layout : upcast(layout, to / common);
          return from / common == 1 ? large : downcast(large, from / common);
        });
      });
  def(m, "make_layout_tv", with("thr_layout"_a, "val_layout"_a),
      [](Operation op, py::handle threads, py::handle values) {
        Layout const t = layout_argument(op("thr_layout"), threads);
        Layout const v = layout_argument(op("val_layout"), values);
        Layout const mn = raked_product(t, v);
        IntTuple const shape(std::vector<IntTuple>{IntTuple(t.size()), IntTuple(v.size())});
        Layout tv = composition(right_inverse(mn), Layout(shape));
        return py::make_tuple(to_plain_python(product_each(mn.shape())), std::move(tv));
      });
  def(m, "make_swizzle", with("y"_a, "z"_a), [](Operation op, py::handle y, py::handle z) {
    std::int64_t const low = integer_argument(op("y"), y);
    std::int64_t const high = integer_argument(op("z"), z);
    if (low < 0 || high < 0) {
      throw LayoutError("masks are not negative: " + std::to_string(low) + " and " + std::to_string(high));
    }
    return make_swizzle(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high));
  });
}

}  // namespace cute_py::bindings
