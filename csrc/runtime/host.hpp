#pragma once

#include "problem/device.hpp"

namespace cute_py::runtime {

// The CPU that this process runs on, and the best instruction set that it and its operating system offer.
DeviceInfo host_info();

// How many processors this process may use.
int host_processors();

}  // namespace cute_py::runtime
