#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "workbench/clocks.hpp"
#include "workbench/costs.hpp"
#include "workbench/fiber.hpp"
#include "workbench/findings.hpp"
#include "workbench/shadow.hpp"
#include "workbench/timeline.hpp"

// The machine that runs foreign kernels: grids of clusters of CTAs, whose threads are fibers.
namespace cute_py::workbench {

enum class Order : std::uint8_t { forward, backward, random };

// What the process that starts a program asks for, in the environment variable CUTE_PY_WORKBENCH: "name=value;...".
struct Options {
  std::string report;            // the file for findings; empty: they are printed
  std::string dump;              // a folder for the arrays on the device, as they are when they are freed
  Order order = Order::forward;  // of threads
  std::uint64_t seed = 0;
  int checked = 1;  // launches of each kernel that are looked at for races and uninitialised reads
  int architecture = 90;
  int multiprocessors = 8;
  int host_threads = 0;   // 0: all
  bool stops = false;     // in a debugger, at the first finding
  bool timeline = false;  // of the first cluster of each kernel that is checked
};
Options const& options();

struct Dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
  unsigned count() const { return x * y * z; }
};

inline constexpr std::size_t kSharedStride = kStackBytes;
inline constexpr int kWarp = 32;
inline constexpr int kWarpgroup = 128;
inline constexpr int kNamedBarriers = 16;
inline constexpr int kTmaAgents = 64;

// A kernel with its arguments.
struct Launch {
  std::string kernel;
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;
  std::size_t dynamic_bytes = 0;
  std::function<void()> body;  // what each thread does
  void const* arguments = nullptr;
  std::size_t argument_bytes = 0;
  bool is_checked = true;
};

// Runs it to its end. Returns a cudaError_t.
int run(Launch const& launch);

struct Thread;
class Cluster;

// What a thread, or a barrier, knows: what happened before, and of that, what asynchronous units may see.
struct Knowledge {
  Clocks seen;
  Clocks visible;
  std::shared_ptr<std::vector<std::uint32_t> const> clusters;  // that have told, by an atomic operation; sorted
  Cycle cycle = 0;                                             // of the timeline: not before

  void join(Knowledge const& other) {
    seen.join(other.seen);
    visible.join(other.visible);
    join_clusters(other.clusters);
    reach(other.cycle);
  }
  void reach(Cycle at) { cycle = std::max(cycle, at); }
  void join_clusters(std::shared_ptr<std::vector<std::uint32_t> const> const& others);
};

enum class State : std::uint8_t { ready, waits, in_warp, done };

// A copy that a thread started and did not wait for.
struct AsyncCopy {
  void* to;
  void const* from;
  int bytes;       // written
  int read_bytes;  // the rest is filled with zeros
};

// Operations that a thread started, in groups that are waited for in order.
template <class Operation>
struct Groups {
  std::vector<Operation> operations;
  std::vector<std::size_t> ends;
  void commit() { ends.push_back(operations.size()); }

  // Takes those of all groups but the newest `left`, and does each.
  template <class Do>
  void complete(std::size_t left, Do const& act) {
    if (ends.size() <= left) return;
    std::size_t const groups = ends.size() - left;
    std::size_t const count = ends[groups - 1];
    for (std::size_t i = 0; i < count; ++i) act(operations[i]);
    operations.erase(operations.begin(), operations.begin() + static_cast<std::ptrdiff_t>(count));
    ends.erase(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(groups));
    for (auto& end : ends) end -= count;
  }
  void clear() {
    operations.clear();
    ends.clear();
  }
};

// An instruction of a warp, or of a warpgroup, at its place in the program.
struct Operand;
struct Statement;

struct WgmmaOperation;  // ptx_wgmma.cpp
struct BulkStore;       // ptx_bulk.cpp
struct TensorMemory;    // ptx_tcgen05.cpp

struct Thread {
  Context context = nullptr;
  int agent = 0;  // its number in the cluster
  int cta = 0;    // the rank of its CTA
  Dim3 index{0, 0, 0};
  State state = State::ready;
  bool (*is_ready)(Thread&) = nullptr;
  void* waits_for = nullptr;
  std::uint64_t wait_detail = 0;
  std::string (*wait_name)(Thread const&) = nullptr;  // in words

  Knowledge knows;
  Clock clock = 1;              // its own
  Clock async_clock = 0;        // of what it started
  void const* frame = nullptr;  // where it is, for findings
  std::uintptr_t code = 0;

  Groups<AsyncCopy> copies;
  std::vector<Clock> copy_clocks;  // of its groups
  Groups<WgmmaOperation*> products;
  Groups<BulkStore*> stores;
  std::vector<Clock> store_clocks;
  std::vector<Clock> product_clocks;
  Clock product_clock = 0;
  std::vector<Cycle> copy_ends;  // of the same groups, on the timeline
  std::vector<Cycle> store_ends;
  std::vector<Cycle> product_ends;
  Cycle products_end = 0;  // of what it has started
  Cycle stores_end = 0;
  char const* section = "";  // of the program, since a mark
  Cycle section_begins = 0;
  std::uintptr_t section_code = 0;
  bool fenced_registers = false;
  Knowledge at_fence;                    // what the thread knew at its last fence, which atomic operations tell
  Knowledge since_fence;                 // what it has learnt by them, and knows after its next fence
  std::uint64_t cluster_generation = 0;  // of the cluster's barrier that it has arrived at
  bool polls = false;                    // waits, but may go on without

  bool sees(int other, Clock at) const { return other == agent || knows.seen[other] >= at; }
};

// An access by an agent, or an asynchronous one.
struct Actor {
  int agent;
  Clock clock;
  Thread const* thread;  // who started it
  bool is_async;         // by the asynchronous proxy
  Cycle ends = 0;        // on the timeline
};

// The CTA-wide barriers.
struct Barrier {
  int arrived = 0;
  int expected = 0;
  std::uint64_t generation = 0;
  Knowledge pending;
  Knowledge completed[2];  // by generation
};

struct Cta {
  char* shared = nullptr;
  std::size_t static_bytes = 0;
  std::vector<std::pair<void const*, char*>> variables;  // __shared__, by the type that names each
  std::array<Barrier, kNamedBarriers> barriers;
  Barrier sync_threads;             // barrier 0 by __syncthreads
  std::vector<Barrier> warpgroups;  // where the warps of each meet before they multiply
  int done = 0;
  Dim3 index{0, 0, 0};
  std::shared_ptr<TensorMemory> tensor_memory;  // of Blackwell; null until it is used
};

// The lanes of a warp that execute a collective instruction.
struct Collective {
  std::uint32_t arrived = 0;
  std::uint32_t mask = 0;
  void const* instruction = nullptr;
  std::array<void*, kWarp> lanes{};  // what each lane gives
  Thread* thread[kWarp] = {};
};

class Cluster {
 public:
  explicit Cluster(Launch const& launch);
  ~Cluster();
  Cluster(Cluster const&) = delete;
  Cluster& operator=(Cluster const&) = delete;

  void begin_launch(std::uint32_t first_serial) { first_serial_ = first_serial; }
  void run(Dim3 first_cta);  // of the grid
  bool has_failed() const { return failed_; }
  int error() const { return error_; }

  Launch const& launch() const { return launch_; }
  Thread& current() { return *current_; }
  Cta& cta() { return ctas_[static_cast<std::size_t>(current_->cta)]; }
  Cta& cta(int rank) { return ctas_[static_cast<std::size_t>(rank)]; }
  int ctas() const { return static_cast<int>(ctas_.size()); }
  int threads_of_cta() const { return threads_; }
  // Own shared memory that needs no look, of the thread that runs: of a launch that is not checked.
  std::uintptr_t quiet = 0;
  std::uintptr_t quiet_bytes = 0;
  Thread& thread(int agent) { return fibers_[static_cast<std::size_t>(agent)]; }
  int threads() const { return static_cast<int>(fibers_.size()); }
  // The threads; what each has started; loads by TMA; the products of each warpgroup.
  int agents() const { return 2 * threads() + kTmaAgents + threads() / kWarpgroup + 1; }
  int tma_agent(int which) const { return 2 * threads() + which; }
  int product_agent(Thread const& thread) const { return 2 * threads() + kTmaAgents + thread.agent / kWarpgroup; }
  int async_agent(Thread const& thread) const { return threads() + thread.agent; }
  std::uint32_t serial() const { return serial_; }
  std::uint32_t first_serial() const { return first_serial_; }
  Dim3 position_in_cluster(int rank) const;
  std::mt19937_64& random() { return random_; }
  std::uint64_t tma_loads = 0;

  // The running thread gives way until is_ready(thread).
  void wait(bool (*is_ready)(Thread&), void* what, std::uint64_t detail, std::string (*name)(Thread const&));
  void yield();

  // The running thread does not go on, nor does the launch.
  [[noreturn]] void stop(int error);
  [[noreturn]] void stop(Kind kind, std::string const& text, int error);
  void report(Kind kind, std::string const& text);
  void report(Kind kind, std::string const& text, Place const& place, Place const& other);
  Place place_of(Thread const& thread) const;
  Place here() const { return place_of(*current_); }

  // The running thread has looked at what others may change: lets them go on.
  void poll();
  // Waits until is_ready, or until nobody else can go on: false then.
  bool wait_or_poll(bool (*is_ready)(Thread&), void* what, std::uint64_t detail, std::string (*name)(Thread const&));

  // Tells others how far the running thread is.
  void release(Knowledge& to);
  void acquire(Knowledge const& from) {
    if (launch_.is_checked) current_->knows.join(from);
  }
  // A thread has waited for what an agent had done at a time.
  void learn(Thread& thread, int agent, Clock at) {
    if (launch_.is_checked) thread.knows.seen.raise(agent, at);
  }

  Barrier& barrier_of_cluster() { return barrier_; }
  void complete(Barrier& barrier);
  // At one of the barriers with numbers.
  void arrive(int number, int expected, bool waits);

  // Lanes of a warp come together. The last one to come gets true, and has to call go_on() when it has done the work
  // for all; the others get false when it is done.
  bool gather(void const* instruction, std::uint32_t mask, void* gives);
  Collective& collective() { return *complete_; }
  void go_on();
  std::uint32_t lanes_that_exist();

  // Counts what accesses cost; null but for the first cluster of a launch that is checked.
  Requests* requests() { return requests_.get(); }

  // What happens when; null but for the first cluster of a launch that is checked, if it was asked for.
  Timeline* timeline() { return timeline_.get(); }
  // Adds a span of the running thread's warp, or of what works beside it, if the thread is the first of its warp.
  void add_span(char const* kind, char const* beside, std::string const& name, Cycle begin, Cycle end);
  // TMA moves one box after the other. Returns when one that is started now has been moved.
  Cycle time_of_tma(char const* kind, std::size_t bytes);

  Cell* shared_cells() { return cells_; }
  char* stack_of(Thread const& thread) { return memory_ + static_cast<std::size_t>(thread.agent) * kStackBytes; }

  // Memory of a __shared__ variable.
  void* shared_variable(void const* key, std::size_t bytes, std::size_t alignment);

  // What a unit that works beside the threads has to do, such as a TMA load; by chance if the order is random.
  void later(std::function<void()> act);

 private:
  static void enter();
  bool pass(Thread& thread);
  bool release_waiting();
  bool do_pending(bool all);
  bool release_polling();
  void report_standstill();

  Launch const& launch_;
  int threads_;  // of a CTA
  std::size_t bytes_;
  void* mapping_;
  char* memory_;
  Cell* cells_ = nullptr;  // of all CTAs' shared memory, kSharedStride apart
  std::vector<Thread> fibers_;
  std::vector<Cta> ctas_;
  Barrier barrier_;                                              // of the whole cluster
  std::vector<std::vector<std::unique_ptr<Collective>>> warps_;  // what lanes of each have come to
  Collective* complete_ = nullptr;                               // that all lanes have come to
  std::unique_ptr<Requests> requests_;
  std::unique_ptr<Timeline> timeline_;
  std::vector<Cycle> tma_busy_;  // of each CTA, until when
  std::vector<std::function<void()>> pending_;
  Context scheduler_ = nullptr;
  Thread* current_ = nullptr;
  Dim3 first_{0, 0, 0};
  std::uint32_t serial_ = 0;
  std::uint32_t first_serial_ = 0;
  std::mt19937_64 random_;
  int idle_rounds_ = 0;  // since somebody's wait has ended
  bool failed_ = false;
  int error_ = 0;
};

// Of this operating-system thread; null outside of kernels.
extern thread_local Cluster* running;

// A wait of the running thread: a span of its warp, if it lasts.
class TimedWait {
 public:
  explicit TimedWait(Cluster& cluster) : cluster_(cluster), begin_(cluster.current().knows.cycle) {}
  template <class Name>
  void end(Name const& name) const {
    if (cluster_.timeline() == nullptr || cluster_.current().knows.cycle == begin_) return;
    cluster_.add_span("wait", "", name(), begin_, cluster_.current().knows.cycle);
  }

 private:
  Cluster& cluster_;
  Cycle begin_;
};

// The program has come to a named section.
void mark(char const* name);

// Checks an access by one instruction (or one of unknown alignment) of the running thread, as the compiler's
// instrumentation or an instruction makes it; ends the launch if it must not be.
void access(void const* address, std::size_t bytes, bool is_write, bool is_aligned, std::uintptr_t code);
void atomic_load_access(void const* address, std::size_t bytes, std::uintptr_t code);
// The same for one that somebody else makes later.
void access_as(Actor const& actor, void const* address, std::size_t bytes, bool is_write);
// An atomic operation: races with plain ones alone.
void atomic_access(void const* address, std::size_t bytes, std::uintptr_t code);
void bounds(void const* address, std::size_t bytes, bool is_write, std::size_t alignment);

// Shadow of shared memory of the running cluster; null for other addresses.
Cell* shared_cells(Cluster& cluster, void const* address);
// Does a thread know, by an atomic operation, what a cluster of the same launch has done?
bool knows_cluster(Thread const& thread, std::uint32_t serial);
bool is_builtin_variable(void const* address);  // threadIdx and kin
bool is_on_own_stack(Thread const& thread, void const* address);

// Where an address is, in words.
std::string where_is(void const* address);

std::uint32_t address_in_shared(void const* address);
void* shared_at(std::uint32_t address);
// The same for all CTAs of the cluster: the rank is in the upper bits.
void* cluster_shared_at(std::uint32_t address);
std::uint32_t address_in_cluster(int rank, std::uint32_t own);

}  // namespace cute_py::workbench
