#pragma once

#include <vector>

#include "instances/unit.hpp"

// The one function that a unit exports. It is given the functions that add its variants:
//
//   #include "instances/unit_entry.hpp"
//   #include "instances/launch_emulator.hpp"
//   #include "kernels/sgemm_1/variants.hpp"
//   using namespace cute_py;
//   CUTE_PY_UNIT(instances::add_variants<instances::ThisTarget, kernels::sgemm_1_variants>)
namespace cute_py::instances {

using AddVariants = void (*)(std::vector<Entry>& entries);

template <AddVariants... add>
std::vector<Entry> entries_of_unit() {
  std::vector<Entry> entries;
  (add(entries), ...);
  return entries;
}

template <AddVariants... add>
inline constexpr Unit kUnit{kUnitAbi, sizeof(Entry), sizeof(Geometry), &entries_of_unit<add...>};

}  // namespace cute_py::instances

#define CUTE_PY_UNIT(...)                                                                            \
  extern "C" __attribute__((visibility("default"))) cute_py::instances::Unit const* cute_py_unit() { \
    return &cute_py::instances::kUnit<__VA_ARGS__>;                                                  \
  }
