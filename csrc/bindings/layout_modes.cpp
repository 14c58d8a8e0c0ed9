#include "bindings/layout_docs.hpp"
#include "bindings/layout_entries.hpp"

namespace cute_py::bindings {
namespace {

// append(tuple, element) and append(layout, mode): one more, as CuTe's functions of that name without a rank.
py::object appended_one(char const* name, py::handle l, py::handle element,
                        Tiler (*of_tuple)(Tiler const&, int, Tiler const&),
                        Layout (*of_layout)(Layout const&, int, Layout const&)) {
  if (is_sequence(l)) {
    Tiler const t = elements_argument(name, l);
    return to_python(of_tuple(t, t.rank() + 1, tiler_argument({name, "element"}, element)));
  }
  Layout const mode = layout_argument({name, "mode"}, element);
  return on_domain({name, "layout"}, l, [&](Layout const& inner) { return of_layout(inner, inner.rank() + 1, mode); });
}

// What a path leads to in a tuple of anything.
py::object of_tuple(Tiler const& t, std::vector<int> const& path) {
  Tiler const* at = &t;
  for (auto mode = path.begin(); mode != path.end(); ++mode) {
    if (at->kind == Tiler::Kind::layout) return py::cast(get(at->layout, {mode, path.end()}));
    bool const exists = *mode >= 0 && *mode < at->rank() && at->kind != Tiler::Kind::any;
    if (!exists)
      throw LayoutError("there is no mode " + std::to_string(*mode) + " in " + to_string(*at) +
                        "; next: count them from 0");
    if (at->is_tuple()) at = &at->elements[static_cast<std::size_t>(*mode)];
  }
  return to_python(*at);
}

}  // namespace

void register_layout_modes(py::module_& m) {
  m.def("get",
        named("get",
              [](py::handle l, py::args const& modes) {
                auto const path = path_of("get", modes);
                if (is_sequence(l)) return of_tuple(elements_argument("get", l), path);
                if (!is_layout(l) && !has_layout(l))
                  return to_python(at_path("get", int_tuple_argument({"get", "tuple"}, l), path));
                return on_domain({"get", "layout"}, l, [&](Layout const& inner) { return get(inner, path); });
              }),
        docs::get);
  m.def("select",
        named("select",
              [](py::handle l, py::args const& modes) {
                auto const path = path_of("select", modes);
                if (is_sequence(l)) return to_python(select(elements_argument("select", l), path));
                return on_domain({"select", "layout"}, l, [&](Layout const& inner) { return select(inner, path); });
              }),
        docs::select);
  auto const def_range = [&](char const* name, char const* doc, Layout (*f)(Layout const&, int, int),
                             Tiler (*of_tuple)(Tiler const&, int, int)) {
    m.def(name,
          named(name,
                [name, f, of_tuple](py::handle l, py::handle begin, py::handle end) {
                  int const b = small_argument({name, "begin"}, begin);
                  int const e = small_argument({name, "end"}, end);
                  if (is_sequence(l)) return to_python(of_tuple(elements_argument(name, l), b, e));
                  return on_domain({name, "layout"}, l, [&](Layout const& inner) { return f(inner, b, e); });
                }),
          py::arg("layout"), py::arg("begin"), py::arg("end"), doc);
  };
  def_range("take", docs::take, &take, &take);
  def_range("group", docs::group, &group, &group);
  auto const def_extend = [&](char const* name, char const* doc, Layout (*f)(Layout const&, int, Layout const&),
                              Tiler (*of_tuple)(Tiler const&, int, Tiler const&)) {
    m.def(name,
          named(name,
                [name, f, of_tuple](py::handle l, py::handle rank, py::handle mode) {
                  if (mode.is_none() && (is_sequence(l) || is_a<Layout>(rank)))
                    return appended_one(name, l, rank, of_tuple, f);
                  int const r = small_argument({name, "rank"}, rank);
                  if (r < 1 || r > 255)
                    throw LayoutError(std::string(name) + ": rank is 1 to 255, not " + std::to_string(r));
                  if (is_sequence(l)) {
                    return to_python(of_tuple(elements_argument(name, l), r, tiler_argument({name, "mode"}, mode)));
                  }
                  Layout const x = mode.is_none() ? Layout() : layout_argument({name, "mode"}, mode);
                  return on_domain({name, "layout"}, l, [&](Layout const& inner) { return f(inner, r, x); });
                }),
          py::arg("layout"), py::arg("rank"), py::arg("mode") = py::none(), doc);
  };
  def_extend("append", docs::append, &append, &append);
  def_extend("prepend", docs::prepend, &prepend, &prepend);
  m.def("replace",
        named("replace",
              [](py::handle l, py::handle at, py::handle mode) {
                int const i = small_argument({"replace", "at"}, at);
                if (is_sequence(l)) {
                  return to_python(
                      replace(elements_argument("replace", l), i, tiler_argument({"replace", "mode"}, mode)));
                }
                Layout const x = layout_argument({"replace", "mode"}, mode);
                return on_domain({"replace", "layout"}, l, [&](Layout const& inner) { return replace(inner, i, x); });
              }),
        py::arg("layout"), py::arg("at"), py::arg("mode"), docs::replace);
  m.def("flatten",
        named("flatten",
              [](py::handle l) {
                if (!is_layout(l) && !has_layout(l))
                  return to_python(flatten(int_tuple_argument({"flatten", "tuple"}, l)));
                return on_domain({"flatten", "layout"}, l, [](Layout const& inner) { return flatten(inner); });
              }),
        py::arg("layout"), docs::flatten);
  m.def("unflatten",
        named("unflatten",
              [](py::handle l, py::handle profile) {
                IntTuple const p = shape_argument({"unflatten", "profile"}, profile);
                if (is_sequence(l))
                  return to_python(unflatten(leaves(int_tuple_argument({"unflatten", "tuple"}, l)), p));
                return on_domain({"unflatten", "layout"}, l, [&](Layout const& inner) { return unflatten(inner, p); });
              }),
        py::arg("layout"), py::arg("profile"), docs::unflatten);
  m.def("zip",
        named("zip",
              [](py::handle a, py::handle b) {
                if (is_sequence(a)) {
                  IntTuple const t = int_tuple_argument({"zip", "tuple"}, a);
                  IntTuple const both =
                      b.is_none() ? t : IntTuple(std::vector<IntTuple>{t, int_tuple_argument({"zip", "b"}, b)});
                  return to_python(zip(both));
                }
                if (b.is_none()) return py::object(py::cast(zip(layout_argument({"zip", "layout"}, a))));
                return py::object(py::cast(zip(layout_argument({"zip", "a"}, a), layout_argument({"zip", "b"}, b))));
              }),
        py::arg("layout"), py::arg("other") = py::none(), docs::zip);
  m.def("slice_",
        named("slice_",
              [](py::handle coord, py::handle l) -> py::object {
                if (is_sequence(l))
                  return to_python(slice(slicing_argument("slice_", coord), elements_argument("slice_", l)));
                if (has_layout(l)) return py::object(l[coord]);
                return slice_and_offset_of("slice_", coord, l)[0];
              }),
        py::arg("coord"), py::arg("layout"), docs::slice_);
  m.def("slice_and_offset",
        named("slice_and_offset",
              [](py::handle coord, py::handle l) { return slice_and_offset_of("slice_and_offset", coord, l); }),
        py::arg("coord"), py::arg("layout"), docs::slice_and_offset);
  m.def("dice",
        named("dice",
              [](py::handle coord, py::handle value) -> py::object {
                Tiler const c = tiler_argument({"dice", "coord"}, coord);
                if (is_a<Layout>(value)) return py::cast(dice(c, as<Layout>(value)));
                if (is_text(value)) return py::cast(dice(c, layout_argument({"dice", "value"}, value)));
                return to_python(dice(c, tiler_argument({"dice", "value"}, value)));
              }),
        py::arg("coord"), py::arg("value"), docs::dice);
  m.def("parse",
        named("parse",
              [](py::handle value) -> py::object {
                std::string const text = text_argument({"parse", "text"}, value);
                try {
                  auto const found = parse(text);
                  if (auto const* tiler = std::get_if<Tiler>(&found)) return to_python(*tiler);
                  if (auto const* swizzle = std::get_if<Swizzle>(&found)) return py::cast(*swizzle);
                  return py::cast(std::get<ComposedLayout>(found));
                } catch (LayoutError const& error) {
                  throw LayoutError(std::string("text: ") + error.what());
                }
              }),
        py::arg("text"), docs::parse);
  m.def("print_tiler",
        named("notation",
              [](py::handle t) {
                if (PyTuple_Check(t.ptr()) && PyTuple_GET_SIZE(t.ptr()) == 0) return std::string("()");
                return to_string(tiler_argument({"notation", "value"}, t));
              }),
        docs::print_tiler);
}

}  // namespace cute_py::bindings
