#pragma once

#include <cute/numeric/math.hpp>

namespace cute_py::kernels {

// Elements that are read or written together, in vectors of up to 16 bytes.
template <class T, int count>
struct alignas(cute::min(16, count* static_cast<int>(sizeof(T)))) AlignedArray {
  T x[count];
};

}  // namespace cute_py::kernels
