#include "emulator/cta.hpp"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "problem/parallel.hpp"

namespace cute_py::kernels::cutlass_scheduled {
alignas(128) __thread unsigned char shared_memory[emulator::kSharedMemoryBytes];
}  // namespace cute_py::kernels::cutlass_scheduled

namespace cute_py::emulator {
namespace {

constexpr std::size_t kStackBytes =
    256 * 1024;  // reserved per thread; the system hands out only the pages that are used

struct AsyncCopy {
  void* destination;
  void const* source;
  int bytes;
  bool fill_with_zero;
};

constexpr int kWarp = 32;

enum class State { ready, at_barrier, at_warp_barrier, done };

struct Fiber {
  ucontext_t context;
  Index3 index;
  State state = State::ready;
  int barriers = 0;
  int warp_barriers = 0;
  std::vector<AsyncCopy> copies;    // in the order of issue
  std::vector<std::size_t> groups;  // copies[..groups[i]) belong to groups 0..i
};

// Stack space for the fibers of one CTA, kept for the next one.
class Stacks {
 public:
  explicit Stacks(int count) : bytes_(count * kStackBytes) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  Stacks(Stacks const&) = delete;
  Stacks& operator=(Stacks const&) = delete;
  ~Stacks() { munmap(memory_, bytes_); }

  void* operator[](int i) const { return static_cast<char*>(memory_) + i * kStackBytes; }

 private:
  std::size_t bytes_;
  void* memory_;
};

class Cta {
 public:
  Cta(int threads, std::function<void()> const& body)
      : body_(body), stacks_(threads), fibers_(threads), warps_((threads + kWarp - 1) / kWarp) {}

  void run(Index3 block, std::size_t shared_bytes, EmulatorOptions const& options);

  Fiber& current() { return fibers_[current_]; }
  Index3 block() const { return block_; }
  void wait(State state) {
    current().state = state;
    swapcontext(&current().context, &scheduler_);
  }

  // Two buffers in turn: while some lanes read one, others may be on their way to the next exchange.
  void* warp_buffer() { return warps_[current_ / kWarp].buffer[current().warp_barriers % 2]; }

 private:
  struct Warp {
    alignas(16) unsigned char buffer[2][kWarpBufferBytes];
    int waiting = 0;
  };

  static void enter();
  void pass(int thread);
  void release_barrier(int threads);
  int count(State state) const {
    return static_cast<int>(
        std::count_if(fibers_.begin(), fibers_.end(), [&](Fiber const& f) { return f.state == state; }));
  }

  std::function<void()> const& body_;
  Stacks stacks_;
  std::vector<Fiber> fibers_;
  std::vector<Warp> warps_;
  ucontext_t scheduler_;
  int current_ = 0;
  Index3 block_;
  std::exception_ptr failure_;
};

thread_local Cta* running = nullptr;

void Cta::enter() {
  Cta& cta = *running;
  try {
    cta.body_();
  } catch (...) {
    if (!cta.failure_) cta.failure_ = std::current_exception();
  }
  cta.wait(State::done);
}

// Runs one thread up to where it waits, and with it releases its warp if it was the last one.
void Cta::pass(int thread) {
  current_ = thread;
  swapcontext(&scheduler_, &fibers_[thread].context);
  if (fibers_[thread].state != State::at_warp_barrier) return;
  auto const first = thread / kWarp * kWarp;
  auto const last = std::min<int>(first + kWarp, static_cast<int>(fibers_.size()));
  if (++warps_[thread / kWarp].waiting < last - first) return;
  warps_[thread / kWarp].waiting = 0;
  for (int t = first; t < last; ++t) {
    fibers_[t].state = State::ready;
    ++fibers_[t].warp_barriers;
  }
}

// Lets all threads go on that wait for one another, or finds out that some never will.
void Cta::release_barrier(int threads) {
  auto const done = count(State::done);
  auto const in_warps = count(State::at_warp_barrier);
  if (done == threads) return;
  if (in_warps > 0) {
    failure_ =
        std::make_exception_ptr(KernelError("emulator: " + std::to_string(in_warps) + " of " + std::to_string(threads) +
                                            " threads wait for lanes of their warps that do not come"));
  } else if (done > 0) {
    failure_ =
        std::make_exception_ptr(KernelError("emulator: " + std::to_string(done) + " of " + std::to_string(threads) +
                                            " threads left the kernel while the others wait at a barrier"));
  }
  for (Fiber& fiber : fibers_) {
    if (fiber.state == State::at_barrier) fiber.state = State::ready;
  }
}

void Cta::run(Index3 block, std::size_t shared_bytes, EmulatorOptions const& options) {
  block_ = block;
  running = this;
  for (Warp& warp : warps_) warp.waiting = 0;
  if (options.poison_shared_memory) {
    float const nan = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 0; i + sizeof(nan) <= shared_bytes; i += sizeof(nan)) {
      std::memcpy(kernels::shared_memory + i, &nan, sizeof(nan));
    }
  }

  auto const threads = static_cast<int>(fibers_.size());
  for (int t = 0; t < threads; ++t) {
    Fiber& fiber = fibers_[t];
    fiber.index = {static_cast<unsigned>(t), 0, 0};
    fiber.state = State::ready;
    fiber.barriers = 0;
    fiber.warp_barriers = 0;
    fiber.copies.clear();
    fiber.groups.clear();
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stacks_[t];
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &Cta::enter, 0);
  }

  std::vector<int> order(threads);
  std::iota(order.begin(), order.end(), 0);
  if (options.order == ThreadOrder::backward) std::reverse(order.begin(), order.end());
  std::mt19937_64 random(options.seed ^ (std::uint64_t{block.y} << 32 | block.x));

  // Each round takes every thread that can go on to where it waits.
  while (count(State::done) < threads && !failure_) {
    if (options.order == ThreadOrder::random) std::shuffle(order.begin(), order.end(), random);
    for (int const t : order) {
      if (fibers_[t].state == State::ready) pass(t);
    }
    if (!failure_ && count(State::ready) == 0) release_barrier(threads);
  }
  running = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace

void run_grid(Index3 grid, int threads, std::size_t shared_bytes, Execution const& execution,
              std::function<void()> const& body) {
  if (shared_bytes > kSharedMemoryBytes) {
    throw KernelError("emulator: a CTA cannot have " + std::to_string(shared_bytes) + " bytes of shared memory");
  }
  auto const blocks = std::int64_t{grid.x} * grid.y * grid.z;
  auto const workers = std::min<std::int64_t>(execution.host_threads, blocks);

  // Each worker keeps one CTA's stacks and takes every workers-th block.
  parallel_for(static_cast<int>(workers), workers, [&](std::int64_t worker) {
    Cta cta(threads, body);
    for (std::int64_t i = worker; i < blocks; i += workers) {
      auto const x = static_cast<unsigned>(i % grid.x);
      auto const y = static_cast<unsigned>(i / grid.x % grid.y);
      auto const z = static_cast<unsigned>(i / grid.x / grid.y);
      cta.run({x, y, z}, shared_bytes, execution.emulator);
    }
  });
}

Index3 thread_index() { return running->current().index; }
Index3 block_index() { return running->block(); }
void barrier() {
  ++running->current().barriers;
  running->wait(State::at_barrier);
}

void* warp_buffer() { return running->warp_buffer(); }
void warp_barrier() { running->wait(State::at_warp_barrier); }

int barriers_passed() { return running->current().barriers; }

AccessHook access_hook = nullptr;

void async_copy(void* destination, void const* source, int bytes, bool fill_with_zero) {
  running->current().copies.push_back({destination, source, bytes, fill_with_zero});
}

void async_commit() {
  Fiber& fiber = running->current();
  fiber.groups.push_back(fiber.copies.size());
}

void async_wait(int groups_left_pending) {
  if (groups_left_pending == 0) async_commit();  // waits for everything, committed or not
  Fiber& fiber = running->current();
  if (fiber.groups.size() <= static_cast<std::size_t>(groups_left_pending)) return;
  auto const complete = fiber.groups.size() - groups_left_pending;
  auto const copies = fiber.groups[complete - 1];
  for (std::size_t i = 0; i < copies; ++i) {
    AsyncCopy const& copy = fiber.copies[i];
    if (access_hook != nullptr) {
      if (!copy.fill_with_zero) access_hook(copy.source, copy.bytes, false);
      access_hook(copy.destination, copy.bytes, true);
    }
    if (copy.fill_with_zero) {
      std::memset(copy.destination, 0, copy.bytes);
    } else {
      std::memcpy(copy.destination, copy.source, copy.bytes);
    }
  }
  fiber.copies.erase(fiber.copies.begin(), fiber.copies.begin() + static_cast<std::ptrdiff_t>(copies));
  fiber.groups.erase(fiber.groups.begin(), fiber.groups.begin() + static_cast<std::ptrdiff_t>(complete));
  for (auto& end : fiber.groups) end -= copies;
}

}  // namespace cute_py::emulator
