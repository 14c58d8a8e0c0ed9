#include "bindings/guards.hpp"

#include <cstddef>
#include <string>

namespace cute_py::bindings {
namespace {

namespace py = pybind11;

newfunc make_instance = nullptr;  // pybind11's

// pybind11 throws a C++ exception out of tp_new for a class that it does not know, through frames of C. Its base type
// is such a class, and copyreg calls it for protocols 0 and 1.
PyObject* checked_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  if (py::detail::all_type_info(type).empty()) {
    PyErr_Format(PyExc_TypeError, "%s has no instances; next: make one of the classes of cute_py", type->tp_name);
    return nullptr;
  }
  return make_instance(type, arguments, keywords);
}

// What pybind11 calls for the object of an instance that no __init__ has made, to hand out its memory as it is.
void* refuse_memory(std::size_t) { throw py::type_error("an object was made without __init__; next: call its class"); }

bool has_own(py::handle type, char const* name) {
  return PyDict_GetItemString(reinterpret_cast<PyTypeObject*>(type.ptr())->tp_dict, name) != nullptr;
}

}  // namespace

void guard_classes(py::module_& module) {
  auto* const base = reinterpret_cast<PyTypeObject*>(py::detail::get_internals().instance_base);
  if (base->tp_new != &checked_new) {
    make_instance = base->tp_new;
    base->tp_new = &checked_new;
    PyType_Modified(base);
  }
  for (auto const& item : module.attr("__dict__").cast<py::dict>()) {
    py::handle const type = item.second;
    if (!PyType_Check(type.ptr()) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()), base)) continue;
    if (auto* const info = py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(type.ptr()))) {
      info->operator_new = &refuse_memory;
    }
    if (has_own(type, "__reduce__") || has_own(type, "__reduce_ex__")) continue;
    std::string const name = py::str(type.attr("__name__"));
    type.attr("__reduce_ex__") = py::cpp_function(
        [name](py::handle, py::handle) -> py::object {
          throw py::type_error("a " + name +
                               " cannot be copied or pickled; next: make another one of the same arguments");
        },
        py::is_method(type), py::name("__reduce_ex__"));
  }
}

}  // namespace cute_py::bindings
