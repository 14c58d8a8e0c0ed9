#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

// Elements between the memory of the host and that of the current GPU, through pinned memory and by several threads:
// the bus is faster than one thread copies. Both wait until all is there.
namespace cute_py::runtime {

// `pack(to, first, count)` writes that many elements, from the first on, one after the other.
using Pack = std::function<void(void* to, std::int64_t first, std::int64_t count)>;
void send(void* device, std::int64_t elements, int element_bytes, int threads, Pack const& pack);

// `unpack(from, first, count)` reads them.
using Unpack = std::function<void(void const* from, std::int64_t first, std::int64_t count)>;
void fetch(void const* device, std::int64_t elements, int element_bytes, int threads, Unpack const& unpack);

}  // namespace cute_py::runtime
