#include "instances/variants.hpp"

#include <iterator>

#include "problem/decision.hpp"

#include "instances/variants.inc"

namespace cute_py::instances {

Variants gpu_variants() { return {std::begin(kVariants), std::end(kVariants)}; }

}  // namespace cute_py::instances
