#pragma once

#include <functional>
#include <optional>
#include <string>

#include "problem/device.hpp"

namespace cute_py {

// The profile of a GPU by the driver's name for it: what `find` has, else that of a known one, else an H200's.
GpuProfile profile_of(std::string const& name);

// Called with a GPU's name when it is first used.
using FindProfile = std::function<std::optional<GpuProfile>(std::string const& name)>;
void set_find_profile(FindProfile find);

// The GPU that the families' tables of speeds were measured on, and that stands for one of which nothing is known.
DeviceInfo h200();

}  // namespace cute_py
