#pragma once

#include "problem/entry.hpp"

namespace cute_py::cpu {

// A function of the host, made ready for a geometry.
template <int (*run_on_host)(Geometry const&, Arguments const&, Execution const&)>
class HostLaunch final : public Launch {
 public:
  explicit HostLaunch(Geometry const& geometry) : geometry_(geometry) {}

  int run(Arguments const& arguments, Execution const& execution) const override {
    return run_on_host(geometry_, arguments, execution);
  }

 private:
  Geometry geometry_;
};

}  // namespace cute_py::cpu
