#pragma once

#include <cstddef>
#include <cstdint>

#include "problem/entry.hpp"
#include "runtime/transfer.hpp"

namespace cute_py::execution {

// The memory of a processor: of the GPU that is current, or of the host, which also stands for that of a GPU that was
// invented.
class Memory {
 public:
  explicit Memory(Target target) : on_gpu_(target == Target::cuda) {}

  // For arrays that are used on unknown streams. Aligned to 256 bytes.
  void* allocate(std::size_t bytes) const;
  void release(void* pointer) const noexcept;

  // Stream ordered, for arrays that are used on one stream.
  void* allocate_on(void* stream, std::size_t bytes) const;
  void release_on(void* stream, void* pointer) const noexcept;

  // Fills with zeros, when the stream gets there.
  void clear_on(void* stream, void* pointer, std::size_t bytes) const;

  // As the functions of runtime/transfer.hpp.
  void send(void* device, std::int64_t elements, int element_bytes, int threads, runtime::Pack const& pack) const;
  void fetch(void const* device, std::int64_t elements, int element_bytes, int threads,
             runtime::Unpack const& unpack) const;

  // Where it has the Ones.
  void* ones() const;

 private:
  bool on_gpu_;
};

}  // namespace cute_py::execution
