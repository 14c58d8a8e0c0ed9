#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>

#include "kernels/namespace.hpp"
#include "problem/entry.hpp"

// One CTA on the host. Its threads are fibers of one operating-system thread, a barrier is a switch to the next fiber,
// and shared memory is a buffer of the operating-system thread.
namespace cute_py::emulator {

struct Index3 {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};

// The most shared memory that a CTA can have on any supported GPU, in bytes.
inline constexpr std::size_t kSharedMemoryBytes = 227 * 1024;

// A kernel did what no GPU guarantees to work, such as a barrier that not every thread reaches.
struct KernelError : std::logic_error {
  using std::logic_error::logic_error;
};

// Runs body once for each of the threads of each CTA of the grid, CTAs in parallel on host_threads threads.
void run_grid(Index3 grid, int threads, std::size_t shared_bytes, Execution const& execution,
              std::function<void()> const& body);

// What the fiber that is running sees.
Index3 thread_index();
Index3 block_index();
void barrier();
int barriers_passed();  // by the fiber that is running

// Memory that the 32 threads of a warp share: what each writes before a warp_barrier, all may read after it, and until
// the next one. Every lane of the warp takes part.
inline constexpr int kWarpBufferBytes = 8192;
void* warp_buffer();
void warp_barrier();

// cp.async: a copy is only noted; it happens at the wait that its group has to be complete at, which is the latest
// moment that the hardware allows. A kernel that reads before its wait reads what was there before.
void async_copy(void* destination, void const* source, int bytes, bool fill_with_zero);
void async_commit();
void async_wait(int groups_left_pending);

// Told of every access that an asynchronous copy makes when it happens; null unless somebody traces.
using AccessHook = void (*)(void const* address, int bytes, bool is_write);
extern AccessHook access_hook;

}  // namespace cute_py::emulator

// In the namespace of the kernels, where their `extern __shared__` declarations look for it.
namespace cute_py::kernels::cutlass_scheduled {
extern __thread unsigned char shared_memory[];
}  // namespace cute_py::kernels::cutlass_scheduled
