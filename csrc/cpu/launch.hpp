#pragma once

#include "cpu/isa.hpp"
#include "problem/entry.hpp"

namespace cute_py::cpu {

// A function of the host, made ready for a geometry.
template <int (*run_on_host)(Geometry const&, Arguments const&, Execution const&)>
class HostLaunch final : public Launch {
 public:
  explicit HostLaunch(Geometry const& geometry) : geometry_(geometry) {}

  int run(Arguments const& arguments, Execution const& execution) const override {
    return run_on_host(geometry_, arguments, execution);
  }

 private:
  Geometry geometry_;
};

// What the entries of the host have in common: any modes and any epilogue, element by element.
constexpr Traits host_traits(char const* name, char const* kernel, Compute compute) {
  Traits traits{};
  traits.name = name;
  traits.kernel = kernel;
  traits.operands.letters = "any";
  traits.operands.kind = OperandRule::Kind::strided;
  traits.target = Target::cpu;
  traits.types.compute = compute;
  traits.types.factors = factor_types(compute);
  traits.types.results = result_types(compute);
  traits.types.conjugates = true;
  traits.modes = {kMaxModes, kMaxModes, kMaxModes};
  traits.fuses = true;
  traits.tile[0] = traits.tile[1] = traits.tile[2] = 1;
  traits.types.epilogue = epilogue_types(traits.types.results);
  return traits;
}

// It is given its threads per call.
inline constexpr Resources kHostResources{1, 0, 1, 0, 1, 0};

}  // namespace cute_py::cpu
