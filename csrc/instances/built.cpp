#include <algorithm>
#include <string_view>
#include <utility>

#include "cpu/families.hpp"
#include "instances/compiled.hpp"
#include "instances/registry.hpp"
#include "instances/unit.hpp"
#include "instances/variants.hpp"
#include "kernels/common/platform.hpp"

namespace cute_py::instances {
namespace {

bool is_named(Entry const& x, Entry const& y) { return std::string_view(x.traits.name) == y.traits.name; }

// The table's variants for a target, in its order, and behind them what this build has beside.
void add_target(Target target, std::vector<Entry> const& compiled, std::vector<Entry>& entries) {
  auto const variants = gpu_variants();
  for (Entry const& row : variants) {
    auto const found = std::find_if(compiled.begin(), compiled.end(), [&](Entry const& entry) {
      return entry.traits.target == target && is_named(entry, row);
    });
    Entry entry = found != compiled.end() ? *found : row;
    entry.traits.target = target;
    if (found == compiled.end() && target == Target::emulator) entry.prepare = &prepare_on_demand;
    entries.push_back(entry);
  }
  for (Entry const& entry : compiled) {
    if (entry.traits.target != target) continue;
    bool const is_known =
        std::any_of(variants.begin(), variants.end(), [&](Entry const& row) { return is_named(row, entry); });
    if (!is_known) entries.push_back(entry);
  }
}

}  // namespace

Platform const& platform(Target target) { return target == Target::cpu ? cpu::platform() : kernels::platform(); }

Registry& registry() {
  static auto* const all = [] {
    auto const compiled = compiled_entries();
    std::vector<Entry> entries;
    add_target(Target::cuda, compiled, entries);
    add_target(Target::emulator, compiled, entries);
    for (Entry const& entry : cpu::entries()) entries.push_back(entry);
    return new Registry(std::move(entries));  // never destroyed: threads may outlive the module
  }();
  return *all;
}

}  // namespace cute_py::instances
