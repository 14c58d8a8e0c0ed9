#include "bindings/layout_arguments.hpp"

#include "base/errors.hpp"
#include "bindings/arguments.hpp"
#include "layout/text.hpp"

namespace cute_py::bindings {
namespace {

using layout::Integer;
using layout::IntTuple;
using layout::Layout;
using layout::Tiler;

// How deep a conversion is in nested tuples, and how many integers and layouts it has met: tuples may share elements,
// so that a few of them stand for very many.
class Walk {
 public:
  explicit Walk(Place place) : place_(place) {}

  Place place() const { return place_; }
  int depth() const { return depth_; }

  // `convert` of one tuple.
  template <class F>
  auto inside(F convert) {
    checked([&] { layout::check_depth(++depth_); });
    auto result = convert();
    --depth_;
    return result;
  }

  void count(std::int64_t leaves) {
    checked([&] { layout::check_leaves(leaves_ += leaves); });
  }

 private:
  template <class F>
  void checked(F check) const {
    try {
      check();
    } catch (LayoutError const& error) {
      throw LayoutError(std::string(place_.operation) + ": " + place_.argument + ": " + error.what());
    }
  }

  Place place_;
  int depth_ = 0;
  std::int64_t leaves_ = 0;
};

[[noreturn]] void refuse(Place place, std::string const& wanted, py::handle value) {
  std::string shown;
  try {
    shown = " " + std::string(py::repr(value)).substr(0, 80);
  } catch (py::error_already_set&) {
    // too deep, or with a __repr__ that fails
  }
  throw LayoutError(std::string(place.operation) + ": " + place.argument + " must be " + wanted + ", not " +
                    type_name(value) + shown);
}

std::string text_of(Place place, py::handle value) {
  Py_ssize_t size = 0;
  char const* const text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text == nullptr) {
    PyErr_Clear();
    refuse(place, "text in CuTe's notation", value);
  }
  std::string result(text, static_cast<std::size_t>(size));
  if (result.find('\0') != std::string::npos) {
    throw LayoutError(std::string(place.operation) + ": " + place.argument +
                      ": cannot read text with a NUL in it, at character " + std::to_string(result.find('\0')));
  }
  return result;
}

// What `read` makes of the text; its error says which argument it is about.
template <class Read>
auto parsed(Place place, py::handle value, Read read) {
  std::string const text = text_of(place, value);
  try {
    return read(text);
  } catch (LayoutError const& error) {
    throw LayoutError(std::string(place.operation) + ": " + place.argument + ": " + error.what());
  }
}

[[noreturn]] void refuse_empty(Place place) {
  throw LayoutError(std::string(place.operation) + ": " + place.argument + " has an empty tuple in it");
}

// An attribute of cute_py.layout.integers, kept alive for good.
PyObject* attribute_of_integers(char const* name) {
  return py::object(py::module_::import("cute_py.layout.integers").attr(name)).release().ptr();
}

PyTypeObject* static_type() {
  static PyObject* const type = attribute_of_integers("Int");
  return reinterpret_cast<PyTypeObject*>(type);
}

std::int64_t int64_of(Place place, py::handle value) {
  int overflow = 0;
  std::int64_t const result = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow != 0) refuse(place, "an integer of 64 bits", value);
  return result;
}

bool is_integer(py::handle value) {
  return (PyLong_Check(value.ptr()) && !PyBool_Check(value.ptr())) ||
         (!is_sequence(value) && PyIndex_Check(value.ptr()) && !PyBool_Check(value.ptr()) && !is_a<Layout>(value));
}

Integer integer_of(Place place, py::handle value) {
  if (PyLong_CheckExact(value.ptr())) return layout::dynamic(int64_of(place, value));
  if (Py_TYPE(value.ptr()) == static_type()) return layout::fixed(int64_of(place, value));
  auto const index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!index) {
    PyErr_Clear();
    refuse(place, "an integer", value);
  }
  return layout::dynamic(int64_of(place, index));
}

IntTuple int_tuple(Walk& walk, py::handle value) {
  Place const place = walk.place();
  if (is_sequence(value)) {
    return walk.inside([&] {
      std::vector<IntTuple> elements;
      py::tuple const items = elements_of(value);
      if (items.empty() && walk.depth() > 1) refuse_empty(place);
      elements.reserve(items.size());
      for (py::handle const item : items) elements.push_back(int_tuple(walk, item));
      return IntTuple(std::move(elements));
    });
  }
  walk.count(1);
  if (is_integer(value)) return integer_of(place, value);
  if (is_a<Integer>(value)) return as<Integer>(value);
  refuse(place, "an integer or a tuple of integers", value);
}

std::int64_t leaves_of(Tiler const& t) {
  if (!t.is_tuple()) return t.layout.shape().count();
  std::int64_t sum = 0;
  for (auto const& e : t.elements) sum += leaves_of(e);
  return sum;
}

Tiler tiler(Walk& walk, py::handle value) {
  Place const place = walk.place();
  if (is_sequence(value)) {
    return walk.inside([&] {
      py::tuple const items = elements_of(value);
      if (items.empty()) refuse_empty(place);
      std::vector<Tiler> elements;
      for (py::handle const item : items) elements.push_back(tiler(walk, item));
      return Tiler::of(std::move(elements));
    });
  }
  if (is_a<Layout>(value)) {
    Layout const& layout = as<Layout>(value);
    walk.count(layout.shape().count());
    return Tiler::of(layout);
  }
  if (is_text(value)) {
    Tiler result = parsed(place, value, &layout::parse_tiler);
    walk.count(leaves_of(result));
    return result;
  }
  walk.count(1);
  if (value.is_none()) return Tiler{};
  if (is_integer(value)) return Tiler::of(integer_of(place, value));
  if (is_a<Integer>(value)) return Tiler::of(as<Integer>(value));
  refuse(place, "a Layout, an integer, None, or a tuple of these", value);
}

template <class ToLeaf>
py::object tree(IntTuple const& t, ToLeaf to_leaf) {
  if (!t.is_tuple()) return to_leaf(t.leaf());
  py::tuple result(t.rank());
  for (int i = 0; i < t.rank(); ++i) {
    PyTuple_SET_ITEM(result.ptr(), i, tree(t[i], to_leaf).release().ptr());
  }
  return result;
}

}  // namespace

bool is_sequence(py::handle value) { return PyTuple_Check(value.ptr()) || PyList_Check(value.ptr()); }

py::tuple elements_of(py::handle sequence) {
  if (PyTuple_Check(sequence.ptr())) return py::reinterpret_borrow<py::tuple>(sequence);
  return py::reinterpret_steal<py::tuple>(PyList_AsTuple(sequence.ptr()));
}

IntTuple int_tuple_argument(Place place, py::handle value) {
  if (is_text(value)) return parsed(place, value, &layout::parse_int_tuple);
  Walk walk(place);
  return int_tuple(walk, value);
}

Tiler tiler_argument(Place place, py::handle value) {
  Walk walk(place);
  return tiler(walk, value);
}

bool has_layout(py::handle value) {
  if (is_a<Layout>(value) || PyTuple_Check(value.ptr()) || PyLong_Check(value.ptr()) || is_text(value)) return false;
  static PyObject* const name = PyUnicode_InternFromString("with_layout");
  return PyObject_HasAttr(value.ptr(), name) == 1;
}

// What has a layout may give a thing that has one itself. Some objects, such as a mock, have any attribute that they
// are asked for, and so no end.
py::object layout_of(Place place, py::handle value) {
  constexpr int kDeepest = 16;
  auto found = py::reinterpret_borrow<py::object>(value);
  for (int i = 0; i < kDeepest; ++i) {
    found = found.attr("layout");
    if (is_a<layout::ComposedLayout>(found) || !has_layout(found)) return found;
  }
  refuse(place, "a Layout, or something that has one", value);
}

Layout layout_argument(Place place, py::handle value) {
  if (is_a<Layout>(value)) return as<Layout>(value);
  if (is_text(value)) return parsed(place, value, &layout::parse_layout);
  if (is_a<layout::ComposedLayout>(value)) refuse(place, "a plain Layout", value);
  if (has_layout(value)) return layout_argument(place, layout_of(place, value));
  refuse(place, "a Layout", value);
}

AnyLayout any_layout_argument(Place place, py::handle value) {
  if (is_a<layout::ComposedLayout>(value)) return as<layout::ComposedLayout>(value);
  if (is_text(value)) {
    auto function = function_argument(place, value);
    if (auto* const composed = std::get_if<layout::ComposedLayout>(&function)) return std::move(*composed);
    if (auto* const plain = std::get_if<Layout>(&function)) return std::move(*plain);
  }
  if (has_layout(value)) return any_layout_argument(place, layout_of(place, value));
  return layout_argument(place, value);
}

std::variant<Layout, layout::Swizzle, layout::ComposedLayout> function_argument(Place place, py::handle text) {
  return parsed(place, text, &layout::parse_function);
}

std::string text_argument(Place place, py::handle value) {
  if (!is_text(value)) refuse(place, "text in CuTe's notation", value);
  return text_of(place, value);
}

std::int64_t integer_argument(Place place, py::handle value) {
  if (!is_integer(value)) refuse(place, "an integer", value);
  return integer_of(place, value).value;
}

int small_argument(Place place, py::handle value) {
  std::int64_t const result = integer_argument(place, value);
  if (result < -(1 << 20) || result > (1 << 20)) refuse(place, "a small integer", value);
  return static_cast<int>(result);
}

bool is_tag_left(py::handle value) {
  static PyObject* const tag = attribute_of_integers("LayoutLeft");
  return value.ptr() == tag;
}

bool is_tag_right(py::handle value) {
  static PyObject* const tag = attribute_of_integers("LayoutRight");
  return value.ptr() == tag;
}

py::object to_python(Integer const& i) {
  if (i.has_basis()) return py::cast(i);
  auto const value = py::int_(i.value);
  if (!i.is_static) return value;
  return py::reinterpret_steal<py::object>(
      PyObject_CallOneArg(reinterpret_cast<PyObject*>(static_type()), value.ptr()));
}

py::object to_python(IntTuple const& t) {
  return tree(t, [](Integer const& i) { return to_python(i); });
}

py::object to_plain_python(IntTuple const& t) {
  return tree(t, [](Integer const& i) { return i.has_basis() ? py::cast(i) : py::object(py::int_(i.value)); });
}

py::object to_python(Tiler const& tiler) {
  switch (tiler.kind) {
    case Tiler::Kind::any:
      return py::none();
    case Tiler::Kind::integer:
      return to_python(tiler.integer);
    case Tiler::Kind::layout:
      return py::cast(tiler.layout);
    case Tiler::Kind::tuple:
      break;
  }
  py::tuple result(tiler.elements.size());
  for (std::size_t i = 0; i < tiler.elements.size(); ++i) result[i] = to_python(tiler.elements[i]);
  return result;
}

}  // namespace cute_py::bindings
