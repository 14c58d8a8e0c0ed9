#pragma once

#include <pybind11/pybind11.h>

#include "bindings/location.hpp"
#include "bindings/product.hpp"
#include "dispatch/program.hpp"

// From the arguments of Python to a Call.
namespace cute_py::bindings {

// `function` is (name, layout, factors, labels): what it is called, the strides and the type that it insists on ("" for
// any), and a letter for each mode of A, B and D (None for a GEMM). `options` is None, or (out, compute, out_dtype,
// conj_a, conj_b, epilogue, batch_invariant). Texts live as long as the objects.
Call make_call(py::tuple const& function, py::handle a, py::handle b, py::handle c, py::handle alpha, py::handle beta,
               py::handle kernel, py::handle device, py::handle stream, py::handle emulator, py::handle options);

// The arguments of a call without its arrays, kept alive.
class OwnedCall {
 public:
  OwnedCall(py::tuple const& function, py::handle alpha, py::handle beta, py::handle kernel, py::handle device,
            py::handle emulator, py::handle options);

  Call with(py::handle a, py::handle b, py::handle c) const;
  std::string function() const;

  // Lets go of the array that the result went to.
  void forget_out();

  // For the collector of cycles.
  int visit(visitproc visitor, void* argument) const;
  void clear();

 private:
  py::tuple function_;
  py::object alpha_;
  py::object beta_;
  py::object kernel_;
  py::object device_;
  py::object emulator_;
  py::object options_;
};

// The steps of a product, or UnsupportedProblemError with the reasons of every candidate.
dispatch::Program plan_product(Product const& product, Problem const& problem, Location const& location);

// Threads that a call on host arrays may use. Guarded by the GIL.
int& host_threads();

}  // namespace cute_py::bindings
