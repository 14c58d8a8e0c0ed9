#include "emulator/cta.hpp"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "emulator/sm90.hpp"
#include "emulator/trace.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace cute_py::kernels::cutlass_scheduled {
unsigned char (*shared_memory_of_cta()) [] { return reinterpret_cast<unsigned char (*)[]>(emulator::reach.shared); }
}  // namespace cute_py::kernels::cutlass_scheduled

namespace cute_py::emulator {
namespace {

struct AsyncCopy {
  void* destination;
  void const* source;
  int bytes;
  bool fill_with_zero;
};

enum class State { ready, at_barrier, at_warp_barrier, at_cluster_barrier, waits, done };

struct Fiber {
  ucontext_t context;
  Index3 index;
  State state = State::ready;
  int barriers = 0;
  int warp_barriers = 0;
  std::vector<AsyncCopy> copies;    // in the order of issue
  std::vector<std::size_t> groups;  // copies[..groups[i]) belong to groups 0..i
  Warpgroup products;               // on their way
  Boxes boxes;
  bool has_unfenced_writes = false;
  bool has_unfenced_copies = false;
  bool has_unfenced_barriers = false;      // mbarriers that it made
  bool has_unfenced_sums = true;           // partial sums of its CTA that other CTAs may not see yet
  bool has_counted_without_fence = false;  // accesses after the arrival at a counter may be reordered before it
  bool has_fenced_registers = false;       // for a warpgroup's products
  bool (*is_ready)(void const*) = nullptr;
  void const* waits_for = nullptr;
  char const* name_of_wait = "";
  std::uint32_t number_of_wait = 0;
  void* asan_stack = nullptr;
};

// Of the barriers with numbers.
struct NamedBarrier {
  int arrived = 0;
  std::uint64_t passed = 0;
};
constexpr int kNamedBarriers = 16;

// Shared memory of a CTA begins at a multiple of it.
constexpr std::size_t kSharedStride = kStackBytes;
static_assert(kSharedStride >= kSharedMemoryBytes);

struct Stack {
  void const* bottom = nullptr;
  std::size_t bytes = 0;
};

// A switch to another stack, of which AddressSanitizer, where it looks on, has to be told before and after.
class Switch {
 public:
#ifdef __SANITIZE_ADDRESS__
  Switch(void** own, Stack const& to) { __sanitizer_start_switch_fiber(own, to.bottom, to.bytes); }
  void arrived(void* own) const { __sanitizer_finish_switch_fiber(own, nullptr, nullptr); }

  // On a stack that is new; returns the one that it was reached from.
  static Stack arrived_first() {
    Stack from;
    __sanitizer_finish_switch_fiber(nullptr, &from.bottom, &from.bytes);
    return from;
  }
#else
  Switch(void**, Stack const&) {}
  void arrived(void*) const {}
  static Stack arrived_first() { return {}; }
#endif
};

// Stacks for the fibers of a cluster and its CTAs' shared memory, kept for the next one.
class Memory {
 public:
  Memory(int threads, int ctas) : stack_bytes_(threads * kStackBytes), bytes_(stack_bytes_ + ctas * kSharedStride) {
    auto const mapped = bytes_ + kStackBytes;  // room to begin at a multiple
    mapping_ = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping_ == MAP_FAILED) throw std::bad_alloc();
    auto const address = reinterpret_cast<std::uintptr_t>(mapping_);
    memory_ = static_cast<char*>(mapping_) + (kStackBytes - address % kStackBytes) % kStackBytes;
  }
  Memory(Memory const&) = delete;
  Memory& operator=(Memory const&) = delete;
  ~Memory() { munmap(mapping_, bytes_ + kStackBytes); }

  void* stack(int thread) const { return memory_ + thread * kStackBytes; }
  std::size_t stack_bytes() const { return stack_bytes_; }
  void* shared(int cta) const { return memory_ + stack_bytes_ + cta * kSharedStride; }

 private:
  std::size_t const stack_bytes_;
  std::size_t const bytes_;
  void* mapping_;
  char* memory_;
};

class Cluster {
 public:
  explicit Cluster(Launch const& launch)
      : launch_(launch),
        memory_(launch.threads * launch.cluster, launch.cluster),
        fibers_(launch.threads * launch.cluster),
        warps_((fibers_.size() + kWarp - 1) / kWarp),
        named_(launch.cluster) {}

  // `block` is the first CTA.
  void run(Index3 block, Execution const& execution);

  // Leaves the fiber that is running for good: nothing on its stack owns anything.
  [[noreturn]] void stop(std::string const& what) {
    auto const text = [](unsigned i) { return std::to_string(i); };
    Index3 const at = block();
    fail(std::string(launch_.kernel) + ": thread " + text(current().index.x) + " of block (" + text(at.x) + "," +
         text(at.y) + "," + text(at.z) + ") " + what);
    for (;;) wait(State::done);
  }

  Fiber& current() { return fibers_[current_]; }
  int architecture() const { return architecture_; }
  Index3 block() const { return {block_.x + static_cast<unsigned>(rank()), block_.y, block_.z}; }
  Index3 tile() const { return launch_.tile_of ? launch_.tile_of(launch_.arguments, block().x) : block(); }
  Index3 grid() const { return launch_.grid; }
  int rank() const { return current_ / launch_.threads; }
  int ctas() const { return launch_.cluster; }
  int thread_of_cta() const { return current_ % launch_.threads; }
  void* shared(int cta) const { return memory_.shared(cta); }
  NamedBarrier& named(int number) { return named_[rank()][number]; }
  Tma& tma() { return tma_; }
  // A thread that ends has waited for all that it issued.
  void check_all_done() {
    if (!current().boxes.is_idle()) stop("ends while boxes are on their way out of its CTA's shared memory");
    if (!current().products.is_idle()) stop("ends while products of its warpgroup are on their way");
  }

  // Another CTA's shared memory is gone when that has ended.
  void check_lives(int cta) {
    int const first = cta * launch_.threads;
    if (count(State::done, first, first + launch_.threads) == launch_.threads) {
      stop("uses shared memory of a CTA of its cluster that has ended");
    }
  }

  void check_fenced() {
    int const first = rank() * launch_.threads;
    int const of_warpgroup = first + thread_of_cta() / kWarpgroup * kWarpgroup;
    for (int t = of_warpgroup; t < std::min(of_warpgroup + kWarpgroup, first + launch_.threads); ++t) {
      if (!fibers_[t].has_unfenced_writes) continue;
      stop("stores a box while what thread " + std::to_string(t - first) + " wrote is not fenced");
    }
  }
  int& counted_at() { return counted_at_[rank()]; }
  void wait(State state) {
    Fiber& fiber = current();
    fiber.state = state;
    Switch const to_scheduler(state == State::done ? nullptr : &fiber.asan_stack, scheduler_stack_);
    swapcontext(&fiber.context, &scheduler_);
    to_scheduler.arrived(fiber.asan_stack);
  }

  // Two buffers in turn: while some lanes read one, others may be on their way to the next exchange.
  void* warp_buffer() { return warps_[current_ / kWarp].buffer[current().warp_barriers % 2]; }

 private:
  struct Warp {
    alignas(16) unsigned char buffer[2][kWarpBufferBytes];
    int waiting = 0;
  };

  struct Session;

  static void enter();
  bool release_what_can_go_on(bool may_copy);
  bool release_barrier(int cta);
  bool release_cluster();
  void fail_at_standstill();
  void fail(std::string const& message) { failure_ = std::make_exception_ptr(KernelError("emulator: " + message)); }
  bool pass(int thread);
  int count(State state) const { return count(state, 0, static_cast<int>(fibers_.size())); }
  int count(State state, int first, int last) const {
    return static_cast<int>(std::count_if(fibers_.begin() + first, fibers_.begin() + last,
                                          [&](Fiber const& f) { return f.state == state; }));
  }

  Launch const& launch_;
  Memory memory_;
  std::vector<Fiber> fibers_;
  std::vector<Warp> warps_;
  ucontext_t scheduler_;
  Stack scheduler_stack_;
  int current_ = 0;
  Index3 block_;
  int architecture_ = 0;
  std::vector<std::array<NamedBarrier, kNamedBarriers>> named_;
  Tma tma_;
  std::vector<int> counted_at_;  // of each CTA, barriers that the thread had passed which counted it last
  std::exception_ptr failure_;
};

thread_local Cluster* running = nullptr;

void Cluster::enter() {
  Cluster& cta = *running;
  cta.scheduler_stack_ = Switch::arrived_first();
  try {
    cta.launch_.body(cta.launch_.arguments);
    async_wait(0);  // what the thread did not wait for happens, too, when others may use the memory for something else
    cta.check_all_done();
  } catch (...) {
    if (!cta.failure_) cta.failure_ = std::current_exception();
  }
  cta.wait(State::done);
}

// Runs one thread up to where it waits, and with it releases its warp if it was the last one. Was it?
bool Cluster::pass(int thread) {
  current_ = thread;
  reach.shared = reinterpret_cast<std::uintptr_t>(memory_.shared(rank()));
  reach.unfenced = &current().has_unfenced_writes;
  void* own = nullptr;
  Switch const to_fiber(&own, {memory_.stack(thread), kStackBytes});
  swapcontext(&scheduler_, &fibers_[thread].context);
  to_fiber.arrived(own);
  if (fibers_[thread].state != State::at_warp_barrier) return false;
  auto const first = thread / kWarp * kWarp;
  auto const last = std::min<int>(first + kWarp, static_cast<int>(fibers_.size()));
  if (++warps_[thread / kWarp].waiting < last - first) return false;
  warps_[thread / kWarp].waiting = 0;
  for (int t = first; t < last; ++t) {
    fibers_[t].state = State::ready;
    ++fibers_[t].warp_barriers;
  }
  return true;
}

// Lets the threads of a CTA go on that wait for one another, or finds out that some never will.
bool Cluster::release_barrier(int cta) {
  int const threads = launch_.threads;
  int const first = cta * threads;
  int const waiting = count(State::at_barrier, first, first + threads);
  int const done = count(State::done, first, first + threads);
  if (waiting == 0 || waiting + done < threads) return false;
  if (done > 0) {
    fail(std::string(launch_.kernel) + ": " + std::to_string(done) + " of " + std::to_string(threads) +
         " threads left the kernel while the others wait at a barrier");
    return false;
  }
  for (int t = first; t < first + threads; ++t) fibers_[t].state = State::ready;
  return true;
}

bool Cluster::release_cluster() {
  if (count(State::at_cluster_barrier) < static_cast<int>(fibers_.size())) return false;
  for (Fiber& fiber : fibers_) fiber.state = State::ready;
  return true;
}

// Resumes the threads whose wait is over; if there are none, completes an outstanding TMA load.
bool Cluster::release_what_can_go_on(bool may_copy) {
  bool any = false;
  for (Fiber& fiber : fibers_) {
    if (fiber.state != State::waits || !fiber.is_ready(fiber.waits_for)) continue;
    fiber.state = State::ready;
    any = true;
  }
  for (int cta = 0; cta < ctas() && !failure_; ++cta) any = release_barrier(cta) || any;
  if (failure_) return false;
  return any || release_cluster() || (may_copy && tma_.copy_one());
}

void Cluster::fail_at_standstill() {
  auto const threads = static_cast<int>(fibers_.size());
  auto const name = std::string(launch_.kernel) + ": ";
  auto const of_all = " of " + std::to_string(threads) + " threads ";
  if (int const in_warps = count(State::at_warp_barrier); in_warps > 0) {
    fail(name + std::to_string(in_warps) + of_all + "wait for lanes of their warps that do not come");
    return;
  }
  for (int t = 0; t < threads; ++t) {
    if (fibers_[t].state != State::waits) continue;
    fail(name + "thread " + std::to_string(t % launch_.threads) + " waits for " + fibers_[t].name_of_wait +
         std::to_string(fibers_[t].number_of_wait) + ", which never happens");
    return;
  }
  fail(name + std::to_string(count(State::done)) + of_all + "left the kernel while the others wait at a barrier");
}

// While it lives, this operating-system thread runs a cluster.
struct Cluster::Session {
  Session(Cluster& cta, Execution const& execution) {
    Launch const& launch = cta.launch_;
    auto const span = [](void const* data, std::size_t bytes) {
      auto const first = reinterpret_cast<std::intptr_t>(data);
      return Span{first, first + static_cast<std::intptr_t>(bytes)};
    };
    reach.stacks = reinterpret_cast<std::uintptr_t>(cta.memory_.stack(0));
    reach.stack_bytes = cta.memory_.stack_bytes();
    reach.shared = reinterpret_cast<std::uintptr_t>(cta.memory_.shared(0));
    reach.cluster = reach.shared;
    reach.cluster_bytes = static_cast<std::uintptr_t>(launch.cluster) * kSharedStride;
    reach.shared_bytes = launch.shared_bytes;
    reach.quiet_bytes = execution.tracer == nullptr ? launch.shared_bytes / 16 * 16 : 0;
    reach.operands = &launch.operands;
    reach.arguments = span(launch.arguments, launch.argument_bytes);
    reach.tracer = execution.tracer;
    reach.runs = true;
    running = &cta;
  }
  ~Session() {
    running = nullptr;
    reach = Reach{};
  }
  Session(Session const&) = delete;
  Session& operator=(Session const&) = delete;
};

void Cluster::run(Index3 block, Execution const& execution) {
  EmulatorOptions const& options = execution.emulator;
  Session const session(*this, execution);
  block_ = block;
  architecture_ = options.architecture;
  counted_at_.assign(static_cast<std::size_t>(ctas()), -1);
  for (Warp& warp : warps_) warp.waiting = 0;
  for (int cta = 0; cta < ctas(); ++cta) {
    named_[cta] = {};
    if (options.poison_shared_memory) std::memset(memory_.shared(cta), launch_.poison, launch_.shared_bytes);
  }
  tma_.begin(options);

  auto const threads = static_cast<int>(fibers_.size());
  for (int t = 0; t < threads; ++t) {
    Fiber& fiber = fibers_[t];
    fiber.index = {static_cast<unsigned>(t % launch_.threads), 0, 0};
    fiber.state = State::ready;
    fiber.barriers = 0;
    fiber.warp_barriers = 0;
    fiber.copies.clear();
    fiber.groups.clear();
    fiber.products.clear();
    fiber.boxes.clear();
    fiber.has_unfenced_writes = false;
    fiber.has_unfenced_copies = false;
    fiber.has_unfenced_barriers = false;
    fiber.has_unfenced_sums = true;
    fiber.has_counted_without_fence = false;
    fiber.has_fenced_registers = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = memory_.stack(t);
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &Cluster::enter, 0);
  }

  std::vector<int> order(threads);
  std::iota(order.begin(), order.end(), 0);
  if (options.order == ThreadOrder::backward) std::reverse(order.begin(), order.end());
  std::mt19937_64 random(options.seed ^ (std::uint64_t{block.y} << 32 | block.x));

  // Each round takes every thread that can go on to where it waits.
  while (count(State::done) < threads && !failure_) {
    execution.check_interrupt();
    if (options.order == ThreadOrder::random) std::shuffle(order.begin(), order.end(), random);
    for (int const t : order) {
      // A warp that its lanes let go on does so, as far ahead of the other warps as it gets.
      bool goes_on = fibers_[t].state == State::ready && !failure_ && pass(t);
      while (goes_on) {
        goes_on = false;
        for (int const lane : order) {
          if (lane / kWarp != t / kWarp || fibers_[lane].state != State::ready || failure_) continue;
          goes_on = pass(lane) || goes_on;
        }
      }
    }
    if (failure_ || count(State::done) == threads) break;
    if (!release_what_can_go_on(count(State::ready) == 0) && !failure_ && count(State::ready) == 0)
      fail_at_standstill();
  }
  if (!failure_ && !tma_.is_idle()) {
    fail(std::string(launch_.kernel) + ": a CTA has ended while copies into its shared memory are on their way");
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace

void run_grid(Launch const& launch, Execution const& execution) {
  if (launch.shared_bytes > kSharedMemoryBytes) {
    throw KernelError("emulator: a CTA cannot have " + std::to_string(launch.shared_bytes) + " bytes of shared memory");
  }
  Index3 const grid = launch.grid;
  // The CTAs of a cluster are adjacent along x.
  unsigned const clusters = grid.x / static_cast<unsigned>(launch.cluster);
  auto const blocks = std::int64_t{clusters} * grid.y * grid.z;
  auto const workers = execution.tracer != nullptr ? 1 : std::min<std::int64_t>(execution.host_threads, blocks);
  std::atomic<bool> failed{false};

  // Each worker keeps one cluster's stacks and takes every workers-th of them.
  parallel_for(static_cast<int>(workers), workers, [&](std::int64_t worker) {
    Cluster cluster(launch);
    for (std::int64_t i = worker; i < blocks && !failed; i += workers) {
      auto const x = static_cast<unsigned>(i % clusters) * launch.cluster;
      auto const y = static_cast<unsigned>(i / clusters % grid.y);
      auto const z = static_cast<unsigned>(i / clusters / grid.y);
      try {
        cluster.run({x, y, z}, execution);
      } catch (...) {
        failed = true;
        throw;
      }
    }
  });
}

void stop(std::string const& what) { running->stop(what); }

Index3 thread_index() { return running->current().index; }
Index3 block_index() { return running->block(); }

namespace {

// A thread comes to a barrier. The mbarriers that it made must be fenced, and an arrival at a counter, too. What other
// threads wrote before the barrier needs a new fence after it.
void come_to_barrier() {
  Fiber& fiber = running->current();
  if (fiber.has_unfenced_barriers) stop("comes to a barrier while an mbarrier that it made is not fenced");
  if (fiber.has_counted_without_fence) stop("comes to a barrier after it counted its CTA, with no __threadfence");
  fiber.has_unfenced_sums = true;
  ++fiber.barriers;
}

}  // namespace

void barrier() {
  come_to_barrier();
  running->wait(State::at_barrier);
}

Index3 tile_index() { return running->tile(); }
Index3 grid_size() { return running->grid(); }
int architecture() { return running->architecture(); }

void named_barrier(int number, int threads, bool waits) {
  if (number < 0 || number >= kNamedBarriers)
    stop("asks for barrier " + std::to_string(number) + "; there are 0 to 15");
  NamedBarrier& barrier = running->named(number);
  auto const passed = barrier.passed;
  if (++barrier.arrived == threads) {
    barrier.arrived = 0;
    ++barrier.passed;
  }
  if (!waits) return;
  struct Wait {
    NamedBarrier const* barrier;
    std::uint64_t passed;
  } const wait{&barrier, passed};
  wait_until(
      [](void const* what) {
        auto const& w = *static_cast<Wait const*>(what);
        return w.barrier->passed != w.passed;
      },
      &wait, "the other threads of barrier ", static_cast<std::uint32_t>(number));
}

int rank_in_cluster() { return running->rank(); }
int ctas_of_cluster() { return running->ctas(); }
void* shared_memory_of_cta(int rank) { return running->shared(rank); }
Tma& tma() { return running->tma(); }
Warpgroup& products_on_their_way() { return running->current().products; }
Boxes& boxes_on_their_way() { return running->current().boxes; }
void note_unfenced_write() { running->current().has_unfenced_writes = true; }
void fence_async_proxy() {
  Fiber& fiber = running->current();
  fiber.has_unfenced_writes = false;
  fiber.has_unfenced_copies = false;
}
void check_fenced() { running->check_fenced(); }
bool has_fenced_copies() { return !running->current().has_unfenced_copies; }
void note_mbarrier() { running->current().has_unfenced_barriers = true; }
void fence_mbarriers() { running->current().has_unfenced_barriers = false; }
void note_registers_fenced(bool are) { running->current().has_fenced_registers = are; }
bool has_fenced_registers() { return running->current().has_fenced_registers; }

// A thread that has arrived waits at once: no kernel does anything in between.
void cluster_arrive() {
  come_to_barrier();
  running->wait(State::at_cluster_barrier);
}
void cluster_wait() {}

std::uint32_t address_in_shared(void const* at) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(at) - reach.shared);
}

void* shared_memory_at(std::uint32_t address) { return reinterpret_cast<void*>(reach.shared + address); }

void* shared_memory_of(int rank, void const* own) {
  auto const offset = reinterpret_cast<std::uintptr_t>(own) - reach.shared;
  if (rank < 0 || rank >= running->ctas()) stop("asks for CTA " + std::to_string(rank) + " of its cluster");
  running->check_lives(rank);
  return static_cast<char*>(running->shared(rank)) + offset;
}

void wait_until(bool (*ready)(void const*), void const* what, char const* name, std::uint32_t number) {
  come_to_barrier();
  Fiber& fiber = running->current();
  if (ready(what)) return;
  fiber.is_ready = ready;
  fiber.waits_for = what;
  fiber.name_of_wait = name;
  fiber.number_of_wait = number;
  running->wait(State::waits);
}

void fence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  Fiber& fiber = running->current();
  fiber.has_unfenced_sums = fiber.has_counted_without_fence = false;
}

std::uint64_t count_up(unsigned long long* counter, std::uint64_t by) {
  check(counter, sizeof(*counter), false, Access::instruction);
  check(counter, sizeof(*counter), true, Access::instruction);
  if (running->current().has_unfenced_sums) stop("counts its CTA with no __threadfence after the barrier");
  running->current().has_counted_without_fence = true;
  running->counted_at() = running->current().barriers;
  return __atomic_fetch_add(counter, by, __ATOMIC_SEQ_CST);
}

std::uint64_t exchange_if(unsigned long long* at, std::uint64_t expected, std::uint64_t to) {
  check(at, sizeof(*at), false, Access::instruction);  // checked as a read: it writes no partial sum
  unsigned long long was = expected;
  __atomic_compare_exchange_n(at, &was, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return was;
}

void check_sum_may_be_written() {
  if (running->current().barriers <= running->counted_at()) {
    stop("writes a sum after another thread has counted its CTA as one that has written all");
  }
}

void* warp_buffer() { return running->warp_buffer(); }
void warp_barrier() { running->wait(State::at_warp_barrier); }

int barriers_passed() { return running->current().barriers; }

void async_copy(void* destination, void const* source, int bytes, bool fill_with_zero) {
  if (!fill_with_zero) check(source, bytes, false, Access::announced);
  check(destination, bytes, true, Access::announced);
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
    if (reach.tracer != nullptr) {
      if (!copy.fill_with_zero) check(copy.source, copy.bytes, false, Access::instruction);
      check(copy.destination, copy.bytes, true, Access::instruction);
    }
    if (copy.fill_with_zero) {
      std::memset(copy.destination, 0, copy.bytes);
    } else {
      std::memcpy(copy.destination, copy.source, copy.bytes);
    }
  }
  if (copies > 0) fiber.has_unfenced_copies = true;
  fiber.copies.erase(fiber.copies.begin(), fiber.copies.begin() + static_cast<std::ptrdiff_t>(copies));
  fiber.groups.erase(fiber.groups.begin(), fiber.groups.begin() + static_cast<std::ptrdiff_t>(complete));
  for (auto& end : fiber.groups) end -= copies;
}

}  // namespace cute_py::emulator
