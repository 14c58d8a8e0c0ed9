#pragma once

#include <cstdint>
#include <vector>

#include "problem/problem.hpp"

namespace cute_py::bindings {

// A copy of a host array in the memory of the GPU that is current when it is made there: compact, its modes in the
// order of their strides on the host. A mode along which the host array is repeated is repeated there, too.
class StagedArray {
 public:
  // Places of the modes of the groups of `array`; the copy's own are compact.
  StagedArray(Array const& array, Modes const& first, Modes const& second, Modes const& batch);
  ~StagedArray();
  StagedArray(StagedArray const&) = delete;
  StagedArray& operator=(StagedArray const&) = delete;

  // The array as it will be on the GPU; its pointer is as aligned as any allocation, and no place to read from, before
  // `copy_in`.
  Array const& on_device() const { return device_; }

  // Makes room, and brings the elements there, by so many threads, if they are `wanted`.
  void copy_in(bool wanted, int threads);

  // Writes the elements, and nothing between them, back to the host.
  void copy_back(int threads) const;

 private:
  struct Mode {
    std::int64_t extent;
    std::int64_t host;  // stride, in elements; on the device they are compact
  };

  template <class Copy>
  void for_each_run(std::int64_t first, std::int64_t count, Copy const& copy) const;

  template <class Copy>
  void copy_elements(char* packed, std::int64_t first, std::int64_t count, Copy const& copy) const;

  Array host_;
  Array device_;
  std::vector<Mode> modes_;  // those that are not repeated, from the shortest stride on; neighbours merged
  std::int64_t elements_ = 1;
  bool allocated_ = false;
};

}  // namespace cute_py::bindings
