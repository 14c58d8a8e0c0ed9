// D(m,n,l) = epilogue(alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l)) on the host, as it is written
//
// The plain version of every other kernel: four loops, nothing to get wrong, something to compare with.
//
// Requires:  any extents, any modes, any strides, every type that fits the compute type
// Numerics:  product and sum rounded separately, k ascending
#include <cutlass/tfloat32.h>

#include "numeric/epilogue.hpp"
#include "numeric/types.hpp"
#include "problem/entry.hpp"
#include "problem/offsets.hpp"

namespace cute_py::cpu {
namespace {

// So many steps of k take a moment that nobody notices.
constexpr std::int64_t kStepsUnchecked = 1 << 16;

// The element of an array (first,second,L) as a T.
template <class T>
T at(Array const& array, Modes const& first, std::int64_t i, Modes const& second, std::int64_t j, Modes const& batch,
     std::int64_t l) {
  return numeric::load_as<T>(array.data, array.type,
                             offset_of(first, array.stride[0], i) + offset_of(second, array.stride[1], j) +
                                 offset_of(batch, array.stride[2], l));
}

template <Compute compute, class T>
T factor(T const& x, bool conjugate) {
  if constexpr (numeric::kIsComplex<T>) {
    return conjugate ? T(x.real(), -x.imag()) : x;
  } else if constexpr (compute == Compute::tf32) {
    return static_cast<float>(cutlass::tfloat32_t(x));
  } else {
    return x;
  }
}

template <Compute compute, class T>
int run(Problem const& p, Execution const& execution) {
  using E = numeric::EpilogueType<T>;
  E const alpha = numeric::scalar<E>(p.alpha);
  E const beta = numeric::scalar<E>(p.beta);
  auto const extent_k = p.k.size();
  for (std::int64_t l = 0; l < p.l.size(); ++l) {
    for (std::int64_t n = 0; n < p.n.size(); ++n) {
      for (std::int64_t m = 0; m < p.m.size(); ++m) {
        T sum(0);
        execution.check_interrupt();
        for (std::int64_t k = 0; k < extent_k; ++k) {
          if (k % kStepsUnchecked == kStepsUnchecked - 1) execution.check_interrupt();
          sum = sum + factor<compute>(at<T>(p.a, p.m, m, p.k, k, p.l, l), p.conj_a) *
                          factor<compute>(at<T>(p.b, p.n, n, p.k, k, p.l, l), p.conj_b);
        }
        auto const load = [&](Array const& array) { return at<E>(array, p.m, m, p.n, n, p.l, l); };
        E x = alpha * numeric::convert<E>(sum);
        if (p.reads_c()) x = x + beta * load(p.c);
        if (p.epilogue.bias.data != nullptr) x = x + load(p.epilogue.bias);
        x = numeric::activate(p.epilogue.activation, x);
        x = x * numeric::scalar<E>(p.epilogue.scale);
        if (p.epilogue.residual.data != nullptr) x = x + load(p.epilogue.residual);
        numeric::store_as(
            p.d.data, p.d.type,
            offset_of(p.m, p.d.stride[0], m) + offset_of(p.n, p.d.stride[1], n) + offset_of(p.l, p.d.stride[2], l), x,
            p.epilogue.saturate);
      }
    }
  }
  return 0;
}

template <Compute compute, class T>
constexpr Entry entry(char const* name) {
  Traits traits{};
  traits.name = name;
  traits.kernel = "reference";
  traits.layout = "any";
  traits.target = Target::cpu;
  traits.compute = compute;
  traits.factors = factor_types(compute);
  traits.results = result_types(compute);
  traits.conjugates = true;
  traits.modes = kMaxModes;
  traits.modes_m = kMaxModes;
  traits.fuses = true;
  traits.tile[0] = traits.tile[1] = traits.tile[2] = 1;
  traits.threads = 1;
  traits.stages = 1;
  traits.predicated = true;
  traits.alignment_bytes = 1;
  traits.element_alignment = 1;
  return {traits, &run<compute, T>, nullptr, nullptr};
}

}  // namespace
}  // namespace cute_py::cpu

namespace cute_py::instances {

extern Entry const reference_f32_cpu;
extern Entry const reference_tf32_cpu;
extern Entry const reference_f64_cpu;
extern Entry const reference_c64_cpu;
extern Entry const reference_c128_cpu;
extern Entry const reference_i32_cpu;

Entry const reference_f32_cpu = cpu::entry<Compute::f32, float>("reference_f32");
Entry const reference_tf32_cpu = cpu::entry<Compute::tf32, float>("reference_tf32");
Entry const reference_f64_cpu = cpu::entry<Compute::f64, double>("reference_f64");
Entry const reference_c64_cpu = cpu::entry<Compute::c64, numeric::complex64>("reference_c64");
Entry const reference_c128_cpu = cpu::entry<Compute::c128, numeric::complex128>("reference_c128");
Entry const reference_i32_cpu = cpu::entry<Compute::i32, std::int32_t>("reference_i32");

}  // namespace cute_py::instances
