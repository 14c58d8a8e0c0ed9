#include "bindings/plan.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "bindings/explain.hpp"
#include "bindings/vectorcall.hpp"

namespace cute_py::bindings {
namespace {

// Is a product the planned one for other arrays, none of them less aligned?
bool fits(Geometry const& planned, Geometry given) {
  for (int i = 0; i < kRoles; ++i) {
    auto const role = static_cast<Role>(i);
    if (!planned.has(role)) continue;
    if (given.log2_alignment[role] < planned.log2_alignment[role]) return false;
  }
  given.log2_alignment = planned.log2_alignment;
  return given == planned;
}

// A product with its options, and what was prepared for arrays like those that it was planned with.
class HeldPlan {
 public:
  // `asked` is of the call; the plan keeps what of it is no operand.
  HeldPlan(py::handle product, Definition const& definition, Asked const& asked)
      : product_(py::reinterpret_borrow<py::object>(product)), definition_(definition), asked_(asked) {
    constexpr ArgSet kOfEachCall = args(Arg::a, Arg::b, Arg::c, Arg::out, Arg::stream);
    for (int i = 0; i < kArgs; ++i) {
      auto const arg = static_cast<Arg>(i);
      if (contains(kOfEachCall, arg)) {
        asked_[arg] = nullptr;
      } else if (asked_[arg] != nullptr) {
        kept_[static_cast<std::size_t>(i)] = py::reinterpret_borrow<py::object>(asked_[arg]);
      }
    }
    options_.emplace(definition_, asked_);
    Call call(definition_, asked, *options_);
    key_.assign(call.request());
    prepared_ = call.prepare();
    name_ = call.request().function->name;
    for (int i = 0; i < 2; ++i) is_split_[i] = call.request().split[i] != nullptr;
    if (prepared_->outline.staging) {
      throw OperandError(name_ + ": a plan does not copy host arrays to a GPU" + call.request().operands_text() +
                         "\n  next: plan with arrays on the GPU");
    }
    execution::warm_up(*prepared_);
    facts_ = facts_of(call.request(), prepared_->outline);
    signature_.function = "Plan";
    signature_.takes = args(Arg::a, Arg::b, Arg::c, Arg::out, Arg::stream, Arg::workspace);
    signature_.positions = {Arg::a, Arg::b, Arg::c};
    signature_.required = 2;
    if (definition_.copies) {
      signature_.takes = args(Arg::a, Arg::out, Arg::stream);
      signature_.positions = {Arg::a, Arg::out};
      signature_.required = 1;
    }
  }

  // The same product with other arrays. A result is made if none is given.
  py::object run(PyObject* const* arguments, std::size_t count, PyObject* names) const {
    if (prepared_ == nullptr) throw OperandError("this plan is being collected");
    Asked given = read_arguments(signature_, arguments, count, names);
    for (int i = 0; i < kArgs; ++i) {
      auto const arg = static_cast<Arg>(i);
      if (given[arg] == nullptr) given[arg] = asked_[arg];
    }
    Call call(definition_, given, *options_);
    require_fit(call);
    if (!call.make_result(*prepared_)) require_fit(call);
    return call.run(*prepared_, given[Arg::workspace]);
  }

  std::int64_t workspace_bytes() const { return prepared_ != nullptr ? prepared_->workspace_bytes() : 0; }
  std::int64_t scratch_bytes() const { return prepared_ != nullptr ? prepared_->scratch_bytes() : 0; }
  std::string const& name() const { return name_; }
  py::dict const& facts() const { return facts_; }

  int visit(visitproc visit, void* arg) const {
    Py_VISIT(product_.ptr());
    Py_VISIT(facts_.ptr());
    for (py::object const& object : kept_) Py_VISIT(object.ptr());
    return 0;
  }

  // Afterwards it cannot run any more.
  void clear() {
    prepared_ = nullptr;
    for (py::object& object : kept_) object = py::object();
    facts_ = py::dict();
  }

 private:
  void require_fit(Call& call) const {
    for (int i = 0; i < 2; ++i) {
      if ((call.request().split[i] != nullptr) == is_split_[i]) continue;
      throw OperandError(
          name_ + ": " + (i == 0 ? "A" : "B") +
          (is_split_[i] ? " is no prepared operand, and was one" : " is a prepared operand, and was none") +
          " when the plan was made\n  next: make a plan for these");
    }
    execution::Key key(call.request());
    if (key == key_ || std::find(other_keys_.begin(), other_keys_.end(), key) != other_keys_.end()) return;
    auto const given = call.outline();
    auto const& location = prepared_->outline.location;
    bool const there = given.location.target == location.target && given.location.ordinal == location.ordinal;
    if (there && !given.staging && fits(prepared_->outline.product.geometry, given.product.geometry)) {
      if (other_keys_.size() < kOtherKeys) other_keys_.push_back(std::move(key));
      return;
    }
    throw OperandError(
        name_ +
        ": the arrays are not laid out like those of the plan, less aligned, or conjugate views where those are not" +
        call.request().operands_text() + "\n  next: make a plan for these");
  }

  py::object product_;  // keeps the definition alive
  Definition const& definition_;
  Asked asked_;  // the options
  std::array<py::object, kArgs> kept_;
  std::optional<Options> options_;
  Signature signature_;
  std::string name_;
  bool is_split_[2];  // were A and B prepared operands?
  static constexpr std::size_t kOtherKeys = 8;
  execution::Key key_;
  mutable std::vector<execution::Key> other_keys_;  // of other requests that fit; changed by who holds the GIL
  std::shared_ptr<execution::Prepared const> prepared_;
  py::dict facts_;
};

HeldPlan const& plan_of(PyObject* object) { return held_by<HeldPlan>(object); }

PyObject* vectorcall(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* names) {
  return guarded(
      [&] { return plan_of(self).run(arguments, static_cast<std::size_t>(PyVectorcall_NARGS(flags)), names); });
}

PyObject* workspace_bytes(PyObject* self, void*) { return PyLong_FromLongLong(plan_of(self).workspace_bytes()); }

PyObject* scratch_bytes(PyObject* self, void*) { return PyLong_FromLongLong(plan_of(self).scratch_bytes()); }

PyObject* fact(PyObject* self, void* name) {
  return guarded([&]() -> py::object { return plan_of(self).facts()[static_cast<char const*>(name)]; });
}

PyObject* explain_method(PyObject* self, PyObject*) {
  return guarded([&]() -> py::object { return hooks().explanation(plan_of(self).name(), plan_of(self).facts()); });
}

PyObject* repr(PyObject* self) {
  return guarded([&]() -> py::object {
    std::string text = "<Plan of " + plan_of(self).name() + ":";
    char const* separator = " ";
    for (py::handle const step : plan_of(self).facts()["steps"]) {
      text += separator + py::str(step["kernel"]).cast<std::string>();
      separator = " -> ";
    }
    return py::str(text + ">");
  });
}

PyObject* refuse_copy(PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "a Plan cannot be copied or pickled; next: make another one of the same arguments");
  return nullptr;
}

PyTypeObject* plan_type() {
  static PyTypeObject* const type = [] {
    static char doc[] =
        R"(A product with its kernels chosen and its workspace known. Made by the `plan` of every product.

Call it as ``plan(A, B, C=None, *, out=None, stream=None, workspace=None)`` with arrays that are laid out like those that
it was made for: same types, shapes, strides and device, and not less aligned. It runs on the kernels that were chosen
then. The result goes to `out`, else to C, else to a new array. C takes part if it did in the plan. On a GPU it does not
wait, and what it needs of memory for sums between its steps comes from the stream and goes back to it: so it can be
captured in a CUDA graph, if it is given a place for the result. The graph owns that memory then, and does not need the
plan any more. Run it once before that, which loads its kernels. One plan may be used by several threads and on several
streams at a time.

`workspace` is, on a GPU, a dense array of one mode and any type with `workspace_bytes` bytes or more, aligned to 256, that
nothing else uses until the product is done; what it holds does not matter. Without one, it is allocated on the stream for
the call. Raises OperandError for arrays that the plan was not made for.

>>> import cute_py, numpy as np
>>> A, B = np.ones((2, 3), np.float32), np.ones((4, 3), np.float32)
>>> plan = cute_py.gemm.plan(A, B)
>>> plan(2 * A, B)
array([[6., 6., 6., 6.],
       [6., 6., 6., 6.]], dtype=float32)
)";
    static PyMethodDef methods[] = {{"explain", &explain_method, METH_NOARGS, "Say what the plan does."},
                                    {"__reduce_ex__", &refuse_copy, METH_O, nullptr},
                                    {}};
    static PyGetSetDef attributes[] = {
        {"workspace_bytes", &workspace_bytes, nullptr,
         "Memory for what is packed, and for sums, between the steps, in bytes; mostly 0.", nullptr},
        {"scratch_bytes", &scratch_bytes, nullptr,
         "What a call takes beside that on a CPU, in all threads, for packed panels and for sums of whole tiles, in "
         "bytes: at most 16 MiB a thread, of a product of two vectors or less 0. On other devices 0.",
         nullptr},
        {"shape", &fact, nullptr, "Of the result.", const_cast<char*>("shape")},
        {"dtype", &fact, nullptr, "The name of the result's type.", const_cast<char*>("dtype")},
        {}};
    return make_callable_type<HeldPlan>("cute_py.Plan", false,
                                        {{Py_tp_doc, doc},
                                         {Py_tp_repr, reinterpret_cast<void*>(&repr)},
                                         {Py_tp_methods, methods},
                                         {Py_tp_getset, attributes}});
  }();
  return type;
}

}  // namespace

py::object make_plan(py::handle product, Definition const& definition, Asked const& asked) {
  return make_callable(plan_type(), &vectorcall, std::make_unique<HeldPlan>(product, definition, asked));
}

void register_plan(py::module_& module) {
  module.attr("Plan") = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(plan_type()));
}

}  // namespace cute_py::bindings
