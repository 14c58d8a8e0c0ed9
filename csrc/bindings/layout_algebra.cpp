#include "bindings/layout_docs.hpp"
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

}  // namespace

void register_layout_algebra(py::module_& m) {
  m.def("composition",
        named("composition",
              [](py::handle a, py::handle b) -> py::object {
                if (has_layout(a)) {
                  return a.attr("with_layout")(cast_any(compose_any(layout_of({"composition", "A"}, a), b)));
                }
                if (is_a<Swizzle>(a) && is_a<Swizzle>(b)) {
                  return py::cast(composition(as<Swizzle>(a), as<Swizzle>(b)));
                }
                return cast_any(compose_any(a, b));
              }),
        py::arg("a"), py::arg("b"), docs::composition);
  def_domain(
      m, "coalesce", docs::coalesce, [](Layout const& l) { return coalesce(l); },
      [](Layout const& l, IntTuple const& p) { return coalesce(l, p); });
  def_domain(
      m, "filter_zeros", docs::filter_zeros, [](Layout const& l) { return filter_zeros(l); },
      [](Layout const& l, IntTuple const& p) { return filter_zeros(l, p); });
  def_domain(
      m, "filter", docs::filter, [](Layout const& l) { return filter(l); },
      [](Layout const& l, IntTuple const& p) { return filter(l, p); });
  m.def("complement",
        named("complement",
              [](py::handle l, py::handle cotarget) {
                Layout const inner = domain_of(any_layout_argument({"complement", "layout"}, l));
                if (cotarget.is_none()) return complement(inner);
                IntTuple const target = extents_argument({"complement", "cotarget"}, cotarget);
                return complement(inner, target);
              }),
        py::arg("layout"), py::arg("cotarget") = py::none(), docs::complement);
  auto const def_inverse = [&](char const* name, char const* doc, Layout (*plain)(Layout const&),
                               ComposedLayout (*composed)(ComposedLayout const&)) {
    m.def(name,
          named(name,
                [name, plain, composed](py::handle l) -> py::object {
                  if (is_a<Swizzle>(l)) return py::reinterpret_borrow<py::object>(l);
                  AnyLayout const any = any_layout_argument({name, "layout"}, l);
                  if (auto const* p = std::get_if<Layout>(&any)) return py::cast(plain(*p));
                  return py::cast(composed(std::get<ComposedLayout>(any)));
                }),
          py::arg("layout"), doc);
  };
  def_inverse("right_inverse", docs::right_inverse, [](Layout const& l) { return right_inverse(l); }, &right_inverse);
  def_inverse("left_inverse", docs::left_inverse, [](Layout const& l) { return left_inverse(l); }, &left_inverse);
  m.def("nullspace",
        named("nullspace",
              [](py::handle l) {
                AnyLayout const any = any_layout_argument({"nullspace", "layout"}, l);
                auto const* plain = std::get_if<Layout>(&any);
                return plain != nullptr ? nullspace(*plain) : Layout();
              }),
        py::arg("layout"), docs::nullspace);
  m.def("max_common_vector",
        named("max_common_vector",
              [](py::handle a, py::handle b) {
                AnyLayout const x = any_layout_argument({"max_common_vector", "a"}, a);
                AnyLayout const y = any_layout_argument({"max_common_vector", "b"}, b);
                auto const* px = std::get_if<Layout>(&x);
                auto const* py_ = std::get_if<Layout>(&y);
                Integer const n = px != nullptr && py_ != nullptr ? max_common_vector(*px, *py_)
                                  : px != nullptr                 ? max_common_vector(std::get<ComposedLayout>(y), *px)
                                  : py_ != nullptr
                                      ? max_common_vector(std::get<ComposedLayout>(x), *py_)
                                      : max_common_vector(std::get<ComposedLayout>(x), std::get<ComposedLayout>(y));
                return to_python(n);
              }),
        py::arg("a"), py::arg("b"), docs::max_common_vector);
  m.def("max_common_layout",
        named("max_common_layout",
              [](py::handle a, py::handle b) {
                AnyLayout const x = any_layout_argument({"max_common_layout", "a"}, a);
                AnyLayout const y = any_layout_argument({"max_common_layout", "b"}, b);
                if (auto const* px = std::get_if<Layout>(&x)) {
                  if (auto const* other = std::get_if<Layout>(&y)) return max_common_layout(*px, *other);
                  return max_common_layout(std::get<ComposedLayout>(y), *px);
                }
                return max_common_layout(std::get<ComposedLayout>(x), layout_argument({"max_common_layout", "b"}, b));
              }),
        py::arg("a"), py::arg("b"), docs::max_common_layout);
  def_tiled(m, "logical_divide", docs::logical_divide, "layout",
            [](Layout const& l, Tiler const& t) { return logical_divide(l, t); });
  def_tiled(m, "zipped_divide", docs::zipped_divide, "layout", &zipped_divide);
  def_tiled(m, "tiled_divide", docs::tiled_divide, "layout", &tiled_divide);
  def_tiled(m, "flat_divide", docs::flat_divide, "layout", &flat_divide);
  def_tiled(m, "logical_product", docs::logical_product, "block",
            [](Layout const& l, Tiler const& t) { return logical_product(l, t); });
  def_tiled(m, "zipped_product", docs::zipped_product, "block", &zipped_product);
  def_tiled(m, "tiled_product", docs::tiled_product, "block", &tiled_product);
  def_tiled(m, "flat_product", docs::flat_product, "block", &flat_product);
  def_product(m, "blocked_product", docs::blocked_product, &blocked_product);
  def_product(m, "raked_product", docs::raked_product, &raked_product);
  m.def("tile_to_shape",
        named("tile_to_shape",
              [](py::handle block, py::handle shape, py::handle order) {
                IntTuple const s = extents_argument({"tile_to_shape", "shape"}, shape);
                auto const o = order.is_none() ? std::nullopt : order_argument("tile_to_shape", s, order);
                return on_domain({"tile_to_shape", "block"}, block,
                                 [&](Layout const& inner) { return tile_to_shape(inner, s, o); });
              }),
        py::arg("block"), py::arg("shape"), py::arg("order") = py::none(), docs::tile_to_shape);
  auto const def_cast = [&](char const* name, char const* doc, auto of_layout, auto of_swizzle, auto of_composed) {
    m.def(name,
          named(name,
                [=](py::handle l, py::handle n) -> py::object {
                  std::int64_t const factor = integer_argument({name, "n"}, n);
                  if (is_a<Swizzle>(l)) return py::cast(of_swizzle(as<Swizzle>(l), factor));
                  AnyLayout const any = any_layout_argument({name, "layout"}, l);
                  if (auto const* plain = std::get_if<Layout>(&any)) return py::cast(of_layout(*plain, factor));
                  return py::cast(of_composed(std::get<ComposedLayout>(any), factor));
                }),
          py::arg("layout"), py::arg("n"), doc);
  };
  def_cast(
      "upcast", docs::upcast, [](Layout const& l, std::int64_t n) { return upcast(l, n); },
      [](Swizzle const& s, std::int64_t n) { return upcast(s, n); },
      [](ComposedLayout const& l, std::int64_t n) { return upcast(l, n); });
  def_cast(
      "downcast", docs::downcast, [](Layout const& l, std::int64_t n) { return downcast(l, n); },
      [](Swizzle const& s, std::int64_t n) { return downcast(s, n); },
      [](ComposedLayout const& l, std::int64_t n) { return downcast(l, n); });
  m.def("recast_layout",
        named("recast_layout",
              [](py::handle l, py::handle old_bits, py::handle new_bits) -> py::object {
                std::int64_t const from = integer_argument({"recast_layout", "old_bits"}, old_bits);
                std::int64_t const to = integer_argument({"recast_layout", "new_bits"}, new_bits);
                if (from < 1 || to < 1) throw LayoutError("recast_layout: sizes in bits are 1 or more");
                std::int64_t const common = std::gcd(from, to);
                auto const recast = [&](auto const& layout) {
                  auto const large = to / common == 1 ? layout : upcast(layout, to / common);
                  return from / common == 1 ? large : downcast(large, from / common);
                };
                if (is_a<Swizzle>(l)) return py::cast(recast(as<Swizzle>(l)));
                AnyLayout const any = any_layout_argument({"recast_layout", "layout"}, l);
                return std::visit([&](auto const& layout) { return py::cast(recast(layout)); }, any);
              }),
        py::arg("layout"), py::arg("old_bits"), py::arg("new_bits"), docs::recast_layout);
  m.def("make_layout_tv",
        named("make_layout_tv",
              [](py::handle threads, py::handle values) {
                Layout const t = layout_argument({"make_layout_tv", "thr_layout"}, threads);
                Layout const v = layout_argument({"make_layout_tv", "val_layout"}, values);
                Layout const mn = raked_product(t, v);
                IntTuple const shape(std::vector<IntTuple>{IntTuple(t.size()), IntTuple(v.size())});
                Layout tv = composition(right_inverse(mn), Layout(shape));
                return py::make_tuple(to_plain_python(product_each(mn.shape())), std::move(tv));
              }),
        py::arg("thr_layout"), py::arg("val_layout"), docs::make_layout_tv);
  m.def("make_swizzle",
        named("make_swizzle",
              [](py::handle y, py::handle z) {
                std::int64_t const low = integer_argument({"make_swizzle", "y"}, y);
                std::int64_t const high = integer_argument({"make_swizzle", "z"}, z);
                if (low < 0 || high < 0) {
                  throw LayoutError("masks are not negative: " + std::to_string(low) + " and " + std::to_string(high));
                }
                return make_swizzle(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high));
              }),
        py::arg("y"), py::arg("z"), docs::make_swizzle);
}

}  // namespace cute_py::bindings
