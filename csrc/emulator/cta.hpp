#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "emulator/memory.hpp"
#include "kernels/common/namespace.hpp"
#include "numeric/tensor_core.hpp"
#include "problem/entry.hpp"

// A cluster of CTAs on the host, mostly of one. Their threads are fibers of one operating-system thread, a barrier is a
// switch to the next fiber, and shared memory is a buffer beside their stacks.
namespace cute_py::emulator {

struct Index3 {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};

// The most shared memory that a CTA can have on any supported GPU, in bytes.
inline constexpr std::size_t kSharedMemoryBytes = 227 * 1024;

// A kernel has undefined behaviour on a GPU, such as a barrier that not every thread reaches, or an access outside of
// its arrays.
struct KernelError : std::logic_error {
  using std::logic_error::logic_error;
};

// A kernel with its arguments.
struct Launch {
  char const* kernel;  // its name
  Index3 grid;
  int cluster = 1;  // adjacent CTAs along x that run together
  int threads;      // of a CTA
  std::size_t shared_bytes;
  unsigned char poison;                 // the bytes of shared memory before a CTA begins
  void (*body)(void const* arguments);  // what each thread does
  void const* arguments = nullptr;
  std::size_t argument_bytes = 0;
  std::vector<Operand> operands;
  Index3 (*tile_of)(void const* arguments, unsigned cta) = nullptr;  // of C, if the kernel has a tile scheduler
};

// Fills shared memory: NaN in every float type; of integers the number furthest from 0, and an offset far away.
inline constexpr unsigned char kPoison = 0xff;
inline constexpr unsigned char kIntegerPoison = 0x80;

// Runs the body once for each of the threads of each CTA of the grid, CTAs in parallel on the execution's host threads.
void run_grid(Launch const& launch, Execution const& execution);

// The built-in variables of the running fiber.
Index3 thread_index();
Index3 block_index();
Index3 tile_index();  // of C, that the CTA begins with
Index3 grid_size();
int architecture();  // that is emulated, 90 for 9.0
void barrier();
int barriers_passed();  // by the fiber that is running

// A named barrier of a CTA: `threads` of them arrive at it, and some of those wait for the others.
void named_barrier(int number, int threads, bool waits);

// The CTAs of a cluster.
int rank_in_cluster();
void cluster_arrive();
void cluster_wait();
std::uint32_t address_in_shared(void const* at);    // counted from where the CTA's own begins
void* shared_memory_at(std::uint32_t address);      // the other way round
void* shared_memory_of(int rank, void const* own);  // the same place in another CTA's shared memory

// Lets other threads run until ready(what) holds. If that never happens, it "waits for" this name and number.
void wait_until(bool (*ready)(void const*), void const* what, char const* name, std::uint32_t number);

// __threadfence: writes before it are visible to other CTAs that read after it.
void fence();

// Atomic add to an arrival counter. Returns the old value. The arrival tells other CTAs that this one has written its
// partial sums: its other threads must not write any before they have passed a barrier.
std::uint64_t count_up(unsigned long long* counter, std::uint64_t by);
void check_sum_may_be_written();

// Compare-and-swap of a counter. Returns the old value.
std::uint64_t exchange_if(unsigned long long* at, std::uint64_t expected, std::uint64_t to);

// Ends the launch with a KernelError that says what the fiber that is running did.
[[noreturn]] void stop(std::string const& what);

inline constexpr int kWarp = 32;
inline constexpr int kWarpgroup = 128;

// Memory that the lanes of a warp share: all may read after a warp_barrier what each wrote before it, until the next
// one. Every lane of the warp takes part.
inline constexpr int kWarpBufferBytes = 8192;
void* warp_buffer();
void warp_barrier();

// An instruction D (m,n) = A (m,k) B (n,k)^T + C.
struct WarpMma {
  int m;
  int n;
  int k;
  int values_a;  // of a thread
  int values_b;
  int values_c;
  std::uint16_t const* holder_a;
  std::uint16_t const* holder_b;
  std::uint16_t const* element_c;
  int bytes;  // of a factor's element
  numeric::FactorFormat format_a;
  numeric::FactorFormat format_b;
};

// The instruction. Each lane gives its own values as numbers of the type that is summed in; sums holds C and becomes D.
// Sums of float are those of a tensor core of the generation that is emulated, to the bit; others are added one after
// the other, k ascending.
void multiply(WarpMma const& mma, float const* a, float const* b, float* sums);
void multiply(WarpMma const& mma, double const* a, double const* b, double* sums);
void multiply(WarpMma const& mma, std::int32_t const* a, std::int32_t const* b, std::int32_t* sums);
void multiply(WarpMma const& mma, std::complex<double> const* a, std::complex<double> const* b,
              std::complex<double>* sums);

// Each lane gives 16 bytes for the place `to` in a message, and takes from it 2 bytes at each of `count` places.
void exchange(void const* given, int to, std::uint16_t const* places, int count, std::uint16_t* taken);

// cp.async: a copy is only noted; it happens at the wait that its group has to be complete at, which is the latest
// moment that the hardware allows. A kernel that reads before its wait reads what was there before.
void async_copy(void* destination, void const* source, int bytes, bool fill_with_zero);
void async_commit();
void async_wait(int groups_left_pending);

}  // namespace cute_py::emulator

// In the namespace of the kernels, where their `extern __shared__` declarations look for it.
namespace cute_py::kernels::cutlass_scheduled {
unsigned char (*shared_memory_of_cta())[];
}  // namespace cute_py::kernels::cutlass_scheduled
