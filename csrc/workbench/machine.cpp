#include "workbench/machine.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <numeric>
#include <thread>

#include "workbench/builtin_variables.hpp"
#include "workbench/errors.hpp"
#include "workbench/ptx.hpp"
#include "workbench/report.hpp"

__thread uint3 threadIdx = {0, 0, 0};
__thread uint3 blockIdx = {0, 0, 0};
__thread dim3 blockDim;
__thread dim3 gridDim;

namespace cute_py::workbench {

thread_local Cluster* running = nullptr;

bool is_builtin_variable(void const* address) {
  auto const holds = [&](auto const& variable) {
    return static_cast<std::size_t>(static_cast<char const*>(address) - reinterpret_cast<char const*>(&variable)) <
           sizeof(variable);
  };
  return holds(threadIdx) || holds(blockIdx) || holds(blockDim) || holds(gridDim);
}

namespace {

// What shared memory is filled with before a CTA begins: NaN in every float type.
constexpr int kPoison = 0xff;

Options read_options() {
  Options made;
  char const* const given = std::getenv("CUTE_PY_WORKBENCH");
  std::string text = given == nullptr ? "" : given;
  while (!text.empty()) {
    auto const end = text.find(';');
    std::string const item = text.substr(0, end);
    text = end == std::string::npos ? "" : text.substr(end + 1);
    auto const equals = item.find('=');
    if (equals == std::string::npos) continue;
    std::string const name = item.substr(0, equals);
    std::string const value = item.substr(equals + 1);
    auto const number = [&] { return std::strtoull(value.c_str(), nullptr, 10); };
    if (name == "report") made.report = value;
    if (name == "dump") made.dump = value;
    if (name == "order")
      made.order = value == "random" ? Order::random : value == "backward" ? Order::backward : Order::forward;
    if (name == "seed") made.seed = number();
    if (name == "checked") made.checked = static_cast<int>(number());
    if (name == "architecture") made.architecture = static_cast<int>(number());
    if (name == "multiprocessors") made.multiprocessors = static_cast<int>(number());
    if (name == "threads") made.host_threads = static_cast<int>(number());
    if (name == "stops") made.stops = number() != 0;
    if (name == "timeline") made.timeline = number() != 0;
  }
  return made;
}

std::atomic<std::uint32_t> serials{1};

}  // namespace

Options const& options() {
  static Options const* const made =
      new Options(read_options());  // the report is written after static objects are gone
  return *made;
}

Cluster::Cluster(Launch const& launch)
    : launch_(launch), threads_(static_cast<int>(launch.block.count())), random_(options().seed) {
  auto const ctas = launch.cluster.count();
  auto const threads = static_cast<std::size_t>(threads_) * ctas;
  std::size_t const wanted = threads * kStackBytes + ctas * kSharedStride;
  std::size_t const shadow = launch.is_checked ? ctas * kSharedStride / kGranule * sizeof(Cell) : 0;
  bytes_ = wanted + shadow + kStackBytes;  // room to begin at a multiple
  mapping_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  auto const address = reinterpret_cast<std::uintptr_t>(mapping_);
  memory_ = static_cast<char*>(mapping_) + (kStackBytes - address % kStackBytes) % kStackBytes;
  fibers_.resize(threads);
  ctas_.resize(ctas);
  for (unsigned i = 0; i < ctas; ++i) {
    ctas_[i].shared = memory_ + threads * kStackBytes + i * kSharedStride;
  }
  if (launch.is_checked) cells_ = reinterpret_cast<Cell*>(memory_ + wanted);
  if (launch.is_checked) requests_ = std::make_unique<Requests>(static_cast<int>(threads));
  if (launch.is_checked && options().timeline) timeline_ = std::make_unique<Timeline>();
  tma_busy_.resize(ctas);
  warps_.resize(threads / kWarp + ctas + 1);
  current_ = &fibers_.front();
}

Cluster::~Cluster() { munmap(mapping_, bytes_); }

void Knowledge::join_clusters(std::shared_ptr<std::vector<std::uint32_t> const> const& others) {
  if (others == nullptr || others == clusters) return;
  if (clusters == nullptr) {
    clusters = others;
    return;
  }
  auto both = std::make_shared<std::vector<std::uint32_t>>();
  std::set_union(clusters->begin(), clusters->end(), others->begin(), others->end(), std::back_inserter(*both));
  clusters = std::move(both);
}

Cell* shared_cells(Cluster& cluster, void const* address) {
  auto const offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(cluster.cta(0).shared);
  if (offset >= static_cast<std::size_t>(cluster.ctas()) * kSharedStride) return nullptr;
  return cluster.shared_cells() + offset / kGranule;
}

bool is_on_own_stack(Thread const& thread, void const* address) {
  auto const stack = reinterpret_cast<std::uintptr_t>(running->stack_of(thread));
  return reinterpret_cast<std::uintptr_t>(address) - stack < kStackBytes;
}

Dim3 Cluster::position_in_cluster(int rank) const {
  auto const r = static_cast<unsigned>(rank);
  Dim3 const c = launch_.cluster;
  return {r % c.x, r / c.x % c.y, r / c.x / c.y};
}

void Cluster::enter() {
  Cluster& cluster = *running;
  cluster.launch_.body();
  end_of_thread();
  Thread& thread = cluster.current();
  mark("");
  thread.code = 0;
  cluster.add_span("kernel", "", "the kernel", 0, thread.knows.cycle);
  thread.state = State::done;
  ++cluster.cta().done;
  for (;;) cute_py_workbench_switch(&thread.context, cluster.scheduler_);
}

bool Cluster::pass(Thread& thread) {
  current_ = &thread;
  threadIdx = {thread.index.x, thread.index.y, thread.index.z};
  Dim3 const cta = ctas_[static_cast<std::size_t>(thread.cta)].index;
  blockIdx = {cta.x, cta.y, cta.z};
  if (!launch_.is_checked) {
    Cta const& own = ctas_[static_cast<std::size_t>(thread.cta)];
    quiet = reinterpret_cast<std::uintptr_t>(own.shared);
    quiet_bytes = own.static_bytes;
  }
  cute_py_workbench_switch(&scheduler_, thread.context);
  return !failed_;
}

void Cluster::wait(bool (*is_ready)(Thread&), void* what, std::uint64_t detail, std::string (*name)(Thread const&)) {
  Thread& thread = *current_;
  thread.is_ready = is_ready;
  thread.waits_for = what;
  thread.wait_detail = detail;
  if (is_ready(thread)) return;
  thread.wait_name = name;
  thread.state = State::waits;
  cute_py_workbench_switch(&thread.context, scheduler_);
}

bool Cluster::wait_or_poll(bool (*is_ready)(Thread&), void* what, std::uint64_t detail,
                           std::string (*name)(Thread const&)) {
  Thread& thread = *current_;
  thread.polls = true;
  wait(is_ready, what, detail, name);
  thread.polls = false;
  thread.is_ready = is_ready;
  thread.waits_for = what;
  thread.wait_detail = detail;
  return is_ready(thread);
}

void Cluster::poll() {
  wait_or_poll([](Thread&) { return false; }, nullptr, 0,
               [](Thread const&) { return std::string("a value in memory to change"); });
}

void Cluster::yield() { cute_py_workbench_switch(&current_->context, scheduler_); }

void Cluster::stop(int error) {
  if (running != this) std::abort();  // host code
  failed_ = true;
  error_ = error;
  for (;;) yield();
}

void Cluster::stop(Kind kind, std::string const& text, int error) {
  report(kind, text);
  stop(error);
}

Place Cluster::place_of(Thread const& thread) const {
  Place place;
  place.thread[0] = static_cast<int>(thread.index.x);
  place.thread[1] = static_cast<int>(thread.index.y);
  place.thread[2] = static_cast<int>(thread.index.z);
  Dim3 const cta = ctas_[static_cast<std::size_t>(thread.cta)].index;
  place.block[0] = static_cast<int>(cta.x);
  place.block[1] = static_cast<int>(cta.y);
  place.block[2] = static_cast<int>(cta.z);
  place.code = code_from(thread.frame, thread.code);
  return place;
}

void Cluster::report(Kind kind, std::string const& text) { report(kind, text, here(), {}); }

void Cluster::report(Kind kind, std::string const& text, Place const& place, Place const& other) {
  note({kind, text, launch_.kernel, place, other});
}

void Cluster::add_span(char const* kind, char const* beside, std::string const& name, Cycle begin, Cycle end) {
  Thread const& thread = *current_;
  int const in_cta = thread.agent % threads_;
  if (timeline_ == nullptr || in_cta % kWarp != 0) return;
  std::string track = "block " + std::to_string(thread.cta) + " warp " + std::to_string(in_cta / kWarp);
  if (*beside != '\0') track = "block " + std::to_string(thread.cta) + ' ' + beside;
  timeline_->add({kind, std::move(track), name, begin, end, thread.code});
}

Cycle Cluster::time_of_tma(char const* kind, std::size_t bytes) {
  Thread const& thread = *current_;
  if (timeline_ == nullptr) return 0;
  Cycle& busy = tma_busy_[static_cast<std::size_t>(thread.cta)];
  Cycle const begin = std::max(busy, thread.knows.cycle);
  busy = begin + (bytes + kTmaBytesPerCycle - 1) / kTmaBytesPerCycle;
  timeline_->add({kind, "block " + std::to_string(thread.cta) + " TMA",
                  std::string(kind) + " of " + std::to_string(bytes) + " bytes", begin, busy + kCyclesOfTma,
                  thread.code});
  return busy + kCyclesOfTma;
}

__attribute__((noinline)) void mark(char const* name) {
  if (running == nullptr) return;
  Thread& thread = running->current();
  if (*thread.section != '\0') {
    thread.code = thread.section_code;
    running->add_span("section", "", thread.section, thread.section_begins, thread.knows.cycle);
  }
  thread.section = name;
  thread.section_begins = thread.knows.cycle;
  thread.frame = __builtin_frame_address(0);
  thread.section_code = thread.code = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
}

void Cluster::release(Knowledge& to) {
  if (!launch_.is_checked) return;
  Thread& thread = *current_;
  to.join(thread.knows);
  if (to.seen.is_empty()) to.seen = Clocks::zero(agents());
  to.seen.raise(thread.agent, thread.clock);
  ++thread.clock;
}

void Cluster::complete(Barrier& barrier) {
  barrier.completed[barrier.generation % 2] = std::move(barrier.pending);
  barrier.pending = {};
  barrier.arrived = 0;
  ++barrier.generation;
}

void Cluster::arrive(int number, int expected, bool waits) {
  Barrier& barrier = cta().barriers[static_cast<std::size_t>(number)];
  if (barrier.arrived > 0 && barrier.expected != expected) {
    report(Kind::barrier, "comes to barrier " + std::to_string(number) + " for " + std::to_string(expected) +
                              " threads, while others wait at it for " + std::to_string(barrier.expected));
  }
  barrier.expected = expected;
  release(barrier.pending);
  std::uint64_t const generation = barrier.generation;
  if (++barrier.arrived == expected) complete(barrier);
  if (!waits) return;
  TimedWait const timed(*this);
  wait([](Thread& t) { return static_cast<Barrier*>(t.waits_for)->generation != t.wait_detail; }, &barrier, generation,
       [](Thread const& t) {
         auto const at = static_cast<Barrier*>(t.waits_for) - running->cta(t.cta).barriers.data();
         return "barrier " + std::to_string(at);
       });
  acquire(barrier.completed[generation % 2]);
  timed.end([&] { return "barrier " + std::to_string(number); });
}

std::uint32_t Cluster::lanes_that_exist() {
  int const in_cta = current_->agent % threads_;
  int const first = in_cta / kWarp * kWarp;
  int const lanes = std::min(kWarp, threads_ - first);
  return lanes == kWarp ? ~0u : (1u << lanes) - 1;
}

bool Cluster::gather(void const* instruction, std::uint32_t mask, void* gives) {
  Thread& thread = *current_;
  int const in_cta = thread.agent % threads_;
  std::uint32_t const own = 1u << in_cta % kWarp;
  mask &= lanes_that_exist();
  if ((mask & own) == 0) {
    stop(Kind::divergence, "executes an instruction of a warp whose mask leaves its own lane out", kErrorLaunchFailure);
  }
  auto& meetings = warps_[static_cast<std::size_t>(thread.cta * ((threads_ + kWarp - 1) / kWarp) + in_cta / kWarp)];
  Collective* found = nullptr;
  for (auto const& meeting : meetings) {
    if (meeting->instruction == instruction && meeting->mask == mask) {
      found = meeting.get();
    } else if ((meeting->mask & own) != 0) {  // which waits for this lane
      Thread const& other = *meeting->thread[__builtin_ctz(meeting->arrived)];
      report(Kind::divergence,
             "executes an instruction of its whole warp, while thread " + std::to_string(other.index.x) +
                 " of the warp is at another one",
             here(), place_of(other));
      stop(kErrorLaunchFailure);
    }
  }
  if (found == nullptr) {
    meetings.push_back(std::make_unique<Collective>());
    found = meetings.back().get();
    found->instruction = instruction;
    found->mask = mask;
  }
  found->arrived |= own;
  found->lanes[static_cast<std::size_t>(in_cta % kWarp)] = gives;
  found->thread[in_cta % kWarp] = &thread;
  if (found->arrived == mask) {
    complete_ = found;
    return true;
  }
  thread.state = State::in_warp;
  cute_py_workbench_switch(&thread.context, scheduler_);
  return false;
}

void Cluster::go_on() {
  Collective& c = *complete_;
  Thread const& any = *c.thread[__builtin_ctz(c.arrived)];
  for (int lane = 0; lane < kWarp; ++lane) {
    if ((c.arrived >> lane & 1) != 0) c.thread[lane]->state = State::ready;
  }
  auto& meetings =
      warps_[static_cast<std::size_t>(any.cta * ((threads_ + kWarp - 1) / kWarp) + any.agent % threads_ / kWarp)];
  meetings.erase(std::find_if(meetings.begin(), meetings.end(), [&](auto const& m) { return m.get() == complete_; }));
  complete_ = nullptr;
}

void* Cluster::shared_variable(void const* key, std::size_t bytes, std::size_t alignment) {
  Cta& own = cta();
  for (auto const& [known, at] : own.variables) {
    if (known == key) return at;
  }
  // Behind what is dynamic, so that that begins at a multiple of 1024, as it does where there is nothing else.
  std::size_t const first = (std::max(own.static_bytes, launch_.dynamic_bytes) + alignment - 1) / alignment * alignment;
  std::size_t const limit = shared_bytes_of(options().architecture);
  if (first + bytes > limit) {
    stop(Kind::api, "needs more than the " + std::to_string(limit) + " bytes of shared memory that a CTA can have",
         kErrorInvalidValue);
  }
  own.static_bytes = first + bytes;
  own.variables.emplace_back(key, own.shared + first);
  std::memset(own.shared + first, kPoison, bytes);
  quiet_bytes = launch_.is_checked ? 0 : own.static_bytes;
  return own.shared + first;
}

void Cluster::later(std::function<void()> act) {
  bool const at_once = options().order == Order::backward || (options().order == Order::random && random_() % 2 == 0);
  if (at_once) {
    act();
  } else {
    pending_.push_back(std::move(act));
  }
}

bool Cluster::do_pending(bool all) {
  if (pending_.empty()) return false;
  do {
    std::size_t const which = options().order == Order::random ? random_() % pending_.size() : 0;
    auto const act = std::move(pending_[which]);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(which));
    act();
  } while (all && !pending_.empty());
  return true;
}

bool Cluster::release_waiting() {
  bool any = false;
  for (Thread& thread : fibers_) {
    if (thread.state != State::waits) continue;
    current_ = &thread;
    if (!thread.is_ready(thread)) continue;
    thread.state = State::ready;
    any = true;
  }
  return any;
}

// Nobody else goes on: who only looks whether something has happened gets the answer no, a number of times.
bool Cluster::release_polling() {
  constexpr int kSwitches = 1 << 24;
  constexpr int kLeastRounds = 1000;
  int const patience = std::max(kLeastRounds, kSwitches / static_cast<int>(fibers_.size()));
  if (++idle_rounds_ > patience) return false;
  bool any = false;
  for (Thread& thread : fibers_) {
    if (thread.state != State::waits || !thread.polls) continue;
    thread.state = State::ready;
    any = true;
  }
  return any;
}

// Nobody can go on. Says what each group of threads waits for.
void Cluster::report_standstill() {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (Thread const& thread : fibers_) {
    if (thread.state == State::done) continue;
    std::string const name = thread.state == State::in_warp ? "the other lanes of its warp" : thread.wait_name(thread);
    auto found = std::find_if(groups.begin(), groups.end(), [&](auto const& group) { return group.first == name; });
    if (found == groups.end()) found = groups.insert(groups.end(), {name, {}});
    found->second.push_back(thread.agent);
  }
  auto const done =
      std::count_if(fibers_.begin(), fibers_.end(), [](Thread const& t) { return t.state == State::done; });
  std::string text;
  for (auto const& [name, agents] : groups) {
    Thread const& first = fibers_[static_cast<std::size_t>(agents.front())];
    if (text.empty()) {
      text =
          "waits for " + name + (agents.size() > 1 ? ", as " + std::to_string(agents.size() - 1) + " others do" : "");
    } else {
      text += "; " + std::to_string(agents.size()) + " threads, " + std::to_string(first.index.x) +
              " among them, wait for " + name;
    }
  }
  if (done > 0) text += "; " + std::to_string(done) + " threads have ended";
  text += ": nobody goes on";
  Thread const& first = fibers_[static_cast<std::size_t>(groups.front().second.front())];
  Place other;
  if (groups.size() > 1) other = place_of(fibers_[static_cast<std::size_t>(groups[1].second.front())]);
  report(Kind::deadlock, text, place_of(first), other);
  failed_ = true;
  error_ = kErrorLaunchTimeout;
}

void Cluster::run(Dim3 first_cta) {
  running = this;
  blockDim = dim3(launch_.block.x, launch_.block.y, launch_.block.z);
  gridDim = dim3(launch_.grid.x, launch_.grid.y, launch_.grid.z);
  first_ = first_cta;
  serial_ = serials.fetch_add(1);
  auto const threads_count = static_cast<int>(fibers_.size());
  for (int rank = 0; rank < ctas(); ++rank) {
    Cta& own = ctas_[static_cast<std::size_t>(rank)];
    Dim3 const at = position_in_cluster(rank);
    own.index = {first_.x + at.x, first_.y + at.y, first_.z + at.z};
    own.static_bytes = launch_.dynamic_bytes;
    own.variables.clear();
    own.barriers = {};
    own.sync_threads = {};
    own.warpgroups.assign(static_cast<std::size_t>(threads_ / kWarpgroup + 1), {});
    own.done = 0;
    own.tensor_memory = nullptr;
    std::memset(own.shared, kPoison, launch_.dynamic_bytes);
  }
  for (auto& meetings : warps_) meetings.clear();
  pending_.clear();
  barrier_ = {};
  idle_rounds_ = 0;
  Clocks const nothing = Clocks::zero(agents());
  for (int i = 0; i < threads_count; ++i) {
    Thread& thread = fibers_[static_cast<std::size_t>(i)];
    thread = Thread{};
    thread.agent = i;
    thread.cta = i / threads_;
    auto const t = static_cast<unsigned>(i % threads_);
    thread.index = {t % launch_.block.x, t / launch_.block.x % launch_.block.y, t / launch_.block.x / launch_.block.y};
    thread.knows.seen = thread.knows.visible = nothing;
    thread.context = make_context(memory_ + static_cast<std::size_t>(i) * kStackBytes, kStackBytes, &Cluster::enter);
  }
  tma_loads = 0;
  begin_cluster(*this);

  std::vector<int> order(fibers_.size());
  std::iota(order.begin(), order.end(), 0);
  if (options().order == Order::backward) std::reverse(order.begin(), order.end());
  random_.seed(options().seed ^ (std::uint64_t{first_.y} << 32 | first_.x) ^ std::uint64_t{first_.z} << 48);
  auto const has_left = [&] {
    return std::any_of(fibers_.begin(), fibers_.end(), [](Thread const& t) { return t.state != State::done; });
  };
  while (!failed_ && has_left()) {
    if (options().order == Order::random) std::shuffle(order.begin(), order.end(), random_);
    bool any = false;
    for (int const i : order) {
      Thread& thread = fibers_[static_cast<std::size_t>(i)];
      if (thread.state != State::ready) continue;
      any = true;
      if (!pass(thread)) break;
      // A warp goes on as far as it gets before another one does.
      int const first = i / threads_ * threads_ + i % threads_ / kWarp * kWarp;
      int const last = std::min(first + kWarp, i / threads_ * threads_ + threads_);
      for (bool goes_on = thread.state == State::ready; goes_on && !failed_;) {
        goes_on = false;
        for (int lane = first; lane < last && !failed_; ++lane) {
          Thread& other = fibers_[static_cast<std::size_t>(lane)];
          if (other.state != State::ready) continue;
          goes_on = pass(other) || goes_on;
        }
      }
      if (failed_) break;
    }
    if (failed_) break;
    bool const has_woken = release_waiting();
    if (has_woken) idle_rounds_ = 0;
    if (any || has_woken || failed_) continue;
    if (do_pending(false)) {
      idle_rounds_ = 0;
      continue;
    }
    if (release_polling()) continue;
    if (has_left()) report_standstill();
  }
  if (!failed_) {
    current_ = &fibers_.front();
    do_pending(true);
    end_of_tensor_memory(*this);
    end_of_cluster(*this);
  }
  if (requests_ != nullptr) note_costs(launch_.kernel, requests_->costs());
  requests_ = nullptr;
  if (timeline_ != nullptr) note_timeline(launch_.kernel, timeline_->spans());
  timeline_ = nullptr;
  running = nullptr;
  threadIdx = blockIdx = {0, 0, 0};
  blockDim = gridDim = dim3(1, 1, 1);
}

int run(Launch const& launch) {
  Dim3 const clusters{launch.grid.x / launch.cluster.x, launch.grid.y / launch.cluster.y,
                      launch.grid.z / launch.cluster.z};
  auto const count = std::uint64_t{clusters.x} * clusters.y * clusters.z;
  auto const cores = options().host_threads > 0 ? static_cast<unsigned>(options().host_threads)
                                                : std::max(1u, std::thread::hardware_concurrency());
  // Shadow memory is of one operating-system thread.
  auto const workers = launch.is_checked ? 1 : std::min<std::uint64_t>(cores, count);
  std::atomic<std::uint64_t> next{0};
  std::atomic<int> error{0};
  std::uint32_t const first_serial = serials.load();
  auto const work = [&] {
    Cluster cluster(launch);
    cluster.begin_launch(first_serial);
    for (std::uint64_t i = next++; i < count && error == 0; i = next++) {
      auto const x = static_cast<unsigned>(i % clusters.x);
      auto const y = static_cast<unsigned>(i / clusters.x % clusters.y);
      auto const z = static_cast<unsigned>(i / clusters.x / clusters.y);
      cluster.run({x * launch.cluster.x, y * launch.cluster.y, z * launch.cluster.z});
      if (cluster.has_failed()) error = cluster.error();
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
  for (auto& thread : threads) thread.join();
  return error;
}

}  // namespace cute_py::workbench
