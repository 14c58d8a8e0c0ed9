#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "problem/entry.hpp"

// Units: shared objects with the code of some variants, compiled apart from the package and loaded at run time.
namespace cute_py::instances {

// Of the structures below and of all that an Entry is made of. A change of any of them is another number.
inline constexpr std::uint32_t kUnitAbi = 3;

// What a unit exports, as `cute_py_unit`.
struct Unit {
  std::uint32_t abi;
  std::size_t entry_bytes;  // sizes that differ show an ABI that somebody forgot to change
  std::size_t geometry_bytes;
  std::vector<Entry> (*entries)();
};

// Loads a unit. Entries that the registry has, but without code, get theirs; the others are added to it. Returns the
// names of the entries. Throws UnitError, and nothing is added then.
std::vector<std::string> load_unit(std::string const& path);

// The kernel of an entry whose unit is loaded on first use.
std::unique_ptr<Launch> prepare_on_demand(char const* name, Geometry const& geometry, Schedule const& schedule);

// Called with the name of a variant of the emulator that there is no code for yet: loads a unit that has it, or throws.
// Without one, nothing is found.
using FindUnit = std::function<void(std::string const& variant)>;
void set_find_unit(FindUnit find);

}  // namespace cute_py::instances
