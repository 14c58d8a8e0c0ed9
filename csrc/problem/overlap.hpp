#pragma once

#include <cstdint>
#include <vector>

// Which elements of arrays share memory. An array of n modes is a set of bytes: data + sum of index_i * stride_i.
namespace cute_py {

// The place of an array's elements. Strides are in bytes.
struct Footprint {
  struct Mode {
    std::int64_t extent;
    std::int64_t stride;
  };
  void const* data;
  int element_bytes;
  std::vector<Mode> modes;
};

// Do two different coordinates name the same memory, in part or in full? True may be a false alarm only for strides so
// intertwined that the search gives up.
bool shares_elements(Footprint const& array);

// Do two arrays have memory in common? False is certain. True may be a false alarm only for strides so intertwined that
// the search gives up.
bool may_overlap(Footprint const& x, Footprint const& y);

}  // namespace cute_py
