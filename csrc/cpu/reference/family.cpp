// D(m,n,l) = epilogue(alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l)) on the host, as it is written
//
// The plain version of every other kernel: four loops, nothing to get wrong, something to compare with.
//
// Requires:  any extents, any modes, any strides, every type that fits the compute type
// Numerics:  product and sum rounded separately, k ascending
// Workspace: none
// Threads:   one
#include <vector>

#include <cutlass/tfloat32.h>

#include "cpu/family.hpp"
#include "numeric/epilogue.hpp"
#include "numeric/types.hpp"
#include "problem/entry.hpp"

namespace cute_py::cpu {

extern Rules const reference_rules;

namespace {

// So many steps of k take a moment that nobody notices.
constexpr std::int64_t kStepsUnchecked = 1 << 16;

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
int run(Geometry const& g, Arguments const& x, Execution const& execution) {
  using E = numeric::EpilogueType<T>;
  E const alpha = numeric::scalar<E>(x.alpha);
  E const beta = numeric::scalar<E>(x.beta);
  auto const extent_k = g.multiplies ? g.k.size() : 0;
  for (std::int64_t l = 0; l < g.l.size(); ++l) {
    for (std::int64_t n = 0; n < g.n.size(); ++n) {
      for (std::int64_t m = 0; m < g.m.size(); ++m) {
        // Where this row, column and product of the batch are in an array.
        auto const at = [&](Role role) {
          return offset_of(g.m, role, m) + offset_of(g.n, role, n) + offset_of(g.l, role, l);
        };
        auto const at_a = at(Role::a);
        auto const at_b = at(Role::b);
        T sum(0);
        execution.check_interrupt();
        for (std::int64_t k = 0; k < extent_k; ++k) {
          if (k % kStepsUnchecked == kStepsUnchecked - 1) execution.check_interrupt();
          auto const a = numeric::load_as<T, numeric::kReadableOnHost<T>>(x.data[Role::a], g.type[Role::a],
                                                                          at_a + offset_of(g.k, Role::a, k));
          auto const b = numeric::load_as<T, numeric::kReadableOnHost<T>>(x.data[Role::b], g.type[Role::b],
                                                                          at_b + offset_of(g.k, Role::b, k));
          sum = sum + factor<compute>(a, g.conj_a) * factor<compute>(b, g.conj_b);
        }
        auto const load = [&](Role role) {
          return numeric::load_as<E, numeric::kReadableOnHost<E>>(x.data[role], g.type[role], at(role));
        };
        E result = numeric::times<E>(alpha, numeric::convert<E>(sum));
        if (g.reads_c) result = result + numeric::times<E>(beta, load(Role::c));
        if (g.has_bias) result = result + load(Role::bias);
        result = numeric::activate(g.activation, result);
        result = numeric::times<E>(numeric::scalar<E>(x.scale), result);
        if (g.has_residual) result = result + load(Role::residual);
        numeric::store_as<E, numeric::kWritableOnHost<E>>(x.data[Role::d], g.type[Role::d], at(Role::d), result,
                                                          g.saturate);
      }
    }
  }
  return 0;
}

template <Compute compute>
class ReferenceLaunch final : public Launch {
 public:
  explicit ReferenceLaunch(Geometry const& geometry) : geometry_(geometry) {}

  int run(Arguments const& arguments, Execution const& execution) const override {
    return cpu::run<compute, typename Arithmetic<compute>::Accumulator>(geometry_, arguments, execution);
  }

 private:
  Geometry const geometry_;
};

struct ReferenceFamily {
  static constexpr char const* kernel = "reference";
  static constexpr Rules const* rules = &reference_rules;
  using List =
      VariantList<PortableVariant<Compute::f32>, PortableVariant<Compute::tf32>, PortableVariant<Compute::f64>,
                  PortableVariant<Compute::c64>, PortableVariant<Compute::c128>, PortableVariant<Compute::i32>>;

  template <class V>
  static void limit(Traits&) {}

  template <class V>
  static std::unique_ptr<Launch> prepare(Geometry const& geometry) {
    return std::make_unique<ReferenceLaunch<V::compute>>(geometry);
  }
};

}  // namespace

void add_reference(std::vector<Entry>& entries) { add_variants<ReferenceFamily>(entries); }

}  // namespace cute_py::cpu
