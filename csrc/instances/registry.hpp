#pragma once

#include <utility>
#include <vector>

#include "problem/entry.hpp"

namespace cute_py::instances {

// Every variant of this build, by family, for one target after the other.
class Registry {
 public:
  explicit Registry(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }
  Entry const& operator[](std::size_t i) const { return entries_[i]; }

 private:
  std::vector<Entry> entries_;
};

Registry const& registry();

// The GPU variants of a build that has them all by default, as data to plan by: most of them cannot be prepared.
// `tests/variant_table.py` writes the table.
Registry const& gpu_variants();

}  // namespace cute_py::instances
