#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "bindings/layout_arguments.hpp"
#include "bindings/layout_batches.hpp"
#include "layout/algebra.hpp"
#include "layout/composer.hpp"
#include "layout/steps.hpp"
#include "layout/swizzle.hpp"
#include "layout/text.hpp"

// What the entries of the layout algebra have in common: arguments to values, values to results, names in front of
// errors.
namespace cute_py::bindings {

using namespace layout;

inline std::string prefixed(char const* operation, std::string const& text) {
  std::string const prefix = std::string(operation) + ": ";
  return text.compare(0, prefix.size(), prefix) == 0 ? text : prefix + text;
}

// The function with the operation's name in front of every error that does not begin with it.
template <class F, class R, class C, class... A>
auto named(char const* operation, F f, R (C::*)(A...) const) {
  return [operation, f](A... arguments) -> R {
    try {
      return f(std::forward<A>(arguments)...);
    } catch (LayoutError const& error) {
      throw LayoutError(prefixed(operation, error.what()));
    }
  };
}

template <class F>
auto named(char const* operation, F f) {
  return named(operation, f, &F::operator());
}

inline py::object cast_any(AnyLayout&& any) {
  return std::visit([](auto&& l) { return py::cast(std::forward<decltype(l)>(l)); }, std::move(any));
}

// Of a composed layout, the inner layout is what has modes.
inline Layout const& domain_of(AnyLayout const& any) {
  auto const* plain = std::get_if<Layout>(&any);
  return plain != nullptr ? *plain : std::get<ComposedLayout>(any).inner();
}

inline bool is_layout(py::handle value) { return is_a<Layout>(value) || is_a<ComposedLayout>(value) || is_text(value); }

template <class F>
py::object on_domain(AnyLayout const& any, F f) {
  if (auto const* plain = std::get_if<Layout>(&any)) return py::cast(f(*plain));
  auto const& composed = std::get<ComposedLayout>(any);
  return py::cast(composed.with_inner(f(composed.inner())));
}

// The same for whatever has a layout and a method `with_layout`, such as a tensor.
template <class F>
py::object on_domain(Place place, py::handle value, F f) {
  if (has_layout(value)) return value.attr("with_layout")(on_domain(any_layout_argument(place, value), f));
  return on_domain(any_layout_argument(place, value), f);
}

inline std::vector<int> path_of(char const* operation, py::args const& modes) {
  std::vector<int> path;
  for (auto const mode : modes) path.push_back(small_argument({operation, "a mode"}, mode));
  return path;
}

inline IntTuple at_path(char const* operation, IntTuple const& t, std::vector<int> const& path) {
  IntTuple result = t;
  for (int const mode : path) {
    if (mode < 0 || mode >= result.rank()) {
      throw LayoutError(std::string(operation) + ": there is no mode " + std::to_string(mode) + " in " +
                        to_string(result) + "; next: count them from 0");
    }
    IntTuple next = result[mode];
    result = std::move(next);
  }
  return result;
}

inline IntTuple shape_argument(Place place, py::handle value) {
  if (has_layout(value)) return domain_of(any_layout_argument(place, value)).shape();
  if (is_layout(value)) return domain_of(any_layout_argument(place, value)).shape();
  return int_tuple_argument(place, value);
}

// A shape whose size fits, and one that has elements, too.
inline IntTuple any_extents_argument(Place place, py::handle value, bool has_elements = false) {
  IntTuple shape = shape_argument(place, value);
  try {
    if (has_elements) require_elements(shape);
    Layout const checked(shape);
  } catch (LayoutError const& error) {
    throw LayoutError(std::string(place.operation) + ": " + place.argument + ": " + error.what());
  }
  return shape;
}

inline IntTuple extents_argument(Place place, py::handle value) { return any_extents_argument(place, value, true); }

inline bool has_static(IntTuple const& t) {
  if (!t.is_tuple()) return t.leaf().is_static;
  return std::any_of(t.elements().begin(), t.elements().end(), [](IntTuple const& e) { return has_static(e); });
}

// What comes of arguments with a static integer among them is static where C++ would know it; else it is plain ints.
inline py::object like(IntTuple const& argument, IntTuple const& result) {
  return has_static(argument) ? to_python(result) : to_plain_python(result);
}

// Shape and stride, a shape and LayoutLeft or LayoutRight, or one text.
inline Layout new_layout(char const* operation, py::handle shape, py::handle stride) {
  if (is_a<Layout>(shape) && stride.is_none()) return as<Layout>(shape);
  if (is_text(shape) && stride.is_none()) return layout_argument({operation, "shape"}, shape);
  IntTuple s = int_tuple_argument({operation, "shape"}, shape);
  if (stride.is_none() || is_tag_left(stride)) return Layout(s);
  if (is_tag_right(stride)) {
    IntTuple strides = compact_right(Layout(s).shape());
    return Layout(std::move(s), std::move(strides));
  }
  return Layout(std::move(s), int_tuple_argument({operation, "stride"}, stride));
}

inline std::optional<IntTuple> order_argument(char const* operation, IntTuple const& shape, py::handle order) {
  if (is_tag_left(order)) return std::nullopt;
  if (is_tag_right(order)) {
    // The last mode first.
    std::vector<IntTuple> ranks;
    for (int i = 0; i < shape.rank(); ++i) ranks.emplace_back(fixed(shape.rank() - i));
    return shape.is_tuple() ? IntTuple(std::move(ranks)) : ranks[0];
  }
  return int_tuple_argument({operation, "order"}, order);
}

inline Tiler coordinate_argument(py::args const& coords) {
  return tiler_argument({"layout(coord)", "coord"}, coords.size() == 1 ? py::object(coords[0]) : py::object(coords));
}

// () of a layout of no modes.
inline bool is_only_coordinate(Layout const& l, py::args const& coords) {
  if (l.rank() > 0) return false;
  return coords.empty() || (coords.size() == 1 && is_sequence(coords[0]) && PySequence_Size(coords[0].ptr()) == 0);
}

inline Tiler slicing_argument(char const* operation, py::handle coord) {
  return tiler_argument({operation, "coord"}, coord);
}

// l(coord); an error says which layout and which coordinate.
template <class AnyLayoutType>
py::object value_at(AnyLayoutType const& l, Tiler const& coord) {
  try {
    IntTuple const c = coordinate(coord);
    return like(c, l(c));
  } catch (LayoutError const& error) {
    throw LayoutError("coord " + to_string(coord) + " of " + to_string(l) + ": " + error.what());
  }
}

// The arguments of a call: one is the coordinate, several are its modes.
inline py::handle only_or_all(py::args const& coords) {
  return coords.size() == 1 ? py::handle(PyTuple_GET_ITEM(coords.ptr(), 0)) : py::handle(coords);
}

inline py::object value_or_slice(Layout const& l, py::args const& coords) {
  if (coords.size() == 1 && PyLong_CheckExact(coords[0].ptr()) && !has_basis(l.stride())) {
    std::int64_t const index = integer_argument({"layout(coord)", "coord"}, coords[0]);
    try {
      return py::int_(l(index));
    } catch (LayoutError const& error) {
      throw LayoutError("coord " + std::to_string(index) + " of " + to_string(l) + ": " + error.what());
    }
  }
  if (has_array(coords)) return values_at(l, only_or_all(coords));
  if (is_only_coordinate(l, coords)) return py::int_(0);
  Tiler const coord = coordinate_argument(coords);
  return has_any(coord) ? py::cast(slice(coord, l)) : value_at(l, coord);
}

inline py::object composed_slice(SwizzledSlice&& sliced) {
  return sliced.is_plain ? py::cast(std::move(sliced.plain)) : py::cast(std::move(sliced.composed));
}

inline py::object value_or_slice(ComposedLayout const& l, py::args const& coords) {
  if (has_array(coords)) return values_at(l, only_or_all(coords));
  Tiler const coord = coordinate_argument(coords);
  return has_any(coord) ? composed_slice(slice_and_offset(coord, l)) : value_at(l, coord);
}

inline py::tuple slice_and_offset_of(char const* operation, py::handle coord, py::handle value) {
  Tiler const c = slicing_argument(operation, coord);
  AnyLayout const any = any_layout_argument({operation, "layout"}, value);
  if (auto const* plain = std::get_if<Layout>(&any)) {
    Layout open = slice(c, *plain);
    return py::make_tuple(std::move(open), to_plain_python(slice_offset(c, *plain)));
  }
  SwizzledSlice sliced = slice_and_offset(c, std::get<ComposedLayout>(any));
  py::object const offset = to_plain_python(sliced.offset);
  return py::make_tuple(composed_slice(std::move(sliced)), offset);
}

// L[0, 1] goes down the nesting; with `:` or None it is a slice, as L(:, 1) would be.
inline py::object path_item(Layout const& l, py::handle index) {
  py::list coord;
  bool is_path = true;
  for (py::handle const element : index) {
    bool const is_open = element.is_none() || PySlice_Check(element.ptr());
    if (PySlice_Check(element.ptr()) && !element.equal(py::slice(std::nullopt, std::nullopt, std::nullopt))) {
      throw LayoutError("layout[...]: of a mode there is `:` or a number, not " + std::string(py::str(element)));
    }
    is_path = is_path && !is_open && !is_sequence(element);
    coord.append(is_open ? py::none() : py::reinterpret_borrow<py::object>(element));
  }
  if (!is_path) return value_or_slice(l, py::args(py::tuple(coord)));
  return py::cast(get(l, path_of("layout[mode]", py::args(py::tuple(coord)))));
}

inline py::object mode_item(Layout const& l, py::handle index) {
  if (PyTuple_Check(index.ptr())) return path_item(l, index);
  if (PySlice_Check(index.ptr())) {
    Py_ssize_t begin = 0;
    Py_ssize_t end = 0;
    Py_ssize_t step = 0;
    if (PySlice_Unpack(index.ptr(), &begin, &end, &step) != 0) throw py::error_already_set();
    PySlice_AdjustIndices(l.rank(), &begin, &end, step);
    if (step != 1)
      throw LayoutError("layout[a:b]: a range of modes has the step 1; next: select(layout, 0, 2) picks any modes");
    return py::cast(take(l, static_cast<int>(begin), static_cast<int>(end)));
  }
  int const i = small_argument({"layout[mode]", "mode"}, index);
  int const mode = i < 0 ? i + l.rank() : i;
  if (mode < 0 || mode >= l.rank()) {
    throw py::index_error("layout[mode]: there is no mode " + std::to_string(i) + " in " + to_string(l));
  }
  return py::cast(l[mode]);
}

inline Integer dynamic_or_static(Place place, py::handle value) {
  IntTuple const t = int_tuple_argument(place, value);
  if (t.is_tuple()) throw LayoutError(std::string(place.operation) + ": " + place.argument + " must be an integer");
  return t.leaf();
}

// The coordinate of an index, whose index it is again.
inline IntTuple hier_coord(char const* operation, Layout const& l, py::handle index) {
  IntTuple const i = int_tuple_argument({operation, "index"}, index);
  FlatLayout const f = flat(l);
  bool exists = true;
  for (std::size_t m = 0; m < f.shape.size(); ++m) {
    if (f.stride[m].value == 0 && f.shape[m].value > 1) exists = false;
  }
  IntTuple crd = exists ? idx2crd(i, l.shape(), l.stride()) : i;
  for (auto const& c : leaves(crd)) {
    if (c.value < 0) exists = false;
  }
  if (!exists || l(crd) != i) {
    throw LayoutError(std::string(operation) + ": division by the strides of " + to_string(l) +
                      " finds no coordinate of the index " + to_string(i) +
                      "; next: it does for compact layouts; of others, right_inverse or left_inverse");
  }
  return crd;
}

inline std::size_t hash_of(IntTuple const& t) {
  std::size_t h = t.is_tuple() ? 0x9e3779b97f4a7c15ull + t.rank() : 0;
  auto const mix = [&](std::size_t v) { h = (h ^ v) * 0x100000001b3ull + (h >> 29); };
  if (t.is_tuple()) {
    for (auto const& e : t.elements()) mix(hash_of(e));
  } else {
    mix(static_cast<std::size_t>(t.leaf().value));
    for (int i = 0; i < t.leaf().basis.depth; ++i) mix(t.leaf().basis.mode[i] + 1);
  }
  return h;
}

// Asks Python now and then, in a loop that counts i, whether a signal came whose handler raises, and lets other threads
// have the GIL. It is released less often than CPython's switch interval of 5 ms: a waiting thread asks for the GIL
// only when it has waited so long without a release, and would else starve.
inline void check_signals(std::int64_t i) {
  constexpr std::int64_t kUnchecked = 1 << 16;
  constexpr std::int64_t kTurn = 1 << 19;
  if (i % kUnchecked != kUnchecked - 1) return;
  if (i % kTurn == kTurn - 1) PyEval_RestoreThread(PyEval_SaveThread());
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

// Every value of a layout in the order of its coordinates, for NumPy and for pictures.
inline py::list all_values(AnyLayout const& any, std::int64_t limit) {
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

// c -> outer(offset + inner(c)). A composed layout on either side brings its functions with it.
inline ComposedLayout composed_of(py::handle outer, Integer const& offset, py::handle inner) {
  AnyLayout const last = any_layout_argument({"ComposedLayout", "inner"}, inner);
  Place const place{"ComposedLayout", "outer"};
  std::vector<ComposedLayout::Function> functions;
  std::optional<Swizzle> swizzle;
  if (is_a<Swizzle>(outer)) swizzle = as<Swizzle>(outer);
  if (is_text(outer)) {
    auto const function = function_argument(place, outer);
    if (auto const* found = std::get_if<Swizzle>(&function)) swizzle = *found;
  }
  if (swizzle) {
    functions.emplace_back(*swizzle, offset);
  } else {
    AnyLayout const first = any_layout_argument(place, outer);
    if (auto const* composed = std::get_if<ComposedLayout>(&first)) functions = composed->functions();
    functions.emplace_back(domain_of(first), offset);
  }
  if (auto const* composed = std::get_if<ComposedLayout>(&last)) {
    functions.insert(functions.end(), composed->functions().begin(), composed->functions().end());
  }
  return ComposedLayout(std::move(functions), domain_of(last));
}

// An operation that `record` shows: of a layout, and of a second argument that it reads, which may be None.
struct Recorded {
  char const* name;
  Tiler (*read)(Place, py::handle);
  Layout (*result)(Layout const&, Tiler const&);
  Steps (*steps)(Layout const&, Tiler const&);
};

inline Recorded const& recorded_operation(std::string const& name) {
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
inline py::tuple recorded(std::string const& name, py::handle value, py::handle argument) {
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
inline py::bytes all_indices(AnyLayout const& any) {
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

template <class F>
void def_domain(py::module_& m, char const* name, char const* doc, F f) {
  m.def(name, named(name, [name, f](py::handle l) { return on_domain({name, "layout"}, l, f); }), py::arg("layout"),
        doc);
}

// With an optional profile.
template <class F, class ByProfile>
void def_domain(py::module_& m, char const* name, char const* doc, F f, ByProfile by_profile) {
  m.def(name,
        named(name,
              [name, f, by_profile](py::handle l, py::handle profile) {
                Place const place{name, "layout"};
                if (profile.is_none()) return on_domain(place, l, f);
                IntTuple const p = int_tuple_argument({name, "profile"}, profile);
                return on_domain(place, l, [&](Layout const& inner) { return by_profile(inner, p); });
              }),
        py::arg("layout"), py::arg("profile") = py::none(), doc);
}

template <class F>
void def_tiled(py::module_& m, char const* name, char const* doc, char const* first, F f) {
  m.def(name,
        named(name,
              [name, first, f](py::handle l, py::handle tiler) {
                Tiler const t = tiler_argument({name, "tiler"}, tiler);
                return on_domain({name, first}, l, [&](Layout const& inner) { return f(inner, t); });
              }),
        py::arg(first), py::arg("tiler"), doc);
}

template <class F>
void def_product(py::module_& m, char const* name, char const* doc, F f) {
  m.def(name,
        named(name,
              [name, f](py::handle block, py::handle tiler) {
                Layout const t = layout_argument({name, "tiler"}, tiler);
                return on_domain({name, "block"}, block, [&](Layout const& inner) { return f(inner, t); });
              }),
        py::arg("block"), py::arg("tiler"), doc);
}

inline Tiler elements_argument(char const* operation, py::handle value) {
  return tiler_argument({operation, "tuple"}, value);
}

void register_layout_classes(py::module_& m);
void register_layout_queries(py::module_& m);  // and what makes layouts
void register_layout_modes(py::module_& m);
void register_layout_algebra(py::module_& m);

}  // namespace cute_py::bindings
