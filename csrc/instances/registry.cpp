#include "instances/registry.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace cute_py::instances {

Entry const* Registry::find(std::string_view name, Target target) const {
  auto const found = std::find_if(
      begin(), end(), [&](Entry const& entry) { return entry.traits.target == target && entry.traits.name == name; });
  return found != end() ? &*found : nullptr;
}

void Registry::add(std::vector<Entry> entries) {
  std::lock_guard const lock(adding_);
  auto const old = size();
  if (old + entries.size() > kMost) throw std::length_error("more than " + std::to_string(kMost) + " kernels");
  std::set<std::pair<std::string_view, Target>> names;
  for (Entry const& entry : *this) names.emplace(entry.traits.name, entry.traits.target);
  for (Entry const& entry : entries) {
    bool const is_new = names.emplace(entry.traits.name, entry.traits.target).second;
    if (!is_new) throw std::invalid_argument(std::string("there is a kernel ") + entry.traits.name + " already");
  }
  auto* const kept = new std::vector<Entry>(std::move(entries));  // never destroyed: launches may be in use
  for (std::size_t i = 0; i < kept->size(); ++i) entries_[old + i] = &(*kept)[i];
  size_.store(old + kept->size(), std::memory_order_release);
}

}  // namespace cute_py::instances
