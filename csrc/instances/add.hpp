#pragma once

#include <vector>

#include "kernels/common/variants.hpp"
#include "problem/entry.hpp"

namespace cute_py::instances {

// Adds the variants of a list for one target, which says how a kernel is launched and described.
template <class Target_>
struct Add {
  std::vector<Entry>& entries;

  template <class Family, class Config, class Layout>
  void entry(char const* name) const {
    entries.push_back({kernels::traits_of<Family, Config, Layout>(name, Target_::target),
                       kernels::resources_of<Family, Config>(), &Family::rules,
                       &Target_::template prepare<Family, Config>, Target_::template describe<Config>,
                       &Target_::template registers<Family, Config>, Target_::template clusters<Family, Config>});
  }
};

template <class Target_, class Variants>
void add_variants(std::vector<Entry>& entries) {
  kernels::for_each_variant<typename Variants::Family>(Add<Target_>{entries}, typename Variants::Rows{});
}

}  // namespace cute_py::instances
