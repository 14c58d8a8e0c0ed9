#include <algorithm>
#include <cstring>
#include <type_traits>

#include "bindings/layout_entries.hpp"
#include "layout/steps.hpp"

namespace cute_py::bindings {
namespace {

// Asks Python now and then, in a loop that counts i, whether a signal came whose handler raises, and lets other threads
// have the GIL. It is released less often than CPython's switch interval of 5 ms: a waiting thread asks for the GIL
// only when it has waited so long without a release, and would else starve.
void check_signals(std::int64_t i) {
  constexpr std::int64_t kUnchecked = 1 << 16;
  constexpr std::int64_t kTurn = 1 << 19;
  if (i % kUnchecked != kUnchecked - 1) return;
  if (i % kTurn == kTurn - 1) PyEval_RestoreThread(PyEval_SaveThread());
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

// Every value of a layout in the order of its coordinates, for NumPy and for pictures.
py::list all_values(AnyLayout const& any, std::int64_t limit) {
  std::int64_t const size = std::min(domain_of(any).size().value, limit);
  auto result = py::reinterpret_steal<py::list>(PyList_New(static_cast<Py_ssize_t>(size)));
  if (!result) throw py::error_already_set();
  auto const* plain = std::get_if<Layout>(&any);
  bool const integers = plain != nullptr && !has_basis(plain->stride());
  std::int64_t i = 0;
  try {
    for (; i < size; ++i) {
      check_signals(i);
      if (integers) {
        result[i] = (*plain)(i);
        continue;
      }
      IntTuple const index = dynamic(i);
      result[i] = to_plain_python(std::visit([&](auto const& l) { return l(index); }, any));
    }
  } catch (...) {
    Py_SET_SIZE(result.ptr(), static_cast<Py_ssize_t>(i));  // freeing it would else visit every empty place of the rest
    throw;
  }
  return result;
}

// An operation that `record` shows: of a layout, and of a second argument that it reads, which may be None.
struct Recorded {
  char const* name;
  Tiler (*read)(Place, py::handle);
  Layout (*result)(Layout const&, Tiler const&);
  Steps (*steps)(Layout const&, Tiler const&);
};

Recorded const& recorded_operation(std::string const& name) {
  using L = Layout const&;
  using T = Tiler const&;
  constexpr auto kNothing = +[](Place, py::handle) { return Tiler{}; };
  constexpr auto kTarget = +[](Place place, py::handle value) {
    return value.is_none() ? Tiler{} : Tiler::of(extents_argument(place, value));
  };
  static constexpr Recorded kRecorded[] = {
      {"coalesce", kNothing, [](L l, T) { return coalesce(l); }, [](L l, T) { return coalesce_steps(l); }},
      {"composition", &tiler_argument, &composition, &composition_steps},
      {"complement", kTarget,
       [](L l, T t) { return t.kind == Tiler::Kind::any ? complement(l) : complement(l, coordinate(t)); },
       [](L l, T t) { return t.kind == Tiler::Kind::any ? complement_steps(l) : complement_steps(l, coordinate(t)); }},
      {"right_inverse", kNothing, [](L l, T) { return right_inverse(l); },
       [](L l, T) { return right_inverse_steps(l); }},
      {"left_inverse", kNothing, [](L l, T) { return left_inverse(l); }, [](L l, T) { return left_inverse_steps(l); }},
      {"logical_divide", &tiler_argument, &logical_divide, &logical_divide_steps},
      {"logical_product", &tiler_argument, &logical_product, &logical_product_steps},
  };
  for (auto const& operation : kRecorded) {
    if (operation.name == name) return operation;
  }
  throw LayoutError("record: there is no record of " + name);
}

// The steps of an operation, its result, and the text of the error that stopped it; one of the last two is None.
py::tuple recorded(std::string const& name, py::handle value, py::handle argument) {
  Layout const l = layout_argument({name.c_str(), "layout"}, value);
  py::list steps;
  py::object result = py::none();
  py::object error = py::none();
  try {
    Recorded const& operation = recorded_operation(name);
    Tiler const second = operation.read({operation.name, "the second argument"}, argument);
    for (auto const& step : operation.steps(l, second)) {
      py::dict values;
      for (auto const& [key, v] : step.values) values[key] = to_python(v);
      steps.append(py::make_tuple(step.kind, values));
    }
    result = py::cast(operation.result(l, second));
  } catch (LayoutError const& refused) {
    error = py::str(prefixed(name.c_str(), refused.what()));
  }
  return py::make_tuple(steps, result, error);
}

// The indices of all coordinates, as the bytes of 64-bit integers.
py::bytes all_indices(AnyLayout const& any) {
  std::int64_t const size = domain_of(any).size().value;
  auto const bytes = py::reinterpret_steal<py::bytes>(
      PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(multiply(size, sizeof(std::int64_t)))));
  if (!bytes) throw py::error_already_set();
  char* out = PyBytes_AS_STRING(bytes.ptr());
  auto const* plain = std::get_if<Layout>(&any);
  bool const integers = plain != nullptr && !has_basis(plain->stride());
  for (std::int64_t i = 0; i < size; ++i) {
    std::int64_t index;
    if (integers) {
      index = (*plain)(i);
    } else {
      IntTuple const value = std::visit([&](auto const& l) { return l(IntTuple(dynamic(i))); }, any);
      if (value.is_tuple() || value.leaf().has_basis()) {
        throw LayoutError("the layout gives coordinates, not indices; next: call it with a coordinate");
      }
      index = value.leaf().value;
    }
    std::memcpy(out + i * sizeof(index), &index, sizeof(index));
  }
  return bytes;
}

void register_constructors(py::module_& m) {
  def(m, "make_layout", [](Operation op, py::args const& arguments) {
    if (arguments.empty()) throw LayoutError("make_layout: give a shape, a shape and a stride, or layouts");
    if (is_a<Layout>(arguments[0]) || (is_text(arguments[0]) && arguments.size() > 1)) {
      std::vector<Layout> modes;
      for (auto const mode : arguments) modes.push_back(layout_argument(op("a mode"), mode));
      return make_layout(modes);
    }
    if (arguments.size() > 2) throw LayoutError("make_layout: give a shape, a shape and a stride, or layouts");
    return new_layout(op, arguments[0], arguments.size() == 2 ? py::object(arguments[1]) : py::none());
  });
  def(m, "make_ordered_layout", with("shape"_a, "order"_a), [](Operation op, py::handle shape, py::handle order) {
    IntTuple const s = extents_argument(op("shape"), shape);
    Layout const left(s);
    if (is_tag_right(order)) return Layout(s, compact_right(s));
    auto const o = order_argument(op("order"), s, order);
    return o ? make_ordered_layout(s, *o) : left;
  });
  def(m, "make_layout_like", with("layout"_a),
      [](Operation op, py::handle l) { return make_layout_like(layout_argument(op("layout"), l)); });
  def(m, "make_fragment_like", with("layout"_a),
      [](Operation op, py::handle l) { return make_fragment_like(domain_of(any_layout_argument(op("layout"), l))); });
  def(m, "make_identity_layout", with("shape"_a),
      [](Operation op, py::handle shape) { return make_identity_layout(extents_argument(op("shape"), shape)); });
  def(m, "make_composed_layout", with("outer"_a, "offset"_a, "inner"_a),
      [](py::object outer, py::object offset, py::object inner) {
        return py::type::of<ComposedLayout>()(outer, offset, inner);
      });
}

// What has a size: of a tiled MMA or copy, its threads.
IntTuple sized_argument(Place place, py::handle value) {
  bool const is_plain = PyTuple_Check(value.ptr()) || PyLong_Check(value.ptr()) || is_layout(value);
  if (is_plain || PyObject_HasAttrString(value.ptr(), "get_slice") != 1) return any_extents_argument(place, value);
  return any_extents_argument(place, value.attr("size"));
}

// name(x, *modes) of a shape, a layout or one of its modes.
template <class OfShape>
void def_query(py::module_& m, char const* name, OfShape of, IntTuple (*read)(Place, py::handle) = &shape_argument) {
  def(m, name, [of, read](Operation op, py::handle value, py::args const& modes) {
    IntTuple const whole = read(op("the first argument"), value);
    return of(modes.empty() ? whole : at_path(op, whole, path_of(op, modes)));
  });
}

// f of two tuples or shapes of layouts: another one, or whether something holds.
template <class Result>
void def_pair(py::module_& m, char const* name, Result (*f)(IntTuple const&, IntTuple const&)) {
  def(m, name, with("a"_a, "b"_a), [f](Operation op, py::handle a, py::handle b) {
    Result const result = f(shape_argument(op("a"), a), shape_argument(op("b"), b));
    if constexpr (std::is_same_v<Result, bool>) {
      return result;
    } else {
      return to_python(result);
    }
  });
}

// f of one tuple.
void def_fold(py::module_& m, char const* name, Integer (*f)(IntTuple const&)) {
  def(m, name, with("t"_a), [f](Operation op, py::handle t) { return to_python(f(shape_argument(op("t"), t))); });
}

// The strides of a compact layout that begin with `first`.
void def_compact(py::module_& m, char const* name, IntTuple (*f)(IntTuple const&, Integer const&)) {
  def(m, name, with("shape"_a, "first"_a = py::none()), [f](Operation op, py::handle shape, py::handle first) {
    IntTuple const s = any_extents_argument(op("shape"), shape);
    return to_python(f(s, first.is_none() ? fixed(1) : dynamic_or_static(op("first"), first)));
  });
}

void register_tuple_functions(py::module_& m) {
  def_pair(m, "shape_div", &shape_div);
  def_pair(m, "round_up", &round_up);
  def_pair(m, "evenly_divides", &evenly_divides);
  def_pair(m, "elem_scale", &elem_scale);
  def_pair(m, "inner_product", &inner_product);
  def_pair(m, "colex_less", &colex_less);
  def_pair(m, "lex_less", &lex_less);
  def_pair(m, "congruent", &congruent);
  def_pair(m, "weakly_congruent", &weakly_congruent);
  def_fold(m, "product", &product);
  def_fold(m, "tuple_max", &greatest);
  def_fold(m, "tuple_sum", &sum);
  def_fold(m, "tuple_gcd", &gcd);
  def_compact(m, "compact_col_major", &compact_left);
  def_compact(m, "compact_row_major", &compact_right);
  def(m, "make_basis_like", with("shape"_a),
      [](Operation op, py::handle shape) { return to_python(basis_like(shape_argument(op("shape"), shape))); });
  def(m, "repeat_like", with("t"_a, "value"_a), [](Operation op, py::handle t, py::handle value) {
    return to_python(repeat_like(shape_argument(op("t"), t), dynamic_or_static(op("value"), value)));
  });
  def(m, "product_like", with("t"_a, "profile"_a), [](Operation op, py::handle t, py::handle profile) {
    return to_python(product_like(shape_argument(op("t"), t), shape_argument(op("profile"), profile)));
  });
}

}  // namespace

void register_layout_queries(py::module_& m) {
  register_constructors(m);
  register_tuple_functions(m);
  def_query(m, "rank", [](IntTuple const& t) { return t.rank(); });
  def_query(m, "depth", [](IntTuple const& t) { return t.depth(); });
  def_query(m, "size", [](IntTuple const& t) { return to_python(product(t)); }, &sized_argument);
  def_query(m, "shape", [](IntTuple const& t) { return to_python(t); });
  def(m, "stride", [](Operation op, py::handle value, py::args const& modes) {
    IntTuple const whole = layout_argument(op("layout"), value).stride();
    return to_python(at_path(op, whole, path_of(op, modes)));
  });
  def(m, "cosize", [](Operation op, py::handle value, py::args const& modes) {
    Layout const l = domain_of(any_layout_argument(op("layout"), value));
    return to_python(cosize(get(l, path_of(op, modes))));
  });
  def(m, "coshape", [](Operation op, py::handle value, py::args const& modes) {
    Layout const l = domain_of(any_layout_argument(op("layout"), value));
    return to_python(coshape(get(l, path_of(op, modes))));
  });
  def(m, "compatible", with("a"_a, "b"_a), [](Operation op, py::handle a, py::handle b) {
    Layout const first(extents_argument(op("a"), a));
    Layout const second(extents_argument(op("b"), b));
    return compatible(first.shape(), second.shape());
  });
  def(m, "ceil_div", with("a"_a, "b"_a), [](Operation op, py::handle a, py::handle b) {
    return to_python(ceil_div(shape_argument(op("a"), a), int_tuple_argument(op("b"), b)));
  });
  def(m, "product_each", with("shape"_a),
      [](Operation op, py::handle a) { return to_python(product_each(shape_argument(op("shape"), a))); });
  def(m, "crd2idx", with("coord"_a, "shape"_a, "stride"_a = py::none()),
      [](Operation op, py::handle coord, py::handle shape, py::handle stride) {
        bool const of_layout = is_layout(shape);
        if (of_layout && !stride.is_none())
          throw LayoutError("stride goes with a shape; the layout has its own; next: leave it out");
        if (has_array(coord)) {
          if (of_layout) {
            return std::visit([&](auto const& l) { return values_at(l, coord); },
                              any_layout_argument(op("shape"), shape));
          }
          IntTuple const s = extents_argument(op("shape"), shape);
          return values_at(stride.is_none() ? Layout(s) : Layout(s, int_tuple_argument(op("stride"), stride)), coord);
        }
        IntTuple const c = int_tuple_argument(op("coord"), coord);
        if (of_layout) {
          return like(c, std::visit([&](auto const& l) { return l(c); }, any_layout_argument(op("shape"), shape)));
        }
        IntTuple const s = extents_argument(op("shape"), shape);
        if (stride.is_none()) return like(c, crd2idx(c, s));
        return like(c, Layout(s, int_tuple_argument(op("stride"), stride))(c));
      });
  def(m, "idx2crd", with("index"_a, "shape"_a, "stride"_a = py::none()),
      [](Operation op, py::handle index, py::handle shape, py::handle stride) {
        IntTuple const s = extents_argument(op("shape"), shape);
        if (has_array(index)) {
          return coordinates_at(
              index, s, stride.is_none() ? std::nullopt : std::optional(int_tuple_argument(op("stride"), stride)));
        }
        IntTuple const i = int_tuple_argument(op("index"), index);
        if (stride.is_none()) return like(i, idx2crd(i, s));
        return like(i, idx2crd(i, s, int_tuple_argument(op("stride"), stride)));
      });
  def(m, "crd2crd", with("coord"_a, "src_shape"_a, "dst_shape"_a),
      [](Operation op, py::handle coord, py::handle from, py::handle to) {
        IntTuple const src = extents_argument(op("src_shape"), from);
        IntTuple const dst = extents_argument(op("dst_shape"), to);
        IntTuple const c = int_tuple_argument(op("coord"), coord);
        return like(c, crd2crd(c, src, dst));
      });
  def(m, "elem_less", with("a"_a, "b"_a), [](Operation op, py::handle a, py::handle b) {
    return elem_less(int_tuple_argument(op("a"), a), shape_argument(op("b"), b));
  });
  def(m, "layout_indices",
      [](Operation op, py::handle value) { return all_indices(any_layout_argument(op("layout"), value)); });
  m.def(
      "record",
      [](py::handle operation, py::handle value, py::handle argument) {
        return recorded(text_argument({"record", "operation"}, operation), value, argument);
      },
      py::arg("operation"), py::arg("layout"), py::arg("argument") = py::none());
  def(m, "layout_values", with("layout"_a, "limit"_a = py::none()),
      [](Operation op, py::handle value, py::handle limit) {
        AnyLayout const any = any_layout_argument(op("layout"), value);
        std::int64_t const most = limit.is_none() ? domain_of(any).size().value : integer_argument(op("limit"), limit);
        if (most < 0) throw LayoutError("limit must be 0 or more, not " + std::to_string(most));
        return all_values(any, most);
      });
}

}  // namespace cute_py::bindings
