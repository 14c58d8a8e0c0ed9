#include "bindings/layout_docs.hpp"
#include "bindings/layout_entries.hpp"

namespace cute_py::bindings {
namespace {

void register_constructors(py::module_& m) {
  m.def("make_layout",
        named("make_layout",
              [](py::args const& arguments) {
                if (arguments.empty()) throw LayoutError("make_layout: give a shape, a shape and a stride, or layouts");
                if (is_a<Layout>(arguments[0]) || (is_text(arguments[0]) && arguments.size() > 1)) {
                  std::vector<Layout> modes;
                  for (auto const mode : arguments) modes.push_back(layout_argument({"make_layout", "a mode"}, mode));
                  return make_layout(modes);
                }
                if (arguments.size() > 2)
                  throw LayoutError("make_layout: give a shape, a shape and a stride, or layouts");
                return new_layout("make_layout", arguments[0],
                                  arguments.size() == 2 ? py::object(arguments[1]) : py::none());
              }),
        docs::make_layout);
  m.def("make_ordered_layout",
        named("make_ordered_layout",
              [](py::handle shape, py::handle order) {
                IntTuple const s = extents_argument({"make_ordered_layout", "shape"}, shape);
                Layout const left(s);
                if (is_tag_right(order)) return Layout(s, compact_right(s));
                auto const o = order_argument("make_ordered_layout", s, order);
                return o ? make_ordered_layout(s, *o) : left;
              }),
        py::arg("shape"), py::arg("order"), docs::make_ordered_layout);
  m.def("make_layout_like",
        named("make_layout_like",
              [](py::handle l) { return make_layout_like(layout_argument({"make_layout_like", "layout"}, l)); }),
        py::arg("layout"), docs::make_layout_like);
  m.def("make_fragment_like",
        named("make_fragment_like",
              [](py::handle l) {
                return make_fragment_like(domain_of(any_layout_argument({"make_fragment_like", "layout"}, l)));
              }),
        py::arg("layout"), docs::make_fragment_like);
  m.def("make_identity_layout",
        named("make_identity_layout",
              [](py::handle shape) {
                return make_identity_layout(extents_argument({"make_identity_layout", "shape"}, shape));
              }),
        py::arg("shape"), docs::make_identity_layout);
  m.def("make_composed_layout",
        named("make_composed_layout",
              [](py::object outer, py::object offset, py::object inner) {
                return py::type::of<ComposedLayout>()(outer, offset, inner);
              }),
        py::arg("outer"), py::arg("offset"), py::arg("inner"), docs::make_composed_layout);
}

// What has a size: of a tiled MMA or copy, its threads.
IntTuple sized_argument(Place place, py::handle value) {
  bool const is_plain = PyTuple_Check(value.ptr()) || PyLong_Check(value.ptr()) || is_layout(value);
  if (is_plain || PyObject_HasAttrString(value.ptr(), "get_slice") != 1) return any_extents_argument(place, value);
  return any_extents_argument(place, value.attr("size"));
}

// name(x, *modes) of a shape, a layout or one of its modes.
template <class OfShape>
void def_query(py::module_& m, char const* name, char const* doc, OfShape of) {
  m.def(name,
        named(name,
              [name, of](py::handle value, py::args const& modes) {
                Place const place{name, "the first argument"};
                IntTuple const whole =
                    std::string_view(name) == "size" ? sized_argument(place, value) : shape_argument(place, value);
                return of(modes.empty() ? whole : at_path(name, whole, path_of(name, modes)));
              }),
        doc);
}

// f of two tuples or shapes of layouts.
template <class F>
void def_pair(py::module_& m, char const* name, char const* doc, F f) {
  m.def(name,
        named(name,
              [name, f](py::handle a, py::handle b) {
                return f(shape_argument({name, "a"}, a), shape_argument({name, "b"}, b));
              }),
        py::arg("a"), py::arg("b"), doc);
}

// f of one tuple.
template <class F>
void def_fold(py::module_& m, char const* name, char const* doc, F f) {
  m.def(name, named(name, [name, f](py::handle t) { return to_python(f(shape_argument({name, "t"}, t))); }),
        py::arg("t"), doc);
}

// The strides of a compact layout that begin with `first`.
void def_compact(py::module_& m, char const* name, char const* doc, IntTuple (*f)(IntTuple const&, Integer const&)) {
  m.def(name,
        named(name,
              [name, f](py::handle shape, py::handle first) {
                IntTuple const s = any_extents_argument({name, "shape"}, shape);
                return to_python(f(s, first.is_none() ? fixed(1) : dynamic_or_static({name, "first"}, first)));
              }),
        py::arg("shape"), py::arg("first") = py::none(), doc);
}

void register_tuple_functions(py::module_& m) {
  def_pair(m, "shape_div", docs::shape_div,
           [](IntTuple const& a, IntTuple const& b) { return to_python(shape_div(a, b)); });
  def_pair(m, "round_up", docs::round_up,
           [](IntTuple const& a, IntTuple const& b) { return to_python(round_up(a, b)); });
  def_pair(m, "evenly_divides", docs::evenly_divides,
           [](IntTuple const& a, IntTuple const& b) { return evenly_divides(a, b); });
  def_pair(m, "elem_scale", docs::elem_scale,
           [](IntTuple const& a, IntTuple const& b) { return to_python(elem_scale(a, b)); });
  def_pair(m, "inner_product", docs::inner_product,
           [](IntTuple const& a, IntTuple const& b) { return to_python(inner_product(a, b)); });
  def_pair(m, "colex_less", docs::colex_less, [](IntTuple const& a, IntTuple const& b) { return colex_less(a, b); });
  def_pair(m, "lex_less", docs::lex_less, [](IntTuple const& a, IntTuple const& b) { return lex_less(a, b); });
  def_fold(m, "product", docs::product, [](IntTuple const& t) { return product(t); });
  def_fold(m, "tuple_max", docs::tuple_max, &greatest);
  def_fold(m, "tuple_sum", docs::tuple_sum, &sum);
  def_fold(m, "tuple_gcd", docs::tuple_gcd, [](IntTuple const& t) { return gcd(t); });
  def_compact(m, "compact_col_major", docs::compact_col_major, &compact_left);
  def_compact(m, "compact_row_major", docs::compact_row_major, &compact_right);
  m.def("make_basis_like",
        named("make_basis_like",
              [](py::handle shape) {
                return to_python(basis_like(shape_argument({"make_basis_like", "shape"}, shape)));
              }),
        py::arg("shape"), docs::make_basis_like);
  m.def("repeat_like",
        named("repeat_like",
              [](py::handle t, py::handle value) {
                return to_python(repeat_like(shape_argument({"repeat_like", "t"}, t),
                                             dynamic_or_static({"repeat_like", "value"}, value)));
              }),
        py::arg("t"), py::arg("value"), docs::repeat_like);
  m.def("product_like",
        named("product_like",
              [](py::handle t, py::handle profile) {
                return to_python(product_like(shape_argument({"product_like", "t"}, t),
                                              shape_argument({"product_like", "profile"}, profile)));
              }),
        py::arg("t"), py::arg("profile"), docs::product_like);
}

}  // namespace

void register_layout_queries(py::module_& m) {
  register_constructors(m);
  register_tuple_functions(m);
  def_query(m, "rank", docs::rank, [](IntTuple const& t) { return t.rank(); });
  def_query(m, "depth", docs::depth, [](IntTuple const& t) { return t.depth(); });
  def_query(m, "size", docs::size, [](IntTuple const& t) { return to_python(product(t)); });
  def_query(m, "shape", docs::shape, [](IntTuple const& t) { return to_python(t); });
  m.def("stride",
        named("stride",
              [](py::handle value, py::args const& modes) {
                IntTuple const whole = layout_argument({"stride", "layout"}, value).stride();
                return to_python(at_path("stride", whole, path_of("stride", modes)));
              }),
        docs::stride);
  m.def("cosize",
        named("cosize",
              [](py::handle value, py::args const& modes) {
                Layout const l = domain_of(any_layout_argument({"cosize", "layout"}, value));
                return to_python(cosize(get(l, path_of("cosize", modes))));
              }),
        docs::cosize);
  m.def("coshape",
        named("coshape",
              [](py::handle value, py::args const& modes) {
                Layout const l = domain_of(any_layout_argument({"coshape", "layout"}, value));
                return to_python(coshape(get(l, path_of("coshape", modes))));
              }),
        docs::coshape);
  m.def("congruent",
        named("congruent",
              [](py::handle a, py::handle b) {
                return congruent(shape_argument({"congruent", "a"}, a), shape_argument({"congruent", "b"}, b));
              }),
        py::arg("a"), py::arg("b"), docs::congruent);
  m.def("weakly_congruent",
        named("weakly_congruent",
              [](py::handle a, py::handle b) {
                return weakly_congruent(shape_argument({"weakly_congruent", "a"}, a),
                                        shape_argument({"weakly_congruent", "b"}, b));
              }),
        py::arg("a"), py::arg("b"), docs::weakly_congruent);
  m.def("compatible",
        named("compatible",
              [](py::handle a, py::handle b) {
                Layout const first(extents_argument({"compatible", "a"}, a));
                Layout const second(extents_argument({"compatible", "b"}, b));
                return compatible(first.shape(), second.shape());
              }),
        py::arg("a"), py::arg("b"), docs::compatible);
  m.def("ceil_div",
        named("ceil_div",
              [](py::handle a, py::handle b) {
                return to_python(
                    ceil_div(shape_argument({"ceil_div", "a"}, a), int_tuple_argument({"ceil_div", "b"}, b)));
              }),
        py::arg("a"), py::arg("b"), docs::ceil_div);
  m.def("product_each",
        named("product_each",
              [](py::handle a) { return to_python(product_each(shape_argument({"product_each", "shape"}, a))); }),
        py::arg("shape"), docs::product_each);
  m.def("crd2idx",
        named("crd2idx",
              [](py::handle coord, py::handle shape, py::handle stride) {
                bool const of_layout = is_layout(shape);
                if (of_layout && !stride.is_none())
                  throw LayoutError("stride goes with a shape; the layout has its own; next: leave it out");
                if (has_array(coord)) {
                  if (of_layout) {
                    return std::visit([&](auto const& l) { return values_at(l, coord); },
                                      any_layout_argument({"crd2idx", "shape"}, shape));
                  }
                  IntTuple const s = extents_argument({"crd2idx", "shape"}, shape);
                  return values_at(
                      stride.is_none() ? Layout(s) : Layout(s, int_tuple_argument({"crd2idx", "stride"}, stride)),
                      coord);
                }
                IntTuple const c = int_tuple_argument({"crd2idx", "coord"}, coord);
                if (of_layout) {
                  return like(c, std::visit([&](auto const& l) { return l(c); },
                                            any_layout_argument({"crd2idx", "shape"}, shape)));
                }
                IntTuple const s = extents_argument({"crd2idx", "shape"}, shape);
                if (stride.is_none()) return like(c, crd2idx(c, s));
                return like(c, Layout(s, int_tuple_argument({"crd2idx", "stride"}, stride))(c));
              }),
        py::arg("coord"), py::arg("shape"), py::arg("stride") = py::none(), docs::crd2idx);
  m.def("idx2crd",
        named("idx2crd",
              [](py::handle index, py::handle shape, py::handle stride) {
                IntTuple const s = extents_argument({"idx2crd", "shape"}, shape);
                if (has_array(index)) {
                  return coordinates_at(index, s,
                                        stride.is_none()
                                            ? std::nullopt
                                            : std::optional(int_tuple_argument({"idx2crd", "stride"}, stride)));
                }
                IntTuple const i = int_tuple_argument({"idx2crd", "index"}, index);
                if (stride.is_none()) return like(i, idx2crd(i, s));
                return like(i, idx2crd(i, s, int_tuple_argument({"idx2crd", "stride"}, stride)));
              }),
        py::arg("index"), py::arg("shape"), py::arg("stride") = py::none(), docs::idx2crd);
  m.def("crd2crd",
        named("crd2crd",
              [](py::handle coord, py::handle from, py::handle to) {
                IntTuple const src = extents_argument({"crd2crd", "src_shape"}, from);
                IntTuple const dst = extents_argument({"crd2crd", "dst_shape"}, to);
                IntTuple const c = int_tuple_argument({"crd2crd", "coord"}, coord);
                return like(c, crd2crd(c, src, dst));
              }),
        py::arg("coord"), py::arg("src_shape"), py::arg("dst_shape"), docs::crd2crd);
  m.def("elem_less",
        named("elem_less",
              [](py::handle a, py::handle b) {
                return elem_less(int_tuple_argument({"elem_less", "a"}, a), shape_argument({"elem_less", "b"}, b));
              }),
        py::arg("a"), py::arg("b"), docs::elem_less);
  m.def("layout_indices",
        named("layout_indices",
              [](py::handle value) { return all_indices(any_layout_argument({"layout_indices", "layout"}, value)); }),
        docs::layout_indices);
  m.def(
      "record",
      [](py::handle operation, py::handle value, py::handle argument) {
        return recorded(text_argument({"record", "operation"}, operation), value, argument);
      },
      py::arg("operation"), py::arg("layout"), py::arg("argument") = py::none(), docs::record);
  m.def("layout_values",
        named("layout_values",
              [](py::handle value, py::handle limit) {
                AnyLayout const any = any_layout_argument({"layout_values", "layout"}, value);
                std::int64_t const most =
                    limit.is_none() ? domain_of(any).size().value : integer_argument({"layout_values", "limit"}, limit);
                if (most < 0) throw LayoutError("limit must be 0 or more, not " + std::to_string(most));
                return all_values(any, most);
              }),
        py::arg("layout"), py::arg("limit") = py::none(), docs::layout_values);
}

}  // namespace cute_py::bindings
