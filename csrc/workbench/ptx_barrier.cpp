#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "workbench/errors.hpp"
#include "workbench/mbarrier.hpp"
#include "workbench/ptx.hpp"

// Barriers of a CTA and of a cluster, mbarriers.
namespace cute_py::workbench {
namespace {

void meet_all();

// What the threads that come to a barrier give to its reduction, of one generation.
struct Votes {
  std::uint64_t generation = ~std::uint64_t{0};
  std::uint32_t given = 0;
  std::uint32_t holding = 0;

  std::uint32_t result(char mode) const { return mode == 'c' ? holding : mode == 'l' ? holding == given : holding > 0; }
};
// Nobody comes to the generation after next before all have read theirs.
std::map<Barrier const*, std::array<Votes, 2>>& votes() {
  thread_local std::map<Barrier const*, std::array<Votes, 2>> made;
  return made;
}

Votes& give_vote(Barrier const& barrier, bool holds) {
  Votes& own = votes()[&barrier][barrier.generation % 2];
  if (own.generation != barrier.generation) own = {barrier.generation, 0, 0};
  ++own.given;
  own.holding += holds ? 1 : 0;
  return own;
}

// bar.sync a{, b}; bar.arrive a, b; bar.red.op d, a{, b}, p; barrier.sync and kin are the same.
void barrier(Frame& f, Statement const& s) {
  bool const reduces = s.has("red");
  std::size_t const first = reduces ? 1 : 0;
  std::size_t const last = s.arguments.size() - first;  // behind the number of threads
  auto const number = static_cast<int>(f.get(s.arguments[first]));
  if (number < 0 || number >= kNamedBarriers)
    return f.refuse(s, "there are barriers 0 to 15, not " + std::to_string(number));
  bool const waits = s.has("sync") || reduces;
  int threads = f.cluster.threads_of_cta();
  threads = (threads + kWarp - 1) / kWarp * kWarp;
  bool const is_whole = last < first + 2;
  if (!is_whole) threads = static_cast<int>(f.get(s.arguments[first + 1]));
  if (!waits && is_whole) return f.refuse(s, "it needs a number of threads");
  if (threads <= 0 || threads % kWarp != 0) {
    return f.refuse(s, "a number of threads is a multiple of 32, not " + std::to_string(threads));
  }
  bool const is_sync_threads = number == 0 && is_whole;
  Cta& cta = f.cluster.cta();
  Barrier const& named = is_sync_threads ? cta.sync_threads : cta.barriers[static_cast<std::size_t>(number)];
  Votes const* const given = reduces ? &give_vote(named, f.get(s.arguments[last]) != 0) : nullptr;
  is_sync_threads ? meet_all() : f.cluster.arrive(number, threads, waits);
  if (reduces) f.set(s.arguments[0], given->result(s.has("popc") ? 'c' : s.has("and") ? 'l' : 'n'));
}

// The last generation of the cluster's barrier that each thread has waited for, counted from 1.
std::vector<std::uint64_t>& passed(Cluster const& cluster) {
  thread_local std::vector<std::uint64_t> made;
  made.resize(static_cast<std::size_t>(cluster.threads()));
  return made;
}

// What comes before a relaxed arrival is told as far as a fence has released it.
void tell_what_is_fenced(Thread const& thread, Barrier& barrier) {
  if (!thread.at_fence.seen.is_empty()) barrier.pending.join(thread.at_fence);
  for (auto& [at, made] : mbarriers()) {
    if (made.maker == thread.agent && made.is_fenced && made.told_by == 0) made.told_by = barrier.generation + 1;
  }
}

// Of the barrier of a cluster a thread that has ended is no longer part.
void complete_if_all_there(Cluster& cluster) {
  Barrier& barrier = cluster.barrier_of_cluster();
  int done = 0;
  for (int rank = 0; rank < cluster.ctas(); ++rank) done += cluster.cta(rank).done;
  if (barrier.arrived > 0 && barrier.arrived + done == cluster.threads()) cluster.complete(barrier);
}

void barrier_of_cluster(Frame& f, Statement const& s) {
  Cluster& cluster = f.cluster;
  Thread& thread = f.thread;
  Barrier& barrier = cluster.barrier_of_cluster();
  if (s.has("arrive")) {
    if (thread.cluster_generation != 0) return f.refuse(s, "the thread has arrived and not waited");
    thread.cluster_generation = barrier.generation + 1;
    if (s.has("relaxed")) {
      if (cluster.launch().is_checked) tell_what_is_fenced(thread, barrier);
      ++barrier.arrived;
    } else {
      cluster.release(barrier.pending);
      ++barrier.arrived;
    }
    complete_if_all_there(cluster);
    return;
  }
  if (thread.cluster_generation == 0) return f.refuse(s, "the thread has not arrived");
  std::uint64_t const generation = thread.cluster_generation - 1;
  thread.cluster_generation = 0;
  TimedWait const timed(cluster);
  cluster.wait([](Thread& t) { return static_cast<Barrier*>(t.waits_for)->generation != t.wait_detail; }, &barrier,
               generation, [](Thread const&) { return std::string("the barrier of its cluster"); });
  cluster.acquire(barrier.completed[generation % 2]);
  timed.end([] { return std::string("barrier of the cluster"); });
  passed(cluster)[static_cast<std::size_t>(thread.agent)] = generation + 1;
}

// An mbarrier as it lies in shared memory. What it stands for is kept beside; these bytes say that nobody has
// overwritten it.
struct Mark {
  std::uint32_t magic;
  std::uint32_t number;
};
constexpr std::uint32_t kMagic = 0x6d626172;

std::string place_of(void const* at) { return "the mbarrier at " + where_is(at); }

Mbarrier& find(Frame const& f, Statement const& s, void* at) {
  bounds(at, 8, false, 8);
  auto const found = mbarriers().find(at);
  if (found == mbarriers().end()) return f.refuse(s, place_of(at) + " has not been initialised"), found->second;
  Mark mark;
  std::memcpy(&mark, at, sizeof(mark));
  if (mark.magic != kMagic) return f.refuse(s, place_of(at) + " has been overwritten"), found->second;
  return found->second;
}

void initialise(Frame& f, Statement const& s) {
  void* const at = f.address(s, s.arguments[0]);
  auto const count = static_cast<std::uint32_t>(f.get(s.arguments[1]));
  if (count == 0 || count > (1u << 20) - 1)
    return f.refuse(s, "it is for 1 to 2**20 - 1 arrivals, not " + std::to_string(count));
  access(at, 8, true, true, f.thread.code);
  Mbarrier& made = mbarriers()[at] = Mbarrier{};
  made.at = at;
  made.expected = made.missing = count;
  made.maker = f.thread.agent;
  made.made_at = f.thread.clock;
  Mark const mark{kMagic, count};
  std::memcpy(at, &mark, sizeof(mark));
}

void invalidate(Frame& f, Statement const& s) {
  void* const at = f.address(s, s.arguments[0]);
  find(f, s, at);
  access(at, 8, true, true, f.thread.code);
  mbarriers().erase(at);
  std::memset(at, 0xff, 8);
}

// An operation on an mbarrier races with plain accesses to it, such as what made it.
void look_at(Frame& f, void const* at, Mbarrier const& barrier) {
  Thread& thread = f.thread;
  bool const knows_of_it = f.cluster.launch().is_checked && barrier.told_by != 0 &&
                           passed(f.cluster)[static_cast<std::size_t>(thread.agent)] >= barrier.told_by;
  if (!knows_of_it) return atomic_load_access(at, 8, thread.code);
  Clocks const known = thread.knows.seen;
  thread.knows.seen.raise(barrier.maker, barrier.made_at);
  atomic_load_access(at, 8, thread.code);
  thread.knows.seen = known;
}

void* barrier_address(Frame const& f, Statement const& s, Argument const& a) { return f.address(s, a); }

void arrive(Frame& f, Statement const& s) {
  bool const returns = s.arguments[0].kind != Argument::Kind::address;
  std::size_t const first = returns ? 1 : 0;
  void* const at = barrier_address(f, s, s.arguments[first]);
  Mbarrier& barrier = find(f, s, at);
  look_at(f, at, barrier);
  std::uint64_t const phase = barrier.phase;
  std::uint32_t count = 1;
  if (s.has("expect_tx")) {
    expect_bytes(barrier, static_cast<std::int64_t>(f.get(s.arguments[first + 1]) & 0xffffffffu));
  } else if (s.arguments.size() > first + 1) {
    count = static_cast<std::uint32_t>(f.get(s.arguments[first + 1]));
  }
  if (barrier.missing < count) return f.refuse(s, place_of(at) + " has had all arrivals of its phase");
  f.cluster.release(barrier.pending);
  barrier.missing -= count;
  complete_phase(barrier);
  if (returns) f.set(s.arguments[0], phase);
}

void expect(Frame& f, Statement const& s) {
  void* const at = barrier_address(f, s, s.arguments[0]);
  expect_bytes(find(f, s, at), static_cast<std::int64_t>(f.get(s.arguments[1]) & 0xffffffffu));
}

void complete_bytes(Frame& f, Statement const& s) {
  void* const at = barrier_address(f, s, s.arguments[0]);
  Mbarrier& barrier = find(f, s, at);
  f.cluster.release(barrier.pending);
  barrier.bytes -= static_cast<std::int64_t>(f.get(s.arguments[1]) & 0xffffffffu);
  complete_phase(barrier);
}

// {test,try}_wait{.parity} p, [at], phase
void wait_for_phase(Frame& f, Statement const& s) {
  void* const at = barrier_address(f, s, s.arguments[1]);
  Mbarrier& barrier = find(f, s, at);
  look_at(f, at, barrier);
  std::uint64_t const given = f.get(s.arguments[2]);
  // Of the two phases that can be asked for, one is current. A parity names the one that is, or the one before it.
  std::uint64_t const phase =
      s.has("parity") ? ((barrier.phase ^ given) & 1) == 0 ? barrier.phase : barrier.phase - 1 : given;
  bool const done = f.cluster.wait_or_poll(
      [](Thread& t) { return static_cast<Mbarrier*>(t.waits_for)->phase != t.wait_detail; }, &barrier, phase,
      [](Thread const& t) {
        auto const& waited = *static_cast<Mbarrier const*>(t.waits_for);
        return place_of(waited.at) + ", which misses " + std::to_string(waited.missing) + " arrivals and " +
               std::to_string(waited.bytes) + " bytes";
      });
  if (done) {
    TimedWait const timed(f.cluster);
    f.cluster.acquire(barrier.completed[phase % 2]);
    timed.end([&] { return "wait for " + place_of(at); });
  }
  f.set(s.arguments[0], done);
}

void copies_arrive_at(Frame& f, Statement const& s) {
  // cp.async.mbarrier.arrive{.noinc}: without noinc the arrival is one more than the barrier was made for.
  void* const at = barrier_address(f, s, s.arguments[0]);
  Mbarrier& barrier = find(f, s, at);
  if (!s.has("noinc")) ++barrier.missing;
  copies_arrive(f.thread, f.cluster, barrier.pending);
  f.cluster.release(barrier.pending);
  --barrier.missing;
  complete_phase(barrier);
}

// mapa.shared::cluster.u32 d, a, cta; mapa.u64 with generic addresses
void map_address(Frame& f, Statement const& s) {
  auto const rank = static_cast<int>(f.get(s.arguments[2]));
  if (rank < 0 || rank >= f.cluster.ctas()) return f.refuse(s, "the cluster has no CTA " + std::to_string(rank));
  std::uint64_t const given = f.get(s.arguments[1]);
  if (s.has("shared::cluster")) {
    f.set(s.arguments[0], address_in_cluster(rank, static_cast<std::uint32_t>(given)));
  } else {
    auto const offset = address_in_shared(reinterpret_cast<void const*>(given));
    f.set(s.arguments[0], reinterpret_cast<std::uint64_t>(cluster_shared_at(address_in_cluster(rank, offset))));
  }
}

void rank_of_address(Frame& f, Statement const& s) {
  std::uint64_t const given = f.get(s.arguments[1]);
  f.set(s.arguments[0],
        (s.has("shared::cluster") ? given : address_in_shared(reinterpret_cast<void const*>(given))) >> 24);
}

// Kernels run one after the other.
void nothing(Frame&, Statement const&) {}

}  // namespace

std::map<void const*, Mbarrier>& mbarriers() {
  thread_local std::map<void const*, Mbarrier> made;
  return made;
}

void fence_mbarriers(Thread const& thread) {
  for (auto& [at, made] : mbarriers()) made.is_fenced = made.is_fenced || made.maker == thread.agent;
}

void expect_bytes(Mbarrier& barrier, std::int64_t bytes) { barrier.bytes += bytes; }

void complete_phase(Mbarrier& barrier) {
  if (barrier.missing != 0 || barrier.bytes != 0) return;
  barrier.completed[barrier.phase % 2] = std::move(barrier.pending);
  barrier.pending = {};
  barrier.missing = barrier.expected;
  ++barrier.phase;
}

namespace {

// Barrier 0 of the whole CTA.
void meet_all() {
  Cluster* const cluster = running;
  if (cluster == nullptr) return;
  Cta& cta = cluster->cta();
  int const threads = cluster->threads_of_cta();
  Barrier& barrier = cta.sync_threads;
  cluster->release(barrier.pending);
  std::uint64_t const generation = barrier.generation;
  barrier.expected = threads;
  if (++barrier.arrived + cta.done >= threads) {
    if (cta.done > 0) {
      cluster->report(Kind::barrier, "comes to a barrier of the whole CTA, of which " + std::to_string(cta.done) +
                                         " threads have ended");
    }
    cluster->complete(barrier);
  }
  cluster->wait([](Thread& t) { return static_cast<Barrier*>(t.waits_for)->generation != t.wait_detail; }, &barrier,
                generation, [](Thread const&) { return std::string("__syncthreads"); });
  TimedWait const timed(*cluster);
  cluster->acquire(barrier.completed[generation % 2]);
  timed.end([] { return std::string("__syncthreads"); });
}

// A function that a program calls, and not as asm: where it is called, for findings.
void note_caller(void const* frame, void const* returns) {
  if (running == nullptr) return;
  Thread& thread = running->current();
  thread.frame = frame;
  thread.code = reinterpret_cast<std::uintptr_t>(returns);
}

}  // namespace

#define CUTE_PY_NOTE_CALLER() note_caller(__builtin_frame_address(0), __builtin_return_address(0))

__attribute__((noinline)) void sync_threads() {
  CUTE_PY_NOTE_CALLER();
  meet_all();
}

__attribute__((noinline)) std::uint32_t sync_threads_and_vote(char mode, bool holds) {
  if (running == nullptr) return holds ? 1 : 0;
  CUTE_PY_NOTE_CALLER();
  Votes const& given = give_vote(running->cta().sync_threads, holds);
  meet_all();
  return given.result(mode);
}

void begin_barriers(Cluster& cluster) {
  mbarriers().clear();
  votes().clear();
  passed(cluster).assign(static_cast<std::size_t>(cluster.threads()), 0);
}

namespace {
struct Meeting {
  Thread* thread;
};
char const kSyncWarp = 0;

void meet_warp(std::uint32_t mask) {
  Cluster* const cluster = running;
  if (cluster == nullptr) return;
  Meeting own{&cluster->current()};
  if (!cluster->gather(&kSyncWarp, mask, &own)) return;
  if (!cluster->launch().is_checked) return cluster->go_on();
  Collective& c = cluster->collective();
  Knowledge all;
  for (int lane = 0; lane < kWarp; ++lane) {
    if ((c.arrived >> lane & 1) == 0) continue;
    Thread& thread = *c.thread[lane];
    all.join(thread.knows);
  }
  for (int lane = 0; lane < kWarp; ++lane) {
    if ((c.arrived >> lane & 1) == 0) continue;
    Thread& thread = *c.thread[lane];
    all.seen.raise(thread.agent, thread.clock);
    ++thread.clock;
  }
  for (int lane = 0; lane < kWarp; ++lane) {
    if ((c.arrived >> lane & 1) != 0) c.thread[lane]->knows.join(all);
  }
  cluster->go_on();
}

void sync_warp_instruction(Frame& f, Statement const& s) {
  meet_warp(static_cast<std::uint32_t>(f.get(s.arguments[0])));
}
}  // namespace

__attribute__((noinline)) void sync_warp(std::uint32_t mask) {
  CUTE_PY_NOTE_CALLER();
  meet_warp(mask);
}

void end_of_thread() {
  Cluster& cluster = *running;
  Thread& thread = cluster.current();
  end_of_copies(thread, cluster);
  end_of_products(thread, cluster);
  end_of_stores(thread, cluster);
  // A barrier that waits for the threads that are left has what it waits for.
  Cta& cta = cluster.cta();
  if (cta.sync_threads.arrived > 0 && cta.sync_threads.arrived + cta.done + 1 >= cluster.threads_of_cta()) {
    cluster.report(Kind::barrier, "ends, while the other threads wait at a barrier of the whole CTA");
    cluster.complete(cta.sync_threads);
  }
  ++cta.done;
  complete_if_all_there(cluster);
  --cta.done;  // the machine counts it
}

Execute find_barrier(std::vector<std::string> const& parts) {
  std::string const& op = parts[0];
  auto const second = parts.size() > 1 ? parts[1] : std::string();
  if (op == "bar" && second == "warp") return &sync_warp_instruction;
  if (op == "barrier" && second == "cluster") return &barrier_of_cluster;
  if (op == "bar" || op == "barrier") return &barrier;
  if (op == "mbarrier") {
    if (second == "init") return &initialise;
    if (second == "inval") return &invalidate;
    if (second == "arrive") return &arrive;
    if (second == "expect_tx") return &expect;
    if (second == "complete_tx") return &complete_bytes;
    if (second == "test_wait" || second == "try_wait") return &wait_for_phase;
  }
  if (op == "cp" && parts.size() > 2 && parts[2] == "mbarrier") return &copies_arrive_at;
  if (op == "mapa") return &map_address;
  if (op == "getctarank") return &rank_of_address;
  if (op == "griddepcontrol") return &nothing;
  return nullptr;
}

}  // namespace cute_py::workbench
