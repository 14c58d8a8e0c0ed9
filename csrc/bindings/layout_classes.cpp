#include "bindings/layout_entries.hpp"

namespace cute_py::bindings {
namespace {

Tiler coordinate_argument(py::args const& coords) {
  return tiler_argument({"layout(coord)", "coord"}, coords.size() == 1 ? py::object(coords[0]) : py::object(coords));
}

// () of a layout of no modes.
bool is_only_coordinate(Layout const& l, py::args const& coords) {
  if (l.rank() > 0) return false;
  return coords.empty() || (coords.size() == 1 && is_sequence(coords[0]) && PySequence_Size(coords[0].ptr()) == 0);
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
py::handle only_or_all(py::args const& coords) {
  return coords.size() == 1 ? py::handle(PyTuple_GET_ITEM(coords.ptr(), 0)) : py::handle(coords);
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
  if (has_array(coords)) return values_at(l, only_or_all(coords));
  if (is_only_coordinate(l, coords)) return py::int_(0);
  Tiler const coord = coordinate_argument(coords);
  return has_any(coord) ? py::cast(slice(coord, l)) : value_at(l, coord);
}

py::object value_or_slice(ComposedLayout const& l, py::args const& coords) {
  if (has_array(coords)) return values_at(l, only_or_all(coords));
  Tiler const coord = coordinate_argument(coords);
  return has_any(coord) ? composed_slice(slice_and_offset(coord, l)) : value_at(l, coord);
}

// L[0, 1] goes down the nesting; with `:` or None it is a slice, as L(:, 1) would be.
py::object path_item(Layout const& l, py::handle index) {
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
  return py::cast(get(l, path_of({"layout[mode]"}, py::args(py::tuple(coord)))));
}

py::object mode_item(Layout const& l, py::handle index) {
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
    throw LayoutError(std::string(operation) + ": division by the strides of " + to_string(l) +
                      " finds no coordinate of the index " + to_string(i) +
                      "; next: it does for compact layouts; of others, right_inverse or left_inverse");
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

// c -> outer(offset + inner(c)). A composed layout on either side brings its functions with it.
ComposedLayout composed_of(py::handle outer, Integer const& offset, py::handle inner) {
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

// The layout o the arguments, one tiler or one for each mode.
Layout composed_with(Layout const& l, py::args const& tilers) {
  return composition(l, tiler_argument({"compose", "B"}, only_or_all(tilers)));
}

Layout with_shape(Layout const& l, py::args const& shape) {
  return composition(l, Layout(extents_argument({"with_shape", "shape"}, only_or_all(shape))));
}

py::object inside(Layout const&, Layout&& made) { return py::cast(std::move(made)); }
py::object inside(ComposedLayout const& l, Layout&& made) { return py::cast(l.with_inner(std::move(made))); }

Layout const& modes_of(Layout const& l) { return l; }
Layout const& modes_of(ComposedLayout const& l) { return l.inner(); }

// What a layout has, composed or not: its modes are those of its domain.
template <class L>
void def_layout(py::class_<L>& layout, std::string const& name, char const* cpp, char const* with_shape_doc) {
  layout.def_property_readonly("shape", [](L const& l) { return to_python(modes_of(l).shape()); })
      .def_property_readonly("rank", [](L const& l) { return modes_of(l).rank(); })
      .def_property_readonly("depth", [](L const& l) { return modes_of(l).depth(); })
      .def_property_readonly("size", [](L const& l) { return modes_of(l).size().value; })
      .def_property_readonly("cosize", named("cosize", [](L const& l) { return cosize(modes_of(l)).value; }))
      .def("__call__",
           named("layout(coord)", [](L const& l, py::args const& coords) { return value_or_slice(l, coords); }))
      .def("__len__", [](L const& l) { return modes_of(l).rank(); })
      .def("__eq__", [](L const& a, py::handle b) { return is_a<L>(b) && a == as<L>(b); })
      .def("__str__", [](L const& l) { return to_string(l); })
      .def("__repr__", [name](L const& l) { return name + "(\"" + to_string(l) + "\")"; })
      .def("__reduce__",
           [](py::object self) { return py::make_tuple(py::type::of(self), py::make_tuple(py::str(self))); })
      .def(
          "to_cpp", [](L const& l) { return to_cpp(l); }, cpp)
      .def("compose",
           named("compose",
                 [](L const& l, py::args const& tilers) { return inside(l, composed_with(modes_of(l), tilers)); }),
           "``composition(self, B)``; several arguments act by modes.")
      .def("with_shape",
           named("with_shape",
                 [](L const& l, py::args const& shape) { return inside(l, with_shape(modes_of(l), shape)); }),
           with_shape_doc);
}

}  // namespace

void register_layout_classes(py::module_& m) {
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
      .def("__add__", named("ScaledBasis + x",
                            [](Integer const& a, py::handle b) {
                              IntTuple const other = int_tuple_argument({"ScaledBasis + x", "x"}, b);
                              IntTuple const right = other.is_tuple() ? other : as_arithmetic_tuple(other.leaf());
                              return to_python(arithmetic_sum(as_arithmetic_tuple(a), right));
                            }))
      .def("__radd__", named("x + ScaledBasis",
                             [](Integer const& a, py::handle b) {
                               IntTuple const other = int_tuple_argument({"x + ScaledBasis", "x"}, b);
                               return to_python(arithmetic_sum(other, as_arithmetic_tuple(a)));
                             }))
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
      .def_property_readonly("bits", [](Swizzle const& s) { return s.bits(); })
      .def_property_readonly("base", [](Swizzle const& s) { return s.base(); })
      .def_property_readonly("shift", [](Swizzle const& s) { return s.shift(); })
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

  py::class_<Layout> layout(
      m, "Layout",
      "A function from coordinates to indices, CuTe's ``Layout<Shape, Stride>`` with run-time integers.\n\n"
      "``Layout(shape)`` is column-major, ``Layout(shape, stride)`` takes strides of the same nesting, "
      "``Layout(shape, LayoutRight)`` is row-major, ``Layout(\"(_128,_8):(_1,_128)\")`` reads what CuTe "
      "prints. Python ints are dynamic, `Int` is static. Extents are 0 or more; LayoutError otherwise. A layout "
      "with an extent of 0 has no elements: it has a shape and modes, and no composition, division or inverse.\n\n"
      "Called with a coordinate it gives an index, with `None` in the coordinate a layout of what is left open, and "
      "with NumPy arrays of integers in the coordinate an array of indices.");
  def_layout(layout, "Layout", "The C++ type; a dynamic integer is an ``int``, or an ``int64_t`` where it needs one.",
             "The same function on another shape, ``composition(self, Layout(shape))``.");
  layout
      .def(py::init(named("Layout",
                          [](py::handle shape, py::handle stride) { return new_layout({"Layout"}, shape, stride); })),
           py::arg("shape"), py::arg("stride") = py::none())
      .def_property_readonly("stride", [](Layout const& l) { return to_python(l.stride()); })
      .def("__getitem__", [](Layout const& l, py::handle index) { return mode_item(l, index); })
      .def("__hash__", [](Layout const& l) { return hash_of(l.shape()) * 31 + hash_of(l.stride()); })
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

  py::class_<ComposedLayout> composed(
      m, "ComposedLayout",
      "``c -> outer(offset + inner(c))``: CuTe's layout with a swizzle on the outside, or with a "
      "layout that `composition` cannot merge. Its modes are those of `inner`, which may be composed itself.");
  def_layout(composed, "ComposedLayout", "The C++ type.", "The same function on another shape.");
  composed
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
      .def("__getitem__", [](ComposedLayout const& l,
                             py::handle index) { return l.with_inner(mode_item(l.inner(), index).cast<Layout>()); })
      .def("__hash__",
           [](ComposedLayout const& l) { return hash_of(l.inner().shape()) * 37 + hash_of(l.inner().stride()); });
}

}  // namespace cute_py::bindings
