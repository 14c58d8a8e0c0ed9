#pragma once

namespace cute_py::kernels {

// Elements that are read or written together.
template <class T, int count>
struct alignas(count * sizeof(T)) Neighbours {
  T x[count];
};

}  // namespace cute_py::kernels
