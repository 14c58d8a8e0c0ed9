#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <variant>

#include "layout/layout.hpp"
#include "layout/swizzle.hpp"

// Python values as those of csrc/layout, and back. A Python int is dynamic, a cute_py.Int is static, a ScaledBasis is a
// coordinate stride, None is CuTe's `_`, a str is CuTe's notation. Each function throws LayoutError, naming the
// operation and the argument, for a value that is none.
namespace cute_py::bindings {

namespace py = pybind11;

// Where a value is wanted, for messages: "composition: A".
struct Place {
  char const* operation;
  char const* argument;
};

// Whether a Python object is one of a bound class.
template <class T>
bool is_a(py::handle value) {
  static PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(py::type::of<T>().release().ptr());
  return PyObject_TypeCheck(value.ptr(), type) != 0;
}

// The T in a value that is one. Objects of the type itself say where it is; for those of a type derived from it
// pybind11 has to look for it, and does so for all if it is asked.
template <class T>
T const& as(py::handle value) {
  static PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(py::type::of<T>().release().ptr());
  if (Py_TYPE(value.ptr()) == type) {
    auto* const object = reinterpret_cast<py::detail::instance*>(value.ptr());
    if (void* const held = object->get_value_and_holder().value_ptr()) return *static_cast<T const*>(held);
  }
  return value.cast<T const&>();
}

inline bool is_text(py::handle value) { return PyUnicode_Check(value.ptr()) != 0; }

// A tuple or a list.
bool is_sequence(py::handle value);
// The elements of one, which stay what they are while they are read: reading an integer may run Python that changes a
// list.
py::tuple elements_of(py::handle sequence);

using AnyLayout = std::variant<layout::Layout, layout::ComposedLayout>;

// `()` alone is an IntTuple of no integers; an empty tuple inside another one is refused.
layout::IntTuple int_tuple_argument(Place place, py::handle value);
layout::Tiler tiler_argument(Place place, py::handle value);
layout::Layout layout_argument(Place place, py::handle value);
AnyLayout any_layout_argument(Place place, py::handle value);
// What a text says: a layout, composed or not, or a swizzle.
std::variant<layout::Layout, layout::Swizzle, layout::ComposedLayout> function_argument(Place place, py::handle text);
// Whether it is a tensor, or whatever else has a layout and a method `with_layout`; and that layout.
bool has_layout(py::handle value);
py::object layout_of(Place place, py::handle value);
std::string text_argument(Place place, py::handle value);
int small_argument(Place place, py::handle value);
std::int64_t integer_argument(Place place, py::handle value);

bool is_tag_left(py::handle value);
bool is_tag_right(py::handle value);

// With cute_py.Int for static integers, and with plain ints.
py::object to_python(layout::Integer const& i);
py::object to_python(layout::IntTuple const& t);
py::object to_plain_python(layout::IntTuple const& t);
py::object to_python(layout::Tiler const& tiler);

}  // namespace cute_py::bindings
