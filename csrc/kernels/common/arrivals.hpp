#pragma once

// Where CTAs count themselves; how is in arrivals.cuh.
namespace cute_py::kernels {

// Numbers at which up to 15 CTAs of a launch count themselves each, in memory which nobody has cleared. One holds
// anything at first; then the launch's own number and how many have come; and 0 when all have, so that a graph can
// launch the kernel again as it is.
struct Arrivals {
  using Number = unsigned long long;

  Number* numbers = nullptr;
  Number launch = 0;  // Arguments::launch
};

}  // namespace cute_py::kernels
