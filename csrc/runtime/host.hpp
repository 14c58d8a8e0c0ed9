#pragma once

#include <string>

#include "problem/device.hpp"

namespace cute_py::runtime {

// The CPU that this process runs on, the best instruction set that it and its operating system offer, and as
// multiprocessors the threads that a call may use.
DeviceInfo host_info();
Isa host_isa();

// How many processors this process may use: by its affinity, and by the quota of its control groups.
int host_processors();

// The quota of the groups that a file like /proc/self/cgroup names, in processors, where `root` is mounted; 0 if there
// is none.
double processors_of_quota(std::string const& groups, std::string const& root);

// How many threads a call on the host may use: what was set, or else what OMP_NUM_THREADS said when this was first
// asked, or else as many as processors.
int host_threads();

// 0: by default again.
void set_host_threads(int threads);

}  // namespace cute_py::runtime
