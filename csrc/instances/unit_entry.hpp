#pragma once

#include "instances/add.hpp"
#include "instances/unit.hpp"

// The one function that a unit exports. Included by a unit's source after the launches of its target:
//
//   #include "instances/launch_emulator.hpp"
//   #include "instances/unit_entry.hpp"
//   #include "kernels/sgemm_1/variants.hpp"
//   CUTE_PY_UNIT(cute_py::kernels::sgemm_1_variants)
namespace cute_py::instances {

template <class... Variants>
std::vector<Entry> entries_of_unit() {
  std::vector<Entry> entries;
  (add_variants<ThisTarget, Variants>(entries), ...);
  return entries;
}

template <class... Variants>
inline constexpr Unit kUnit{kUnitAbi, sizeof(Entry), sizeof(Geometry), &entries_of_unit<Variants...>};

}  // namespace cute_py::instances

#define CUTE_PY_UNIT(...)                                                                            \
  extern "C" __attribute__((visibility("default"))) cute_py::instances::Unit const* cute_py_unit() { \
    return &cute_py::instances::kUnit<__VA_ARGS__>;                                                  \
  }
