#pragma once

#include <cstdint>

#include "problem/problem.hpp"

namespace cute_py::bindings {

// A copy of a host matrix in the memory of the current GPU: compact, along the mode that is faster on the host.
class StagedMatrix {
 public:
  StagedMatrix(Matrix const& host, std::int64_t rows, std::int64_t columns, bool copy_in);
  ~StagedMatrix();
  StagedMatrix(StagedMatrix const&) = delete;
  StagedMatrix& operator=(StagedMatrix const&) = delete;

  Matrix const& on_device() const { return device_; }

  // Writes the elements, and nothing between them, back to the host.
  void copy_back(Matrix const& host) const;

  // The layout that the copy of a matrix has, at a given address.
  static Matrix compact(Matrix const& host, std::int64_t rows, std::int64_t columns, std::uintptr_t address);

 private:
  Matrix device_;
  std::int64_t rows_;
  std::int64_t columns_;
};

}  // namespace cute_py::bindings
