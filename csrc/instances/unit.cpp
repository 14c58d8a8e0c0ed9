#include "instances/unit.hpp"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "base/errors.hpp"
#include "instances/registry.hpp"

namespace cute_py::instances {
namespace {

// What units brought for entries of the registry that have no code themselves.
class Loaded {
 public:
  // Is it the first time that this unit is loaded?
  bool begin(Unit const* unit) {
    std::lock_guard const lock(mutex_);
    return units_.insert(unit).second;
  }

  void forget(Unit const* unit) {
    std::lock_guard const lock(mutex_);
    units_.erase(unit);
  }

  void add(Entry const& entry) {
    std::lock_guard const lock(mutex_);
    prepare_.emplace(entry.traits.name, entry.prepare);  // the first one stays: its launches may be in use
  }

  Prepare find(std::string_view name) const {
    std::lock_guard const lock(mutex_);
    auto const found = prepare_.find(name);
    return found != prepare_.end() ? found->second : nullptr;
  }

  void set(FindUnit find) {
    std::lock_guard const lock(mutex_);
    find_unit_ = std::move(find);
  }

  FindUnit find_unit() const {
    std::lock_guard const lock(mutex_);
    return find_unit_;
  }

 private:
  mutable std::mutex mutex_;
  std::set<Unit const*> units_;
  std::map<std::string, Prepare, std::less<>> prepare_;
  FindUnit find_unit_;
};

Loaded& loaded() {
  static auto* const all = new Loaded;  // never destroyed: threads may outlive the module
  return *all;
}

[[noreturn]] void refuse(std::string const& path, std::string const& why, char const* next) {
  throw UnitError("unit " + path + ": " + why + "\n  next: " + next);
}

Unit const& open(std::string const& path) {
  // It stays loaded: what was prepared from it may run at any time.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) refuse(path, dlerror(), "a unit that cute_py.units.compile_unit made");
  auto* const unit = reinterpret_cast<Unit const* (*)()>(dlsym(library, "cute_py_unit"));
  if (unit == nullptr) refuse(path, "it has no function cute_py_unit", "a unit ends with CUTE_PY_UNIT(...)");
  Unit const& found = *unit();
  if (found.abi != kUnitAbi || found.entry_bytes != sizeof(Entry) || found.geometry_bytes != sizeof(Geometry)) {
    refuse(path, "it was compiled for another version of cute_py", "compile it again");
  }
  return found;
}

}  // namespace

std::vector<std::string> load_unit(std::string const& path) {
  Unit const& unit = open(path);
  std::vector<Entry> const entries = unit.entries();
  std::vector<std::string> names;
  for (Entry const& entry : entries) names.emplace_back(entry.traits.name);
  if (!loaded().begin(&unit)) return names;
  std::vector<Entry> added;
  for (Entry const& entry : entries) {
    Entry const* const known = registry().find(entry.traits.name, entry.traits.target);
    if (known == nullptr) added.push_back(entry);
    if (known != nullptr && known->prepare != &prepare_on_demand) {
      loaded().forget(&unit);
      refuse(path, std::string("there is a kernel ") + entry.traits.name + " already",
             "another name for it, or another process");
    }
  }
  registry().add(std::move(added));
  for (Entry const& entry : entries) {
    if (registry().find(entry.traits.name, entry.traits.target)->prepare == &prepare_on_demand) loaded().add(entry);
  }
  return names;
}

std::unique_ptr<Launch> prepare_on_demand(char const* name, Geometry const& geometry, Schedule const& schedule) {
  Prepare prepare = loaded().find(name);
  if (prepare == nullptr) {
    if (FindUnit const find = loaded().find_unit()) find(name);
    prepare = loaded().find(name);
  }
  if (prepare == nullptr)
    throw UnitError(std::string(name) + ": nobody has loaded a unit with this kernel\n  next: cute_py.units.load_unit");
  return prepare(name, geometry, schedule);
}

void set_find_unit(FindUnit find) { loaded().set(std::move(find)); }

}  // namespace cute_py::instances
