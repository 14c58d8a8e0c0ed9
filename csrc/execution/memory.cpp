#include "execution/memory.hpp"

#include <cstring>

#include "base/ones.hpp"
#include "base/workspace.hpp"
#include "runtime/cuda.hpp"

namespace cute_py::execution {
void* Memory::allocate(std::size_t bytes) const { return on_gpu_ ? runtime::allocate(bytes) : KeptMemory::take(bytes); }

void Memory::release(void* pointer) const noexcept {
  if (on_gpu_) {
    runtime::release(pointer);
  } else {
    KeptMemory::give(pointer);
  }
}

void* Memory::allocate_on(void* stream, std::size_t bytes) const {
  return on_gpu_ ? runtime::allocate_on(stream, bytes) : allocate(bytes);
}

void Memory::release_on(void* stream, void* pointer) const noexcept {
  if (on_gpu_) {
    runtime::release_on(stream, pointer);
  } else {
    release(pointer);
  }
}

void Memory::clear_on(void* stream, void* pointer, std::size_t bytes) const {
  if (on_gpu_) {
    runtime::clear_on(stream, pointer, bytes);
  } else {
    std::memset(pointer, 0, bytes);
  }
}

void Memory::send(void* device, std::int64_t elements, int element_bytes, int threads,
                  runtime::Pack const& pack) const {
  if (on_gpu_) {
    runtime::send(device, elements, element_bytes, threads, pack);
  } else {
    pack(device, 0, elements);
  }
}

void Memory::fetch(void const* device, std::int64_t elements, int element_bytes, int threads,
                   runtime::Unpack const& unpack) const {
  if (on_gpu_) {
    runtime::fetch(device, elements, element_bytes, threads, unpack);
  } else {
    unpack(device, 0, elements);
  }
}

void* Memory::ones() const {
  return const_cast<void*>(on_gpu_ ? runtime::ones_on_device() : static_cast<void const*>(kOnes.bytes));
}

}  // namespace cute_py::execution
