#pragma once

#include <cstddef>
#include <cstdint>

namespace cute_py::cpu {

// Memory of one thread for one call. What is given back is kept for the next call: up to kMostKept pieces of up to
// kMostBytesKept bytes. A process that was forked has them, too.
class Workspace {
 public:
  static constexpr int kMostKept = 8;
  static constexpr std::size_t kMostBytesKept = std::size_t{16} << 20;

  explicit Workspace(std::size_t bytes);
  Workspace(Workspace const&) = delete;
  Workspace& operator=(Workspace const&) = delete;
  ~Workspace();

  // The next so many elements, at a multiple of 64 bytes. All that is taken has to be within bytes_of() what was asked
  // for.
  template <class T>
  T* take(std::int64_t elements) {
    T* const taken = reinterpret_cast<T*>(data_ + taken_);
    taken_ += bytes_of<T>(elements);
    return taken;
  }

  template <class T>
  static std::size_t bytes_of(std::int64_t elements) {
    return (static_cast<std::size_t>(elements) * sizeof(T) + 63) / 64 * 64;
  }

 private:
  char* data_;
  std::size_t bytes_;
  std::size_t taken_ = 0;
};

}  // namespace cute_py::cpu
