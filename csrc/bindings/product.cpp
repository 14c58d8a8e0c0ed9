#include "bindings/product.hpp"

#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "bindings/arguments.hpp"
#include "bindings/explain.hpp"
#include "bindings/gil.hpp"
#include "bindings/plan.hpp"
#include "bindings/vectorcall.hpp"
#include "dispatch/tuned.hpp"
#include "runtime/cuda.hpp"
#include "runtime/host.hpp"

namespace cute_py::bindings {
namespace {

// What a _core.Product holds.
struct HeldDefinition {
  Definition definition;

  int visit(visitproc visit, void* arg) const {
    Py_VISIT(definition.labels_of.ptr());
    return 0;
  }
  void clear() { definition.labels_of = py::object(); }
};

Definition const& definition_of(PyObject* product) { return held_by<HeldDefinition>(product).definition; }

// A call is parsed, imported, found or prepared, and run.
py::object call(Definition const& definition, PyObject* const* arguments, std::size_t count, PyObject* names) {
  Asked const asked = read_arguments(definition.signature, arguments, count, names);
  Options const options(definition, asked);
  Call call(definition, asked, options);
  auto const& prepared = call.prepare();
  if (!call.make_result(*prepared)) call.prepare();
  return call.run(*prepared);
}

PyObject* vectorcall(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* names) {
  return guarded(
      [&] { return call(definition_of(self), arguments, static_cast<std::size_t>(PyVectorcall_NARGS(flags)), names); });
}

PyObject* explain_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> py::object {
    Definition const& definition = definition_of(self);
    Asked const asked = read_arguments(definition.signature, arguments, static_cast<std::size_t>(count), names);
    Options const options(definition, asked);
    Call call(definition, asked, options);
    auto const outline = call.outline();
    return hooks().explanation(call.request().function->name, facts_of(call.request(), outline));
  });
}

PyObject* plan_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> py::object {
    Definition const& definition = definition_of(self);
    Asked const asked = read_arguments(definition.signature, arguments, static_cast<std::size_t>(count), names);
    return make_plan(py::handle(self), definition, asked);
  });
}

// A function is pickled by its name.
PyObject* reduce_method(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }

PyObject* repr(PyObject* self) {
  return guarded([&]() -> py::object { return py::str("<product " + definition_of(self).function.name + ">"); });
}

// Documentation takes what has __get__ for a function; bound, it is itself: it belongs to no object.
PyObject* descr_get(PyObject* self, PyObject*, PyObject*) {
  Py_INCREF(self);
  return self;
}

template <class Method>
PyCFunction method(Method* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyTypeObject* product_type() {
  static PyTypeObject* const type = [] {
    static PyMethodDef methods[] = {
        {"explain", method(&explain_method), METH_FASTCALL | METH_KEYWORDS,
         "What a call with the same arguments would do, as an `Explanation`: its kernels, step by step, and all "
         "candidates with their estimates. Nothing is computed."},
        {"plan", method(&plan_method), METH_FASTCALL | METH_KEYWORDS,
         "A call with the same arguments, prepared, as a `Plan`: called with arrays that lie as these do."},
        {"__reduce__", &reduce_method, METH_NOARGS, nullptr},
        {}};
    static PyGetSetDef attributes[] = {
        {"__dict__", &PyObject_GenericGetDict, &PyObject_GenericSetDict, nullptr, nullptr}, {}};
    return make_callable_type<HeldDefinition>("cute_py._core.Product", true,
                                              {{Py_tp_repr, reinterpret_cast<void*>(&repr)},
                                               {Py_tp_descr_get, reinterpret_cast<void*>(&descr_get)},
                                               {Py_tp_methods, methods},
                                               {Py_tp_getset, attributes}});
  }();
  return type;
}

// What Python's make_product says of a product, by these names.
struct Rules {
  using Letters = std::tuple<std::string, std::string, std::string>;

  std::string layout;
  std::string factors;
  std::optional<Letters> labels;  // of A, of B, of the result
  py::object labels_of = py::none();
  std::string what;  // the name of the argument that labels_of(what, A, B) is called with; empty for none
  std::string kernel = "auto";
  bool takes_c = true;
  bool what_is_first = true;
  bool takes_numbers = false;
  bool returns_numbers = false;
  bool copies = false;
  bool b_is_one = false;
};

Rules rules_argument(py::kwargs given) {
  Rules rules;
  auto const read = [&given](char const* name, auto& member) {
    if (!given.contains(name)) return;
    py::object const value = given.attr("pop")(name);
    try {
      member = value.cast<std::decay_t<decltype(member)>>();
    } catch (py::cast_error const&) {
      throw py::type_error(std::string("make_product() got a ") + type_name(value) + " for '" + name + "'");
    }
  };
  read("layout", rules.layout);
  read("factors", rules.factors);
  read("labels", rules.labels);
  read("labels_of", rules.labels_of);
  read("what", rules.what);
  read("kernel", rules.kernel);
  read("takes_c", rules.takes_c);
  read("what_is_first", rules.what_is_first);
  read("takes_numbers", rules.takes_numbers);
  read("returns_numbers", rules.returns_numbers);
  read("copies", rules.copies);
  read("b_is_one", rules.b_is_one);
  for (auto const& [name, value] : given) {
    throw py::type_error("make_product() got an unexpected keyword argument '" + std::string(py::str(name)) + "'");
  }
  return rules;
}

Signature signature_of(std::string const& name, Rules const& rules) {
  Signature s;
  s.function = name;
  s.what = rules.what;
  bool const has_what = !rules.what.empty();
  if (has_what && rules.what_is_first) s.positions.push_back(Arg::what);
  s.positions.push_back(Arg::a);
  if (!rules.copies) s.positions.push_back(Arg::b);
  s.required = s.positions.size();
  if (has_what && !rules.what_is_first) s.positions.push_back(Arg::what);
  s.takes = rules.copies
                ? args(Arg::what, Arg::a, Arg::out, Arg::kernel, Arg::config, Arg::device, Arg::stream, Arg::emulator)
                : (1u << kArgs) - 1;
  if (!has_what) s.takes &= ~args(Arg::what);
  if (rules.copies) {
    s.positions.push_back(Arg::out);
    s.required = 1;
  } else if (rules.takes_c) {
    s.positions.push_back(Arg::c);
  } else {
    s.takes &= ~args(Arg::c, Arg::beta);
  }
  return s;
}

py::object make_product(std::string const& name, py::kwargs const& given) {
  Rules rules = rules_argument(given);
  auto held = std::make_unique<HeldDefinition>();
  Definition& d = held->definition;
  static std::uint64_t ids = 0;  // guarded by the GIL
  d.function.name = name;
  d.function.layout = rules.layout;
  d.function.factors = rules.factors;
  d.function.id = ++ids;
  d.function.b_is_one = rules.b_is_one;
  if (rules.labels) d.function.labels = std::apply([](auto const&... of) { return Labels{of...}; }, *rules.labels);
  if (!rules.labels_of.is_none()) d.labels_of = std::move(rules.labels_of);
  d.kernel = rules.kernel;
  d.takes_numbers = rules.takes_numbers;
  d.returns_numbers = rules.returns_numbers;
  d.copies = rules.copies;
  d.signature = signature_of(name, rules);

  return make_callable(product_type(), &vectorcall, std::move(held));
}

void set_hooks(py::object const& empty_result, py::object const& as_result, py::object const& as_number,
               py::object const& with_numbers, py::object const& is_number, py::object const& type_name,
               py::object const& explanation, py::object const& way_to_an_array) {
  hooks() = {empty_result, as_result, as_number, with_numbers, is_number, type_name, explanation, way_to_an_array};
}

}  // namespace

void register_product(py::module_& module) {
  module.attr("Product") = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(product_type()));
  // Daemon threads that are in a product when the interpreter ends, and threads that a forked process does not have.
  py::module_::import("atexit").attr("register")(py::cpp_function(&InPython::end));
  py::module_::import("os").attr("register_at_fork")(py::arg("after_in_child") =
                                                         py::cpp_function(&InPython::forget_others));
  module.def("num_threads", &runtime::host_threads);
  module.def("set_num_threads", &runtime::set_host_threads, py::arg("threads"));
  module.def("float32_compute", &float32_compute);
  module.def("set_float32_compute", &set_float32_compute, py::arg("compute"));
  module.def("make_product", &make_product, py::arg("name"));
  module.def(
      "put_tuned",
      [](std::string const& device, std::string const& product, py::handle config) {
        dispatch::tuned().put(device, product,
                              config.is_none() ? std::nullopt : std::optional(config_argument(config)));
      },
      py::arg("device"), py::arg("product"), py::arg("config"));
  module.def("clear_tuned", [] { dispatch::tuned().clear(); });
  module.def(
      "synchronize",
      [](int ordinal) {
        runtime::DeviceGuard const guard(ordinal);
        runtime::synchronize_device();
      },
      py::arg("ordinal"), py::call_guard<py::gil_scoped_release>());
  module.def("set_hooks", &set_hooks, py::kw_only(), py::arg("empty_result"), py::arg("as_result"),
             py::arg("as_number"), py::arg("with_numbers"), py::arg("is_number"), py::arg("type_name"),
             py::arg("explanation"), py::arg("way_to_an_array"));
}

}  // namespace cute_py::bindings
