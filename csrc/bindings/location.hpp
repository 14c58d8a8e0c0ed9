#pragma once

#include <string>
#include <string_view>

#include "bindings/product.hpp"
#include "problem/device.hpp"
#include "problem/entry.hpp"

// Where a product runs.
namespace cute_py::bindings {

struct Location {
  Target target;
  int ordinal;  // of a GPU
  bool staged;  // host arrays on a GPU: copied in and out
  char const* why;
};

// Arrays on a GPU: there. Host arrays: the CPU, unless `kernel` names a GPU kernel or `device`, which may be empty,
// says otherwise. Of the product, A and B are known.
Location choose_location(std::string_view kernel, std::string_view device, Product const& product);

DeviceInfo const& device_of(Location const& place);

}  // namespace cute_py::bindings
