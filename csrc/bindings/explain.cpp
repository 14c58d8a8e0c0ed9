#include "bindings/explain.hpp"

#include "bindings/arguments.hpp"
#include "dispatch/choose.hpp"
#include "dispatch/tuned.hpp"

namespace cute_py::bindings {
namespace {

namespace py = pybind11;

py::tuple extents(Modes const& modes) {
  py::tuple tuple(modes.rank());
  for (int i = 0; i < modes.rank(); ++i) tuple[i] = modes[i].extent;
  return tuple;
}

py::tuple strides(Modes const& modes, Role role) {
  py::tuple tuple(modes.rank());
  for (int i = 0; i < modes.rank(); ++i) tuple[i] = modes[i].stride[role];
  return tuple;
}

// The modes of a folded product: extents of each group, and strides of A, B and D.
py::dict modes_of(Geometry const& g) {
  py::dict d;
  d["M"] = py::make_tuple(extents(g.m), strides(g.m, Role::a), py::none(), strides(g.m, Role::d));
  d["N"] = py::make_tuple(extents(g.n), py::none(), strides(g.n, Role::b), strides(g.n, Role::d));
  d["K"] = py::make_tuple(extents(g.k), strides(g.k, Role::a), strides(g.k, Role::b), py::none());
  d["L"] = py::make_tuple(extents(g.l), strides(g.l, Role::a), strides(g.l, Role::b), strides(g.l, Role::d));
  return d;
}

// That have to move at least: every element once.
std::int64_t bytes_of_step(Geometry const& g) {
  std::int64_t bytes = 0;
  for (int i = 0; i < kRoles; ++i) {
    auto const role = static_cast<Role>(i);
    if (!g.has(role)) continue;
    std::int64_t elements = 1;
    for_each_group(g, [&](Modes const& modes) {
      for (Mode const& mode : modes) elements *= mode.stride[role] != 0 ? mode.extent : 1;
    });
    bytes += elements * bytes_of(g.type[role]);
  }
  return bytes;
}

py::dict step_of(Request const& request, execution::Outline const& outline, dispatch::Step const& step) {
  py::list rejected;
  dispatch::Question const question = execution::question_of(request, outline);
  for (auto const& [entry, refused] : dispatch::rejections(step.geometry, question)) {
    rejected.append(
        py::make_tuple(entry->traits.name, dispatch::describe(refused, entry->traits, step.geometry, question.device)));
  }
  py::dict d;
  d["what"] = name_of(step.purpose);
  d["is_main"] = step.purpose == dispatch::Purpose::multiply || step.purpose == dispatch::Purpose::copy;
  d["kernel"] = step.entry != nullptr ? py::object(py::str(step.entry->traits.name)) : py::object(py::none());
  d["modes"] = modes_of(step.geometry);
  d["transposed"] = step.transposed;
  d["us"] = step.estimate.us;
  d["bytes"] = bytes_of_step(step.geometry);
  d["bound"] = name_of(step.estimate.bound);
  d["rejected"] = py::tuple(rejected);
  return d;
}

// A, B, C and what else there is; a result that there is not yet is "C float32 (2,3):(3,1) new".
py::tuple operands_of(Request const& request, Product const& product) {
  py::list list;
  for (View const* x : {request.a, request.b, request.c, request.out}) {
    if (x != nullptr) list.append(x->describe());
  }
  if (request.result() == nullptr) {
    list.append("C " + text_of(product.dtype) + " " +
                layout_text(static_cast<int>(product.shape.size()), product.shape.data(), product.stride.data()) +
                " new");
  }
  for (View const* x : {request.bias, request.residual}) {
    if (x != nullptr) list.append(x->describe());
  }
  return py::tuple(list);
}

// Of emulated precision, what the planes are and how many; of residues, how many moduli.
py::object planes_of(dispatch::Program const& program) {
  for (dispatch::Step const& step : program.steps) {
    Planes const& planes = step.geometry.planes;
    if (planes.kind != PlaneKind::none) return py::make_tuple(name_of(planes.kind), int{planes.count});
  }
  return py::none();
}

}  // namespace

py::dict facts_of(Request const& request, execution::Outline const& outline) {
  Product const& product = outline.product;
  Geometry const& g = product.geometry;
  py::list steps;
  for (dispatch::Step const& step : outline.program.steps) steps.append(step_of(request, outline, step));
  py::dict d;
  d["m"] = g.m.size();
  d["n"] = g.n.size();
  d["k"] = g.k.size();
  d["l"] = g.l.size();
  d["compute"] = name_of(g.compute);
  bool const is_exact = g.precision == Precision::exact;
  d["precision"] =
      is_exact ? py::object(py::none())
               : py::object(py::str(std::string(request.compute.empty() ? request.float32_compute : request.compute)));
  d["planes"] = planes_of(outline.program);
  d["operands"] = operands_of(request, product);
  d["target"] = name_of(outline.location.target);
  d["device"] = outline.location.device->name;
  d["why"] = outline.location.why;
  d["bytes"] = product.bytes;
  d["workspace_bytes"] = outline.program.workspace_bytes;
  d["steps"] = py::tuple(steps);
  py::list candidates;
  for (Candidate const& candidate : outline.program.candidates) {
    Decision const& decision = candidate.decision;
    Schedule const& s = decision.schedule;
    candidates.append(py::make_tuple(decision.entry->traits.name, decision.exchanged, s.split_k, s.ctas,
                                     candidate.estimate.us, name_of(candidate.estimate.bound),
                                     letters_of(decision.packs), py::make_tuple(s.cluster_m, s.cluster_n, s.cluster_k),
                                     s.raster));
  }
  d["candidates"] = py::tuple(candidates);
  d["tuned"] = outline.tuned;
  d["staged"] = outline.staging.has_value();
  d["product"] = dispatch::text_of(Folded(outline.staging ? outline.staging->geometry() : g));
  d["labels"] = py::make_tuple(product.labels.a, product.labels.b, product.labels.d);
  py::tuple shape(product.shape.size());
  for (std::size_t i = 0; i < product.shape.size(); ++i) shape[i] = product.shape[i];
  d["shape"] = shape;
  d["order"] = py::tuple(py::cast(product.order));
  d["dtype"] = g.compute == Compute::copy ? text_of(product.dtype) : name_of(g.type[Role::d]);
  return d;
}

}  // namespace cute_py::bindings
