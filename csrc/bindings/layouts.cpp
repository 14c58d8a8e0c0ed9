#include "bindings/layouts.hpp"

#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "base/errors.hpp"
#include "bindings/layout_arguments.hpp"
#include "bindings/layout_docs.hpp"
#include "layout/algebra.hpp"
#include "layout/composer.hpp"
#include "layout/swizzle.hpp"
#include "layout/text.hpp"

namespace cute_py::bindings {
namespace {

using namespace layout;

std::string prefixed(char const* operation, std::string const& text) {
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

py::object cast_any(AnyLayout&& any) {
  return std::visit([](auto&& l) { return py::cast(std::forward<decltype(l)>(l)); }, std::move(any));
}

// Of a composed layout, the inner layout is what has modes.
Layout const& domain_of(AnyLayout const& any) {
  auto const* plain = std::get_if<Layout>(&any);
  return plain != nullptr ? *plain : std::get<ComposedLayout>(any).inner();
}

bool has_layout(py::handle value) {
  if (is_a<Layout>(value) || PyTuple_Check(value.ptr()) || PyLong_Check(value.ptr()) || is_text(value)) return false;
  static PyObject* const name = PyUnicode_InternFromString("with_layout");
  return PyObject_HasAttr(value.ptr(), name) == 1;
}

template <class F>
py::object on_domain(AnyLayout const& any, F f) {
  if (auto const* plain = std::get_if<Layout>(&any)) return py::cast(f(*plain));
  auto const& composed = std::get<ComposedLayout>(any);
  return py::cast(composed.with_inner(f(composed.inner())));
}

// The same for whatever has a layout and a method `with_layout`, such as a tensor.
template <class F>
py::object on_domain(Place place, py::handle value, F f) {
  if (has_layout(value)) return value.attr("with_layout")(on_domain(place, value.attr("layout"), f));
  return on_domain(any_layout_argument(place, value), f);
}

std::vector<int> path_of(char const* operation, py::args const& modes) {
  std::vector<int> path;
  for (auto const mode : modes) path.push_back(small_argument({operation, "a mode"}, mode));
  return path;
}

IntTuple at_path(char const* operation, IntTuple const& t, std::vector<int> const& path) {
  IntTuple result = t;
  for (int const mode : path) {
    if (mode < 0 || mode >= result.rank()) {
      throw LayoutError(std::string(operation) + ": there is no mode " + std::to_string(mode) + " in " +
                        to_string(result));
    }
    IntTuple next = result[mode];
    result = std::move(next);
  }
  return result;
}

bool is_layout(py::handle value) { return is_a<Layout>(value) || is_a<ComposedLayout>(value) || is_text(value); }

IntTuple shape_argument(Place place, py::handle value) {
  if (has_layout(value)) return shape_argument(place, value.attr("layout"));
  if (is_layout(value)) return domain_of(any_layout_argument(place, value)).shape();
  return int_tuple_argument(place, value);
}

// A shape whose extents are 1 or more and whose size fits.
IntTuple extents_argument(Place place, py::handle value) {
  IntTuple shape = shape_argument(place, value);
  try {
    Layout const checked(shape);
  } catch (LayoutError const& error) {
    throw LayoutError(std::string(place.operation) + ": " + place.argument + ": " + error.what());
  }
  return shape;
}

// Shape and stride, a shape and LayoutLeft or LayoutRight, or one text.
Layout new_layout(char const* operation, py::handle shape, py::handle stride) {
  if (is_a<Layout>(shape) && stride.is_none()) return shape.cast<Layout const&>();
  if (is_text(shape) && stride.is_none()) return layout_argument({operation, "shape"}, shape);
  IntTuple s = int_tuple_argument({operation, "shape"}, shape);
  if (stride.is_none() || is_tag_left(stride)) return Layout(s);
  if (is_tag_right(stride)) {
    IntTuple strides = compact_right(Layout(s).shape());
    return Layout(std::move(s), std::move(strides));
  }
  return Layout(std::move(s), int_tuple_argument({operation, "stride"}, stride));
}

std::optional<IntTuple> order_argument(char const* operation, IntTuple const& shape, py::handle order) {
  if (is_tag_left(order)) return std::nullopt;
  if (is_tag_right(order)) {
    // The last mode first.
    std::vector<IntTuple> ranks;
    for (int i = 0; i < shape.rank(); ++i) ranks.emplace_back(fixed(shape.rank() - i));
    return shape.is_tuple() ? IntTuple(std::move(ranks)) : ranks[0];
  }
  return int_tuple_argument({operation, "order"}, order);
}

Tiler coordinate_argument(py::args const& coords) {
  return tiler_argument({"layout(coord)", "coord"}, coords.size() == 1 ? py::object(coords[0]) : py::object(coords));
}

Tiler slicing_argument(char const* operation, py::handle coord) { return tiler_argument({operation, "coord"}, coord); }

// l(coord); an error says which layout and which coordinate.
template <class AnyLayoutType>
py::object value_at(AnyLayoutType const& l, Tiler const& coord) {
  try {
    return to_plain_python(l(coordinate(coord)));
  } catch (LayoutError const& error) {
    throw LayoutError("coord " + to_string(coord) + " of " + to_string(l) + ": " + error.what());
  }
}

py::object value_or_slice(Layout const& l, py::args const& coords) {
  if (coords.size() == 1 && PyLong_CheckExact(coords[0].ptr()) && !has_basis(l.stride())) {
    std::int64_t const index = integer_argument({"layout(coord)", "coord"}, coords[0]);
    try {
      return py::int_(l(index));
    } catch (LayoutError const& error) {
      throw LayoutError("coord " + std::to_string(index) + " of " + to_string(l) + ": " + error.what());
    }
  }
  Tiler const coord = coordinate_argument(coords);
  return has_any(coord) ? py::cast(slice(coord, l)) : value_at(l, coord);
}

py::object composed_slice(SwizzledSlice&& sliced) {
  return sliced.is_plain ? py::cast(std::move(sliced.plain)) : py::cast(std::move(sliced.composed));
}

py::object value_or_slice(ComposedLayout const& l, py::args const& coords) {
  Tiler const coord = coordinate_argument(coords);
  return has_any(coord) ? composed_slice(slice_and_offset(coord, l)) : value_at(l, coord);
}

py::tuple slice_and_offset_of(char const* operation, py::handle coord, py::handle value) {
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

py::object mode_item(Layout const& l, py::handle index) {
  if (PySlice_Check(index.ptr())) {
    Py_ssize_t begin = 0;
    Py_ssize_t end = 0;
    Py_ssize_t step = 0;
    if (PySlice_Unpack(index.ptr(), &begin, &end, &step) != 0) throw py::error_already_set();
    PySlice_AdjustIndices(l.rank(), &begin, &end, step);
    if (step != 1) throw LayoutError("layout[a:b]: a range of modes has the step 1");
    return py::cast(take(l, static_cast<int>(begin), static_cast<int>(end)));
  }
  int const i = small_argument({"layout[mode]", "mode"}, index);
  int const mode = i < 0 ? i + l.rank() : i;
  if (mode < 0 || mode >= l.rank()) {
    throw py::index_error("layout[mode]: there is no mode " + std::to_string(i) + " in " + to_string(l));
  }
  return py::cast(l[mode]);
}

Integer dynamic_or_static(Place place, py::handle value) {
  IntTuple const t = int_tuple_argument(place, value);
  if (t.is_tuple()) throw LayoutError(std::string(place.operation) + ": " + place.argument + " must be an integer");
  return t.leaf();
}

// The coordinate of an index, whose index it is again.
IntTuple hier_coord(char const* operation, Layout const& l, py::handle index) {
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
    throw LayoutError(std::string(operation) + ": no coordinate of " + to_string(l) + " has the index " + to_string(i));
  }
  return crd;
}

std::size_t hash_of(IntTuple const& t) {
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

// Every index of a layout in the order of its coordinates, for NumPy and for pictures.
py::list all_values(AnyLayout const& any, std::int64_t limit) {
  std::int64_t const size = std::min(domain_of(any).size().value, limit);
  py::list result(size);
  auto const* plain = std::get_if<Layout>(&any);
  bool const integers = plain != nullptr && !has_basis(plain->stride());
  for (std::int64_t i = 0; i < size; ++i) {
    if (integers) {
      result[i] = (*plain)(i);
      continue;
    }
    IntTuple const index = dynamic(i);
    result[i] = to_plain_python(std::visit([&](auto const& l) { return l(index); }, any));
  }
  return result;
}

// c -> outer(offset + inner(c)). A composed layout on either side brings its functions with it.
ComposedLayout composed_of(py::handle outer, Integer const& offset, py::handle inner) {
  AnyLayout const last = any_layout_argument({"ComposedLayout", "inner"}, inner);
  std::vector<ComposedLayout::Function> functions;
  if (is_a<Swizzle>(outer)) {
    functions.emplace_back(outer.cast<Swizzle const&>(), offset);
  } else {
    AnyLayout const first = any_layout_argument({"ComposedLayout", "outer"}, outer);
    if (auto const* composed = std::get_if<ComposedLayout>(&first)) functions = composed->functions();
    functions.emplace_back(domain_of(first), offset);
  }
  if (auto const* composed = std::get_if<ComposedLayout>(&last)) {
    functions.insert(functions.end(), composed->functions().begin(), composed->functions().end());
  }
  return ComposedLayout(std::move(functions), domain_of(last));
}

// The steps of an operation, its result, and the text of the error that stopped it; one of the last two is None.
py::tuple recorded(std::string_view operation, py::handle value, py::handle argument) {
  std::string const name(operation);
  Place const second{name.c_str(), "the second argument"};
  Layout const l = layout_argument({name.c_str(), "layout"}, value);
  Record record;
  py::object result = py::none();
  py::object error = py::none();
  try {
    if (operation == "coalesce") {
      result = py::cast(coalesce(l, &record));
    } else if (operation == "composition") {
      result = py::cast(composition(l, tiler_argument(second, argument), &record));
    } else if (operation == "complement" && argument.is_none()) {
      result = py::cast(complement(l, &record));
    } else if (operation == "complement") {
      result = py::cast(complement(l, extents_argument(second, argument), &record));
    } else if (operation == "logical_divide") {
      result = py::cast(logical_divide(l, tiler_argument(second, argument), &record));
    } else if (operation == "logical_product") {
      result = py::cast(logical_product(l, tiler_argument(second, argument), &record));
    } else {
      throw LayoutError("record: there is no record of " + name);
    }
  } catch (LayoutError const& refused) {
    error = py::str(prefixed(name.c_str(), refused.what()));
  }
  py::list steps;
  for (auto const& step : record) {
    py::dict values;
    for (auto const& [key, v] : step.values) values[key] = to_python(v);
    steps.append(py::make_tuple(step.kind, values));
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

void register_classes(py::module_& m) {
  py::class_<Integer>(
      m, "ScaledBasis",
      "A step along one mode of a coordinate, CuTe's ScaledBasis: value and the path of the mode, outermost "
      "first. ``2 * E(0)`` prints as ``2@0``.")
      .def(py::init(named("ScaledBasis",
                          [](py::handle value, py::args const& modes) {
                            IntTuple const v = int_tuple_argument({"ScaledBasis", "value"}, value);
                            if (v.is_tuple() || v.leaf().has_basis())
                              throw LayoutError("ScaledBasis: value must be an integer");
                            Integer result = v.leaf();
                            if (modes.empty() || modes.size() > Basis::kMaxDepth) {
                              throw LayoutError("ScaledBasis: give 1 to " + std::to_string(Basis::kMaxDepth) +
                                                " modes, not " + std::to_string(modes.size()));
                            }
                            for (auto const mode : modes) {
                              int const i = small_argument({"ScaledBasis", "a mode"}, mode);
                              if (i < 0 || i > 255)
                                throw LayoutError("ScaledBasis: a mode is 0 to 255, not " + std::to_string(i));
                              result.basis.mode[result.basis.depth++] = static_cast<std::uint8_t>(i);
                            }
                            return result;
                          })),
           py::arg("value"))
      .def_property_readonly("value", [](Integer const& i) { return to_python(Integer{i.value, {}, i.is_static}); })
      .def_property_readonly("modes",
                             [](Integer const& i) {
                               py::tuple modes(i.basis.depth);
                               for (int l = 0; l < i.basis.depth; ++l) modes[l] = int{i.basis.mode[l]};
                               return modes;
                             })
      .def("__mul__",
           named("ScaledBasis * n",
                 [](Integer const& a, py::handle b) { return a * dynamic_or_static({"ScaledBasis * n", "n"}, b); }))
      .def("__rmul__",
           named("n * ScaledBasis",
                 [](Integer const& a, py::handle b) { return dynamic_or_static({"n * ScaledBasis", "n"}, b) * a; }))
      .def("__eq__", [](Integer const& a, py::handle b) { return is_a<Integer>(b) && a == b.cast<Integer>(); })
      .def("__hash__", [](Integer const& a) { return hash_of(IntTuple(a)); })
      .def("__str__", [](Integer const& i) { return to_string(i); })
      .def("__repr__",
           [](Integer const& i) {
             std::string text = "ScaledBasis(" + std::string(py::repr(to_python(Integer{i.value, {}, i.is_static})));
             for (int l = 0; l < i.basis.depth; ++l) text += ", " + std::to_string(i.basis.mode[l]);
             return text + ")";
           })
      .def("__reduce__", [](py::object self) {
        py::list arguments;
        arguments.append(self.attr("value"));
        for (auto const mode : self.attr("modes")) arguments.append(mode);
        return py::make_tuple(py::type::of(self), py::tuple(arguments));
      });

  py::class_<Swizzle>(m, "Swizzle",
                      "CuTe's ``Swizzle<bits, base, shift>``: ``i -> i ^ ((i & yyy) >> shift)``, an involution on "
                      "indices.")
      .def(py::init(named("Swizzle",
                          [](py::handle bits, py::handle base, py::handle shift) {
                            if (is_text(bits) && base.is_none())
                              return parse_swizzle(text_argument({"Swizzle", "bits"}, bits));
                            int const b = small_argument({"Swizzle", "bits"}, bits);
                            return Swizzle(b, small_argument({"Swizzle", "base"}, base),
                                           shift.is_none() ? b : small_argument({"Swizzle", "shift"}, shift));
                          })),
           py::arg("bits"), py::arg("base") = py::none(), py::arg("shift") = py::none())
      .def_property_readonly("bits", &Swizzle::bits)
      .def_property_readonly("base", &Swizzle::base)
      .def_property_readonly("shift", &Swizzle::shift)
      .def("__call__", named("swizzle(index)",
                             [](Swizzle const& s, py::handle index) {
                               return s(integer_argument({"swizzle(index)", "index"}, index));
                             }))
      .def("__eq__", [](Swizzle const& a, py::handle b) { return is_a<Swizzle>(b) && a == b.cast<Swizzle>(); })
      .def("__hash__",
           [](Swizzle const& s) { return py::hash(py::make_tuple("Swizzle", s.bits(), s.base(), s.shift())); })
      .def(
          "to_cpp", [](Swizzle const& s) { return to_cpp(s); }, "The C++ type.")
      .def("__str__", [](Swizzle const& s) { return to_string(s); })
      .def("__repr__",
           [](Swizzle const& s) {
             return "Swizzle(" + std::to_string(s.bits()) + ", " + std::to_string(s.base()) + ", " +
                    std::to_string(s.shift()) + ")";
           })
      .def("__reduce__", [](py::object self) {
        return py::make_tuple(py::type::of(self),
                              py::make_tuple(self.attr("bits"), self.attr("base"), self.attr("shift")));
      });

  py::class_<Layout>(
      m, "Layout",
      "A function from coordinates to indices, CuTe's ``Layout<Shape, Stride>`` with run-time integers.\n\n"
      "``Layout(shape)`` is column-major, ``Layout(shape, stride)`` takes strides of the same nesting, "
      "``Layout(shape, LayoutRight)`` is row-major, ``Layout(\"(_128,_8):(_1,_128)\")`` reads what CuTe "
      "prints. Python ints are dynamic, `Int` is static. Extents are 1 or more; LayoutError otherwise.")
      .def(py::init(named("Layout",
                          [](py::handle shape, py::handle stride) { return new_layout("Layout", shape, stride); })),
           py::arg("shape"), py::arg("stride") = py::none())
      .def_property_readonly("shape", [](Layout const& l) { return to_python(l.shape()); })
      .def_property_readonly("stride", [](Layout const& l) { return to_python(l.stride()); })
      .def_property_readonly("rank", &Layout::rank)
      .def_property_readonly("depth", &Layout::depth)
      .def_property_readonly("size", [](Layout const& l) { return l.size().value; })
      .def_property_readonly("cosize", named("cosize", [](Layout const& l) { return cosize(l).value; }))
      .def("__call__",
           named("layout(coord)", [](Layout const& l, py::args const& coords) { return value_or_slice(l, coords); }))
      .def("__getitem__", [](Layout const& l, py::handle index) { return mode_item(l, index); })
      .def("__len__", &Layout::rank)
      .def("__eq__", [](Layout const& a, py::handle b) { return is_a<Layout>(b) && a == b.cast<Layout const&>(); })
      .def("__hash__", [](Layout const& l) { return hash_of(l.shape()) * 31 + hash_of(l.stride()); })
      .def("__str__", [](Layout const& l) { return to_string(l); })
      .def("__repr__", [](Layout const& l) { return "Layout(\"" + to_string(l) + "\")"; })
      .def("__reduce__",
           [](py::object self) { return py::make_tuple(py::type::of(self), py::make_tuple(py::str(self))); })
      .def(
          "to_cpp", [](Layout const& l) { return to_cpp(l); },
          "The C++ type; a dynamic integer is an ``int``, or an ``int64_t`` where it needs one.")
      .def("compose",
           named("compose",
                 [](Layout const& l, py::args const& tilers) {
                   return composition(l, tiler_argument({"compose", "B"}, tilers.size() == 1 ? py::object(tilers[0])
                                                                                             : py::object(tilers)));
                 }),
           "``composition(self, B)``; several arguments act by modes.")
      .def("with_shape",
           named("with_shape",
                 [](Layout const& l, py::args const& shape) {
                   return composition(
                       l, Layout(extents_argument({"with_shape", "shape"},
                                                  shape.size() == 1 ? py::object(shape[0]) : py::object(shape))));
                 }),
           "The same function on another shape, ``composition(self, Layout(shape))``.")
      .def("get_hier_coord",
           named("get_hier_coord",
                 [](Layout const& l, py::handle index) {
                   return to_plain_python(hier_coord("get_hier_coord", l, index));
                 }),
           "The coordinate, nested like the shape, whose index this is. Requires a compact layout.")
      .def("get_flat_coord",
           named("get_flat_coord",
                 [](Layout const& l, py::handle index) {
                   IntTuple const crd = hier_coord("get_flat_coord", l, index);
                   IntTuple const ones = l.shape().is_tuple()
                                             ? IntTuple(std::vector<IntTuple>(l.rank(), IntTuple(fixed(1))))
                                             : IntTuple(fixed(1));
                   return to_plain_python(crd2crd(crd, l.shape(), ones));
                 }),
           "The same, with one integer for each mode.")
      .def("get_1d_coord",
           named("get_1d_coord",
                 [](Layout const& l, py::handle index) {
                   IntTuple const crd = hier_coord("get_1d_coord", l, index);
                   return to_plain_python(crd2idx(crd, l.shape()));
                 }),
           "The same, as one integer.");

  py::class_<ComposedLayout>(
      m, "ComposedLayout",
      "``c -> outer(offset + inner(c))``: CuTe's layout with a swizzle on the outside, or with a "
      "layout that `composition` cannot merge. Its modes are those of `inner`, which may be composed itself.")
      .def(py::init(named("ComposedLayout",
                          [](py::handle outer, py::handle offset, py::handle inner) {
                            if (is_text(outer) && inner.is_none())
                              return parse_composed(text_argument({"ComposedLayout", "outer"}, outer));
                            IntTuple const o = int_tuple_argument({"ComposedLayout", "offset"}, offset);
                            if (o.is_tuple())
                              throw LayoutError("ComposedLayout: offset must be an integer, not " + to_string(o));
                            return composed_of(outer, o.leaf(), inner);
                          })),
           py::arg("outer"), py::arg("offset") = 0, py::arg("inner") = py::none())
      .def_property_readonly(
          "outer",
          [](ComposedLayout const& l) { return l.has_swizzle() ? py::cast(l.swizzle()) : py::cast(l.outer()); })
      .def_property_readonly("offset", [](ComposedLayout const& l) { return to_python(l.offset()); })
      .def_property_readonly(
          "inner", [](ComposedLayout const& l) { return l.is_nested() ? py::cast(l.rest()) : py::cast(l.inner()); })
      .def_property_readonly("shape", [](ComposedLayout const& l) { return to_python(l.inner().shape()); })
      .def_property_readonly("rank", [](ComposedLayout const& l) { return l.inner().rank(); })
      .def_property_readonly("depth", [](ComposedLayout const& l) { return l.inner().depth(); })
      .def_property_readonly("size", [](ComposedLayout const& l) { return l.inner().size().value; })
      .def_property_readonly("cosize", named("cosize", [](ComposedLayout const& l) { return cosize(l.inner()).value; }))
      .def("__call__", named("layout(coord)",
                             [](ComposedLayout const& l, py::args const& coords) { return value_or_slice(l, coords); }))
      .def("__getitem__", [](ComposedLayout const& l,
                             py::handle index) { return l.with_inner(mode_item(l.inner(), index).cast<Layout>()); })
      .def("__len__", [](ComposedLayout const& l) { return l.inner().rank(); })
      .def("__eq__", [](ComposedLayout const& a,
                        py::handle b) { return is_a<ComposedLayout>(b) && a == b.cast<ComposedLayout const&>(); })
      .def("__hash__",
           [](ComposedLayout const& l) { return hash_of(l.inner().shape()) * 37 + hash_of(l.inner().stride()); })
      .def("__str__", [](ComposedLayout const& l) { return to_string(l); })
      .def("__repr__", [](ComposedLayout const& l) { return "ComposedLayout(\"" + to_string(l) + "\")"; })
      .def("__reduce__",
           [](py::object self) { return py::make_tuple(py::type::of(self), py::make_tuple(py::str(self))); })
      .def(
          "to_cpp", [](ComposedLayout const& l) { return to_cpp(l); }, "The C++ type.")
      .def("compose",
           named("compose",
                 [](ComposedLayout const& l, py::args const& tilers) {
                   return l.with_inner(composition(
                       l.inner(), tiler_argument({"compose", "B"},
                                                 tilers.size() == 1 ? py::object(tilers[0]) : py::object(tilers))));
                 }),
           "``composition(self, B)``; several arguments act by modes.")
      .def("with_shape",
           named("with_shape",
                 [](ComposedLayout const& l, py::args const& shape) {
                   IntTuple const s = extents_argument({"with_shape", "shape"},
                                                       shape.size() == 1 ? py::object(shape[0]) : py::object(shape));
                   return l.with_inner(composition(l.inner(), Layout(s)));
                 }),
           "The same function on another shape.");
}

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

// name(x, *modes) of a shape, a layout or one of its modes.
template <class OfShape>
void def_query(py::module_& m, char const* name, char const* doc, OfShape of) {
  m.def(name,
        named(name,
              [name, of](py::handle value, py::args const& modes) {
                Place const place{name, "the first argument"};
                IntTuple const whole =
                    std::string_view(name) == "size" ? extents_argument(place, value) : shape_argument(place, value);
                return of(modes.empty() ? whole : at_path(name, whole, path_of(name, modes)));
              }),
        doc);
}

void register_queries(py::module_& m) {
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
                IntTuple const c = int_tuple_argument({"crd2idx", "coord"}, coord);
                if (is_layout(shape)) {
                  if (!stride.is_none()) throw LayoutError("stride goes with a shape; the layout has its own");
                  return to_plain_python(std::visit([&](auto const& l) { return l(c); },
                                                    any_layout_argument({"crd2idx", "shape"}, shape)));
                }
                IntTuple const s = extents_argument({"crd2idx", "shape"}, shape);
                if (stride.is_none()) return to_plain_python(crd2idx(c, s));
                return to_plain_python(Layout(s, int_tuple_argument({"crd2idx", "stride"}, stride))(c));
              }),
        py::arg("coord"), py::arg("shape"), py::arg("stride") = py::none(), docs::crd2idx);
  m.def("idx2crd",
        named("idx2crd",
              [](py::handle index, py::handle shape, py::handle stride) {
                IntTuple const i = int_tuple_argument({"idx2crd", "index"}, index);
                IntTuple const s = extents_argument({"idx2crd", "shape"}, shape);
                if (stride.is_none()) return to_plain_python(idx2crd(i, s));
                return to_plain_python(idx2crd(i, s, int_tuple_argument({"idx2crd", "stride"}, stride)));
              }),
        py::arg("index"), py::arg("shape"), py::arg("stride") = py::none(), docs::idx2crd);
  m.def("crd2crd",
        named("crd2crd",
              [](py::handle coord, py::handle from, py::handle to) {
                IntTuple const src = extents_argument({"crd2crd", "src_shape"}, from);
                IntTuple const dst = extents_argument({"crd2crd", "dst_shape"}, to);
                return to_plain_python(crd2crd(int_tuple_argument({"crd2crd", "coord"}, coord), src, dst));
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
                std::int64_t const most = integer_argument({"layout_values", "limit"}, limit);
                if (most < 0) throw LayoutError("limit must be 0 or more, not " + std::to_string(most));
                return all_values(any_layout_argument({"layout_values", "layout"}, value), most);
              }),
        docs::layout_values);
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

Tiler elements_argument(char const* operation, py::handle value) { return tiler_argument({operation, "tuple"}, value); }

void register_modes(py::module_& m) {
  m.def("get",
        named("get",
              [](py::handle l, py::args const& modes) {
                auto const path = path_of("get", modes);
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
                  int const r = small_argument({name, "rank"}, rank);
                  if (r < 1 || r > 255)
                    throw LayoutError(std::string(name) + ": rank is 1 to 255, not " + std::to_string(r));
                  if (is_sequence(l)) {
                    if (mode.is_none()) {
                      throw LayoutError(std::string(name) + ": a tuple has no default element; next: give mode=");
                    }
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
                if (b.is_none()) return zip(layout_argument({"zip", "layout"}, a));
                return zip(layout_argument({"zip", "a"}, a), layout_argument({"zip", "b"}, b));
              }),
        py::arg("layout"), py::arg("other") = py::none(), docs::zip);
  m.def("slice_",
        named("slice_",
              [](py::handle coord, py::handle l) -> py::object {
                if (is_sequence(l))
                  return to_python(slice(slicing_argument("slice_", coord), elements_argument("slice_", l)));
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
                if (is_a<Layout>(value)) return py::cast(dice(c, value.cast<Layout const&>()));
                if (is_text(value)) return py::cast(dice(c, layout_argument({"dice", "value"}, value)));
                return to_python(dice(c, tiler_argument({"dice", "value"}, value)));
              }),
        py::arg("coord"), py::arg("value"), docs::dice);
  m.def("parse",
        named("parse",
              [](py::handle value) -> py::object {
                std::string const text = text_argument({"parse", "text"}, value);
                try {
                  if (text.find('o') != std::string::npos) return py::cast(parse_composed(text));
                  if (text.find('S') != std::string::npos) return py::cast(parse_swizzle(text));
                  return to_python(parse_tiler(text));
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

[[noreturn]] void refuse_on_the_right(AnyLayout const& a, std::string const& b, char const* next) {
  throw LayoutError("composition: A is composed and merges with no swizzle on its right\n  A " +
                    std::visit([](auto const& l) { return to_string(l); }, a) + "\n  B " + b + "\n  next: " + next);
}

AnyLayout compose_any(py::handle a, py::handle b) {
  if (is_a<Swizzle>(a)) {
    Swizzle const& s = a.cast<Swizzle const&>();
    Layout l = layout_argument({"composition", "B"}, b);
    if (s.bits() == 0) return l;
    return ComposedLayout(s, fixed(0), std::move(l));
  }
  AnyLayout const lhs = any_layout_argument({"composition", "A"}, a);
  if (is_a<Swizzle>(b)) {
    if (auto const* plain = std::get_if<Layout>(&lhs)) return composition(*plain, b.cast<Swizzle const&>());
    refuse_on_the_right(lhs, to_string(b.cast<Swizzle const&>()),
                        "make_composed_layout(A, 0, composition(B, Layout(size(A)))) evaluates A(B(c)) as it stands");
  }
  if (is_a<ComposedLayout>(b)) {
    if (auto const* plain = std::get_if<Layout>(&lhs)) return composition(*plain, b.cast<ComposedLayout const&>());
    refuse_on_the_right(lhs, to_string(b.cast<ComposedLayout const&>()),
                        "make_composed_layout(A, 0, B) evaluates A(B(c)) as it stands");
  }
  Tiler const tiler = tiler_argument({"composition", "B"}, b);
  if (auto const* plain = std::get_if<Layout>(&lhs)) return composition(*plain, tiler);
  auto const& composed = std::get<ComposedLayout>(lhs);
  return composed.with_inner(composition(composed.inner(), tiler));
}

void register_algebra(py::module_& m) {
  m.def("composition",
        named("composition",
              [](py::handle a, py::handle b) -> py::object {
                if (has_layout(a)) return a.attr("with_layout")(cast_any(compose_any(a.attr("layout"), b)));
                if (is_a<Swizzle>(a) && is_a<Swizzle>(b)) {
                  return py::cast(composition(a.cast<Swizzle const&>(), b.cast<Swizzle const&>()));
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
  def_inverse("right_inverse", docs::right_inverse, &right_inverse, &right_inverse);
  def_inverse("left_inverse", docs::left_inverse, &left_inverse, &left_inverse);
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
                  if (is_a<Swizzle>(l)) return py::cast(of_swizzle(l.cast<Swizzle const&>(), factor));
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
                if (is_a<Swizzle>(l)) return py::cast(recast(l.cast<Swizzle const&>()));
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

}  // namespace

void register_layouts(py::module_& module) {
  py::options options;
  options.disable_function_signatures();  // the docstrings begin with theirs
  register_classes(module);
  register_constructors(module);
  register_queries(module);
  register_modes(module);
  register_algebra(module);
}

}  // namespace cute_py::bindings
