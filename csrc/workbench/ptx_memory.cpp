#include <algorithm>
#include <atomic>
#include <cstring>
#include <unordered_map>

#include "workbench/errors.hpp"
#include "workbench/mbarrier.hpp"
#include "workbench/ptx.hpp"

// Loads and stores, atomic operations, fences, cp.async.
namespace cute_py::workbench {
namespace {

int width_of(Statement const& s) { return s.has("v8") ? 8 : s.has("v4") ? 4 : s.has("v2") ? 2 : 1; }

// Atomic operations that order others: what a thread told at an address, and what it learns there. Kept while a launch
// is checked, which one operating-system thread runs.
struct Location {
  std::uint32_t serial = 0;
  Knowledge knows;
};
std::unordered_map<void const*, Location>& locations() {
  static auto* const made = new std::unordered_map<void const*, Location>;
  return *made;
}

bool is_volatile(Statement const& s) {
  return s.has("volatile") || s.has("relaxed") || s.has("acquire") || s.has("release") || s.has("acq_rel") ||
         s.has("mmio");
}

void add_own_cluster(Knowledge& knows, std::uint32_t serial) {
  knows.join_clusters(std::make_shared<std::vector<std::uint32_t> const>(1, serial));
}

void tell(Cluster& cluster, void const* address, Knowledge const& what) {
  Location& at = locations()[address];
  if (at.serial != cluster.serial()) {
    auto const clusters = at.knows.clusters;
    at = {cluster.serial(), {}};
    at.knows.join_clusters(clusters);
  }
  at.knows.join(what);
  add_own_cluster(at.knows, cluster.serial());
}

// What an atomic operation at an address means for order.
void synchronise(Frame& f, void const* address, bool reads, bool writes, bool acquires, bool releases) {
  Cluster& cluster = f.cluster;
  if (!cluster.launch().is_checked) return;
  Thread& thread = f.thread;
  if (writes) {
    if (releases) cluster.release(thread.at_fence);
    if (!thread.at_fence.seen.is_empty()) tell(cluster, address, thread.at_fence);
  }
  if (!reads) return;
  auto const found = locations().find(address);
  if (found == locations().end()) return;
  Location const& at = found->second;
  Knowledge learnt;
  if (at.serial == cluster.serial()) {
    learnt = at.knows;
  } else {
    learnt.clusters = at.knows.clusters;
  }
  thread.since_fence.join(learnt);
  if (acquires) thread.knows.join(learnt);
}

void load(Frame& f, Statement const& s) {
  int const width = width_of(s);
  int const bytes = bytes_of(s.types.back());
  auto* const at = static_cast<char*>(f.address(s, s.arguments[1]));
  auto const size = static_cast<std::size_t>(width * bytes);
  if (is_volatile(s)) {
    atomic_load_access(at, size, f.thread.code);
    synchronise(f, at, true, false, s.has("acquire"), false);
    f.cluster.poll();
  } else {
    access(at, size, false, true, f.thread.code);
  }
  for (int i = 0; i < width; ++i) {
    std::uint64_t value[2] = {0, 0};
    std::memcpy(value, at + i * bytes, static_cast<std::size_t>(bytes));
    if (is_signed(s.types.back()) && bytes < 8) {
      int const shift = 64 - bytes * 8;
      value[0] = static_cast<std::uint64_t>(static_cast<std::int64_t>(value[0] << shift) >> shift);
    }
    Argument const& to = s.arguments[0];
    f.set(to.kind == Argument::Kind::vector ? to.parts[static_cast<std::size_t>(i)] : to, value[0], value[1]);
  }
}

void store(Frame& f, Statement const& s) {
  if (s.has("async")) return f.refuse(s, "the emulator does not know st.async");
  int const width = width_of(s);
  int const bytes = bytes_of(s.types.back());
  auto* const at = static_cast<char*>(f.address(s, s.arguments[0]));
  auto const size = static_cast<std::size_t>(width * bytes);
  if (is_volatile(s)) {
    atomic_access(at, size, f.thread.code);
    synchronise(f, at, false, true, false, s.has("release"));
  } else {
    access(at, size, true, true, f.thread.code);
  }
  for (int i = 0; i < width; ++i) {
    Argument const& from = s.arguments[1];
    Operand const value = f.wide(from.kind == Argument::Kind::vector ? from.parts[static_cast<std::size_t>(i)] : from);
    std::memcpy(at + i * bytes, value.value, static_cast<std::size_t>(bytes));
  }
}

template <class T>
T combined(std::string const& op, T old, T x, T y) {
  if (op == "add") return static_cast<T>(old + x);
  if (op == "min") return std::min(old, x);
  if (op == "max") return std::max(old, x);
  if (op == "exch") return x;
  if constexpr (std::is_integral_v<T>) {
    if (op == "and") return old & x;
    if (op == "or") return old | x;
    if (op == "xor") return old ^ x;
    if (op == "cas") return old == x ? y : old;
    if (op == "inc") return old >= x ? T{0} : static_cast<T>(old + 1);
    if (op == "dec") return old == 0 || old > x ? x : static_cast<T>(old - 1);
  }
  return old;
}

template <class T>
std::uint64_t update(void* at, std::string const& op, std::uint64_t x, std::uint64_t y) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  auto const as = [](std::uint64_t bits) {
    auto const low = static_cast<Bits>(bits);
    T value;
    std::memcpy(&value, &low, sizeof(value));
    return value;
  };
  auto* const place = static_cast<Bits*>(at);
  Bits old = __atomic_load_n(place, __ATOMIC_SEQ_CST);
  for (;;) {
    T const made = combined(op, as(old), as(x), as(y));
    Bits bits;
    std::memcpy(&bits, &made, sizeof(bits));
    if (__atomic_compare_exchange_n(place, &old, bits, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return old;
  }
}

std::uint64_t update_halves(void* at, Type type, std::uint64_t x) {
  bool const is_half = type == Type::f16 || type == Type::f16x2;
  int const count = type == Type::f16x2 || type == Type::bf16x2 ? 2 : 1;
  std::uint64_t old = 0;
  std::memcpy(&old, at, static_cast<std::size_t>(2 * count));
  std::uint64_t made = 0;
  for (int i = 0; i < count; ++i) {
    auto const a = static_cast<std::uint16_t>(old >> 16 * i);
    auto const b = static_cast<std::uint16_t>(x >> 16 * i);
    std::uint16_t const sum = is_half ? float_to_half(half_to_float(a) + half_to_float(b))
                                      : float_to_bfloat(bfloat_to_float(a) + bfloat_to_float(b));
    made |= static_cast<std::uint64_t>(sum) << 16 * i;
  }
  std::memcpy(at, &made, static_cast<std::size_t>(2 * count));
  return old;
}

void atomic(Frame& f, Statement const& s) {
  bool const returns = s.parts[0] == "atom";
  static constexpr char const* kOperations[] = {"add", "min", "max", "exch", "and", "or", "xor", "cas", "inc", "dec"};
  std::string op;
  for (auto const* const known : kOperations) {
    if (s.has(known)) op = known;
  }
  if (op.empty()) return f.refuse(s, "the emulator does not know this operation");
  std::size_t const first = returns ? 1 : 0;
  Type const type = s.types.back();
  auto const size = static_cast<std::size_t>(bytes_of(type));
  void* const at = f.address(s, s.arguments[first]);
  std::uint64_t const x = f.get(s.arguments[first + 1]);
  std::uint64_t const y = s.arguments.size() > first + 2 ? f.get(s.arguments[first + 2]) : 0;
  atomic_access(at, size, f.thread.code);
  synchronise(f, at, true, true, s.has("acquire") || s.has("acq_rel"), s.has("release") || s.has("acq_rel"));
  std::uint64_t old = 0;
  switch (type) {
    case Type::f32:
      old = update<float>(at, op, x, y);
      break;
    case Type::f64:
      old = update<double>(at, op, x, y);
      break;
    case Type::s32:
      old = update<std::int32_t>(at, op, x, y);
      break;
    case Type::s64:
      old = update<std::int64_t>(at, op, x, y);
      break;
    case Type::u64:
    case Type::b64:
      old = update<std::uint64_t>(at, op, x, y);
      break;
    case Type::u32:
    case Type::b32:
      old = update<std::uint32_t>(at, op, x, y);
      break;
    case Type::f16:
    case Type::bf16:
    case Type::f16x2:
    case Type::bf16x2:
      if (op != "add") return f.refuse(s, "the emulator does not know this operation");
      old = update_halves(at, type, x);
      break;
    default:
      return f.refuse(s, "the emulator does not know this type");
  }
  if (returns) f.set(s.arguments[0], old);
  if (op == "cas" || op == "exch") f.cluster.poll();
}

// cp.async.ca/cg.shared.global [to], [from], size{, read size or predicate}{, hint};
void copy_async(Frame& f, Statement const& s) {
  auto* const to = shared_at(static_cast<std::uint32_t>(f.get(s.arguments[0].parts[0]) + s.arguments[0].immediate));
  auto* const from = reinterpret_cast<void*>(f.get(s.arguments[1].parts[0]) + s.arguments[1].immediate);
  auto const bytes = static_cast<int>(f.get(s.arguments[2]));
  int read = bytes;
  std::size_t const rest = s.arguments.size() - (s.has("L2::cache_hint") ? 1 : 0);
  if (rest > 3) read = static_cast<int>(f.get(s.arguments[3]));
  bool const is_possible = bytes == 16 || ((bytes == 4 || bytes == 8) && s.has("ca"));
  if (!is_possible) return f.refuse(s, "it copies 4, 8 or 16 bytes, and 16 alone with .cg");
  if (read < 0 || read > bytes)
    return f.refuse(s, "it reads " + std::to_string(read) + " of " + std::to_string(bytes) + " bytes");
  auto const size = static_cast<std::size_t>(bytes);
  bounds(to, size, true, size);
  if (read > 0) bounds(from, static_cast<std::size_t>(read), false, size);
  Thread& thread = f.thread;
  Actor const actor{f.cluster.async_agent(thread), thread.async_clock + 1, &thread, false};
  if (read > 0) access_as(actor, from, static_cast<std::size_t>(read), false);
  access_as(actor, to, size, true);
  if (Requests* const requests = f.cluster.requests()) {
    if (read > 0) requests->note(thread.agent, thread.code, from, bytes, false, false);
    requests->note(thread.agent, thread.code, to, bytes, true, true);
  }
  thread.copies.operations.push_back({to, from, bytes, read});
}

void do_copy(AsyncCopy const& copy) {
  // Addresses were checked when the copy was issued.
  auto* const to = static_cast<char*>(copy.to);
  auto const* const from = static_cast<char const*>(copy.from);
  for (int i = 0; i < copy.bytes; ++i) to[i] = i < copy.read_bytes ? from[i] : char{0};
}

// The clock of a group counts up with each: who has waited for one knows all before it.
void commit_copies(Frame& f, Statement const&) {
  Thread& thread = f.thread;
  if (f.cluster.timeline() != nullptr &&
      thread.copies.operations.size() > (thread.copies.ends.empty() ? 0 : thread.copies.ends.back())) {
    std::string const beside = "cp.async of warp " + std::to_string(thread.agent % f.cluster.threads_of_cta() / kWarp);
    f.cluster.add_span("load", beside.c_str(), "cp.async", thread.knows.cycle, thread.knows.cycle + kCyclesOfCpAsync);
    thread.copy_ends.push_back(thread.knows.cycle + kCyclesOfCpAsync);
  } else {
    thread.copy_ends.push_back(0);
  }
  thread.copies.commit();
  thread.copy_clocks.push_back(++thread.async_clock);
}

void wait_for_copies(Thread& thread, Cluster& cluster, std::size_t left) {
  std::size_t const groups = thread.copies.ends.size();
  if (groups <= left) return;
  cluster.learn(thread, cluster.async_agent(thread), thread.copy_clocks[groups - left - 1]);
  thread.copy_clocks.erase(thread.copy_clocks.begin(), thread.copy_clocks.end() - static_cast<std::ptrdiff_t>(left));
  for (std::size_t i = 0; i < groups - left && !thread.copy_ends.empty(); ++i) {
    thread.knows.reach(thread.copy_ends.front());
    thread.copy_ends.erase(thread.copy_ends.begin());
  }
  thread.copies.complete(left, &do_copy);
}

void wait_for_copy_groups(Frame& f, Statement const& s) {
  bool const all = s.has("wait_all");
  if (all) commit_copies(f, s);
  TimedWait const timed(f.cluster);
  wait_for_copies(f.thread, f.cluster, all ? 0 : static_cast<std::size_t>(f.get(s.arguments[0])));
  timed.end([] { return std::string("wait for cp.async"); });
}

void fence_memory(Frame& f, Statement const& s) {
  if (s.has("proxy") && s.has("tensormap::generic")) return;
  if (s.has("proxy")) {
    // What this thread knows of, and what it did, asynchronous units see from now on.
    if (!f.cluster.launch().is_checked) return;
    Thread& thread = f.thread;
    thread.knows.visible = thread.knows.seen;
    thread.knows.visible.raise(thread.agent, thread.clock);
    ++thread.clock;
    return;
  }
  if (s.has("mbarrier_init")) return fence_mbarriers(f.thread);
  fence(false);
}

void prefetch(Frame&, Statement const&) {}
void create_policy(Frame& f, Statement const& s) { f.set(s.arguments[0], 0); }

}  // namespace

void fence(bool) {
  Cluster* const cluster = running;
  if (cluster == nullptr) return;
  Thread& thread = cluster->current();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!cluster->launch().is_checked) return;
  thread.knows.join(thread.since_fence);
  thread.since_fence = {};
  thread.at_fence = {};
  cluster->release(thread.at_fence);
}

void end_of_copies(Thread& thread, Cluster& cluster) {
  thread.copy_ends.push_back(0);
  thread.copies.commit();
  thread.copy_clocks.push_back(++thread.async_clock);
  wait_for_copies(thread, cluster, 0);
}

void copies_arrive(Thread& thread, Cluster& cluster, Knowledge& at) {
  // cp.async.mbarrier.arrive: all that the thread has started so far is done when the barrier sees its arrival.
  end_of_copies(thread, cluster);
  at.join(thread.knows);
}

Execute find_memory(std::vector<std::string> const& parts) {
  std::string const& op = parts[0];
  auto const second = parts.size() > 1 ? parts[1] : std::string();
  if (op == "ld" || op == "ldu") return &load;
  if (op == "st") return &store;
  if (op == "atom" || op == "red") return &atomic;
  if (op == "cp" && second == "async" && parts.size() > 2) {
    if (parts[2] == "ca" || parts[2] == "cg") return &copy_async;
    if (parts[2] == "commit_group") return &commit_copies;
    if (parts[2] == "wait_group" || parts[2] == "wait_all") return &wait_for_copy_groups;
  }
  if (op == "fence" || op == "membar") return &fence_memory;
  if (op == "prefetch" || op == "prefetchu" || op == "applypriority" || op == "discard") return &prefetch;
  if (op == "createpolicy") return &create_policy;
  return nullptr;
}

}  // namespace cute_py::workbench
