#pragma once

#include <thrust/detail/config.h>

#include <thrust/mr/fancy_pointer_resource.h>
#include <thrust/mr/memory_resource.h>
#include <thrust/mr/new.h>
#include <thrust/system/cpp/pointer.h>

#include <new>

// Stands in front of Thrust's header of the same name, so that a device_vector's memory is the emulator's.
namespace cute_py::workbench {
void* allocate(std::size_t bytes, bool is_initialised);
void free_array(void* pointer);

class DeviceMemory final : public THRUST_NS_QUALIFIER::mr::memory_resource<> {
 public:
  void* do_allocate(std::size_t bytes, std::size_t) override {
    if (void* const made = ::cute_py::workbench::allocate(bytes, true)) return made;  // the host writes to it, too
    throw std::bad_alloc();
  }
  void do_deallocate(void* pointer, std::size_t, std::size_t) override { ::cute_py::workbench::free_array(pointer); }
};
}  // namespace cute_py::workbench

THRUST_NAMESPACE_BEGIN
namespace system {
namespace cpp {
namespace detail {
using native_resource =
    thrust::mr::fancy_pointer_resource<::cute_py::workbench::DeviceMemory, thrust::cpp::pointer<void>>;
using universal_native_resource =
    thrust::mr::fancy_pointer_resource<::cute_py::workbench::DeviceMemory, thrust::cpp::universal_pointer<void>>;
}  // namespace detail
using memory_resource = detail::native_resource;
using universal_memory_resource = detail::universal_native_resource;
using universal_host_pinned_memory_resource = universal_memory_resource;
}  // namespace cpp
}  // namespace system
THRUST_NAMESPACE_END
