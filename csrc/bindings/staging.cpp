#include "bindings/staging.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "runtime/cuda.hpp"

namespace cute_py::bindings {
namespace {

// to(i,j) = from(i,j), both on the host
void copy_elements(Matrix const& from, Matrix const& to, std::int64_t rows, std::int64_t columns) {
  auto const* const source = static_cast<float const*>(from.data);
  auto* const target = static_cast<float*>(to.data);
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) {
      target[i * to.stride[0] + j * to.stride[1]] = source[i * from.stride[0] + j * from.stride[1]];
    }
  }
}

}  // namespace

Matrix StagedMatrix::compact(Matrix const& host, std::int64_t rows, std::int64_t columns, std::uintptr_t address) {
  auto const length = [](std::int64_t stride, std::int64_t extent) { return extent > 1 ? std::abs(stride) : 0; };
  bool const first_is_faster = length(host.stride[0], rows) <= length(host.stride[1], columns);
  Matrix matrix{reinterpret_cast<void*>(address), {1, 1}};
  matrix.stride[first_is_faster ? 1 : 0] = std::max<std::int64_t>(first_is_faster ? rows : columns, 1);
  return matrix;
}

StagedMatrix::StagedMatrix(Matrix const& host, std::int64_t rows, std::int64_t columns, bool copy_in)
    : device_(compact(host, rows, columns, 0)), rows_(rows), columns_(columns) {
  device_.data = runtime::allocate(std::max<std::int64_t>(rows * columns, 1) * sizeof(float));
  if (!copy_in) return;
  try {
    std::vector<float> elements(rows * columns);
    Matrix packed = device_;
    packed.data = elements.data();
    copy_elements(host, packed, rows, columns);
    runtime::copy_to_device(device_.data, elements.data(), elements.size() * sizeof(float));
  } catch (...) {
    runtime::release(device_.data);
    throw;
  }
}

StagedMatrix::~StagedMatrix() { runtime::release(device_.data); }

void StagedMatrix::copy_back(Matrix const& host) const {
  std::vector<float> elements(rows_ * columns_);
  Matrix packed = device_;
  packed.data = elements.data();
  runtime::copy_to_host(elements.data(), device_.data, elements.size() * sizeof(float));
  copy_elements(packed, host, rows_, columns_);
}

}  // namespace cute_py::bindings
