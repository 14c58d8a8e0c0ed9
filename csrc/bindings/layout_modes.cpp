#include "bindings/layout_entries.hpp"

namespace cute_py::bindings {
namespace {

py::tuple slice_and_offset_of(Operation op, py::handle coord, py::handle value) {
  Tiler const c = tiler_argument(op("coord"), coord);
  AnyLayout const any = any_layout_argument(op("layout"), value);
  if (auto const* plain = std::get_if<Layout>(&any)) {
    Layout open = slice(c, *plain);
    return py::make_tuple(std::move(open), to_plain_python(slice_offset(c, *plain)));
  }
  SwizzledSlice sliced = slice_and_offset(c, std::get<ComposedLayout>(any));
  py::object const offset = to_plain_python(sliced.offset);
  return py::make_tuple(composed_slice(std::move(sliced)), offset);
}

// append(tuple, element) and append(layout, mode): one more, as CuTe's functions of that name without a rank.
py::object appended_one(Operation op, py::handle l, py::handle element,
                        Tiler (*of_tuple)(Tiler const&, int, Tiler const&),
                        Layout (*of_layout)(Layout const&, int, Layout const&)) {
  if (is_sequence(l)) {
    Tiler const t = tiler_argument(op("tuple"), l);
    return to_python(of_tuple(t, t.rank() + 1, tiler_argument(op("element"), element)));
  }
  Layout const mode = layout_argument(op("mode"), element);
  return on_domain(op("layout"), l, [&](Layout const& inner) { return of_layout(inner, inner.rank() + 1, mode); });
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
  def(m, "get", [](Operation op, py::handle l, py::args const& modes) {
    auto const path = path_of(op, modes);
    if (is_sequence(l)) return of_tuple(tiler_argument(op("tuple"), l), path);
    if (!is_layout(l) && !has_layout(l)) return to_python(at_path(op, int_tuple_argument(op("tuple"), l), path));
    return on_domain(op("layout"), l, [&](Layout const& inner) { return get(inner, path); });
  });
  def(m, "select", [](Operation op, py::handle l, py::args const& modes) {
    auto const path = path_of(op, modes);
    if (is_sequence(l)) return to_python(select(tiler_argument(op("tuple"), l), path));
    return on_domain(op("layout"), l, [&](Layout const& inner) { return select(inner, path); });
  });
  auto const def_range = [&](char const* name, Layout (*f)(Layout const&, int, int),
                             Tiler (*of_tuple)(Tiler const&, int, int)) {
    def(m, name, with("layout"_a, "begin"_a, "end"_a),
        [f, of_tuple](Operation op, py::handle l, py::handle begin, py::handle end) {
          int const b = small_argument(op("begin"), begin);
          int const e = small_argument(op("end"), end);
          if (is_sequence(l)) return to_python(of_tuple(tiler_argument(op("tuple"), l), b, e));
          return on_domain(op("layout"), l, [&](Layout const& inner) { return f(inner, b, e); });
        });
  };
  def_range("take", &take, &take);
  def_range("group", &group, &group);
  auto const def_extend = [&](char const* name, Layout (*f)(Layout const&, int, Layout const&),
                              Tiler (*of_tuple)(Tiler const&, int, Tiler const&)) {
    def(m, name, with("layout"_a, "rank"_a, "mode"_a = py::none()),
        [f, of_tuple](Operation op, py::handle l, py::handle rank, py::handle mode) {
          if (mode.is_none() && (is_sequence(l) || is_a<Layout>(rank))) return appended_one(op, l, rank, of_tuple, f);
          int const r = small_argument(op("rank"), rank);
          if (r < 1 || r > 255)
            throw LayoutError(std::string(op.name) + ": rank is 1 to 255, not " + std::to_string(r));
          if (is_sequence(l)) {
            return to_python(of_tuple(tiler_argument(op("tuple"), l), r, tiler_argument(op("mode"), mode)));
          }
          Layout const x = mode.is_none() ? Layout() : layout_argument(op("mode"), mode);
          return on_domain(op("layout"), l, [&](Layout const& inner) { return f(inner, r, x); });
        });
  };
  def_extend("append", &append, &append);
  def_extend("prepend", &prepend, &prepend);
  def(m, "replace", with("layout"_a, "at"_a, "mode"_a), [](Operation op, py::handle l, py::handle at, py::handle mode) {
    int const i = small_argument(op("at"), at);
    if (is_sequence(l)) {
      return to_python(replace(tiler_argument(op("tuple"), l), i, tiler_argument(op("mode"), mode)));
    }
    Layout const x = layout_argument(op("mode"), mode);
    return on_domain(op("layout"), l, [&](Layout const& inner) { return replace(inner, i, x); });
  });
  def(m, "flatten", with("layout"_a), [](Operation op, py::handle l) {
    if (!is_layout(l) && !has_layout(l)) return to_python(flatten(int_tuple_argument(op("tuple"), l)));
    return on_domain(op("layout"), l, [](Layout const& inner) { return flatten(inner); });
  });
  def(m, "unflatten", with("layout"_a, "profile"_a), [](Operation op, py::handle l, py::handle profile) {
    IntTuple const p = shape_argument(op("profile"), profile);
    if (is_sequence(l)) return to_python(unflatten(leaves(int_tuple_argument(op("tuple"), l)), p));
    return on_domain(op("layout"), l, [&](Layout const& inner) { return unflatten(inner, p); });
  });
  def(m, "zip", with("layout"_a, "other"_a = py::none()), [](Operation op, py::handle a, py::handle b) {
    if (is_sequence(a)) {
      IntTuple const t = int_tuple_argument(op("tuple"), a);
      IntTuple const both = b.is_none() ? t : IntTuple(std::vector<IntTuple>{t, int_tuple_argument(op("b"), b)});
      return to_python(zip(both));
    }
    if (b.is_none()) return py::object(py::cast(zip(layout_argument(op("layout"), a))));
    return py::object(py::cast(zip(layout_argument(op("a"), a), layout_argument(op("b"), b))));
  });
  def(m, "slice_", with("coord"_a, "layout"_a), [](Operation op, py::handle coord, py::handle l) -> py::object {
    if (is_sequence(l)) return to_python(slice(tiler_argument(op("coord"), coord), tiler_argument(op("tuple"), l)));
    if (has_layout(l)) return py::object(l[coord]);
    return slice_and_offset_of(op, coord, l)[0];
  });
  def(m, "slice_and_offset", with("coord"_a, "layout"_a),
      [](Operation op, py::handle coord, py::handle l) { return slice_and_offset_of(op, coord, l); });
  def(m, "dice", with("coord"_a, "value"_a), [](Operation op, py::handle coord, py::handle value) -> py::object {
    Tiler const c = tiler_argument(op("coord"), coord);
    if (is_a<Layout>(value)) return py::cast(dice(c, as<Layout>(value)));
    if (is_text(value)) return py::cast(dice(c, layout_argument(op("value"), value)));
    return to_python(dice(c, tiler_argument(op("value"), value)));
  });
  def(m, "parse", with("text"_a), [](Operation op, py::handle value) -> py::object {
    std::string const text = text_argument(op("text"), value);
    try {
      auto const found = parse(text);
      if (auto const* tiler = std::get_if<Tiler>(&found)) return to_python(*tiler);
      if (auto const* swizzle = std::get_if<Swizzle>(&found)) return py::cast(*swizzle);
      return py::cast(std::get<ComposedLayout>(found));
    } catch (LayoutError const& error) {
      throw LayoutError(std::string("text: ") + error.what());
    }
  });
  m.def("print_tiler", named("notation", [](py::handle t) {
          if (PyTuple_Check(t.ptr()) && PyTuple_GET_SIZE(t.ptr()) == 0) return std::string("()");
          return to_string(tiler_argument({"notation", "value"}, t));
        }));
}

}  // namespace cute_py::bindings
