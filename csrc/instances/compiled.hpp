#pragma once

#include <vector>

#include "problem/entry.hpp"
#include "problem/packing.hpp"

namespace cute_py::instances {

// The GPU variants that this build has code for, for a GPU and for the emulator.
std::vector<Entry> compiled_entries();

}  // namespace cute_py::instances

namespace cute_py::cpu {

Platform const& platform();

void add_reference(std::vector<Entry>& entries);
void add_engine(std::vector<Entry>& entries);
void add_loops(std::vector<Entry>& entries);
void add_small(std::vector<Entry>& entries);
void add_copy(std::vector<Entry>& entries);

}  // namespace cute_py::cpu
