#pragma once

#include <cxxabi.h>
#include <pybind11/pybind11.h>
#include <structmember.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "bindings/errors.hpp"
#include "bindings/gil.hpp"

// Types whose instances are called without tuples and dictionaries in between.
namespace cute_py::bindings {

namespace py = pybind11;

// An instance of such a type. While it is made, it holds nothing.
template <class Held>
struct Callable {
  PyObject_HEAD vectorcallfunc call;
  PyObject* attributes;  // its __dict__
  PyObject* references;  // weak ones
  Held* held;
};

// Calls work(), which returns a new reference; C++ exceptions become those of Python.
template <class Work>
PyObject* guarded(Work const& work) noexcept {
  InPython const here;
  try {
    return work().release().ptr();
  } catch (abi::__forced_unwind&) {
    InPython::stay();
  } catch (...) {
    set_python_error();
  }
  return nullptr;
}

template <class Held>
Held& held_by(PyObject* object) {
  return *reinterpret_cast<Callable<Held>*>(object)->held;
}

// A new instance, called by `call`, that holds `held`.
template <class Held>
py::object make_callable(PyTypeObject* type, vectorcallfunc call, std::unique_ptr<Held> held) {
  auto made = py::reinterpret_steal<py::object>(type->tp_alloc(type, 0));
  if (!made) throw py::error_already_set();
  auto* const self = reinterpret_cast<Callable<Held>*>(made.ptr());
  self->call = call;
  self->held = held.release();
  return made;
}

template <class Held>
int clear_callable(PyObject* object) {
  auto* const self = reinterpret_cast<Callable<Held>*>(object);
  Py_CLEAR(self->attributes);
  if (self->held != nullptr) self->held->clear();
  return 0;
}

template <class Held>
int traverse_callable(PyObject* object, visitproc visit, void* arg) {
  auto* const self = reinterpret_cast<Callable<Held>*>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->attributes);
  return self->held != nullptr ? self->held->visit(visit, arg) : 0;
}

template <class Held>
void free_callable(PyObject* object) {
  auto* const self = reinterpret_cast<Callable<Held>*>(object);
  PyTypeObject* const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self->references != nullptr) PyObject_ClearWeakRefs(object);
  clear_callable<Held>(object);
  delete self->held;
  type->tp_free(object);
  Py_DECREF(type);
}

// Makes such a type, with these slots beside those that all of them have.
template <class Held>
PyTypeObject* make_callable_type(char const* name, bool has_dictionary, std::vector<PyType_Slot> slots) {
  using Object = Callable<Held>;
  PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Object, call), READONLY, nullptr},
                           {"__weaklistoffset__", T_PYSSIZET, offsetof(Object, references), READONLY, nullptr},
                           {},
                           {}};
  if (has_dictionary) members[2] = {"__dictoffset__", T_PYSSIZET, offsetof(Object, attributes), READONLY, nullptr};
  slots.insert(slots.end(), {{Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                             {Py_tp_members, members},
                             {Py_tp_traverse, reinterpret_cast<void*>(&traverse_callable<Held>)},
                             {Py_tp_clear, reinterpret_cast<void*>(&clear_callable<Held>)},
                             {Py_tp_dealloc, reinterpret_cast<void*>(&free_callable<Held>)},
                             {0, nullptr}});
  PyType_Spec spec{
      name, sizeof(Object), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
      slots.data()};
  PyObject* const type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace cute_py::bindings
