#include <algorithm>
#include <cstring>

#include "workbench/errors.hpp"
#include "workbench/mbarrier.hpp"
#include "workbench/ptx.hpp"
#include "workbench/tensor_map.hpp"

// TMA: cp.async.bulk and cp.async.bulk.tensor.
namespace cute_py::workbench {

// A store out of shared memory that a thread has started: each leaves at the wait for its group, or at once.
struct BulkStore {
  TensorMap map{};  // of a tensor; magic is 0 without
  int at[5] = {};
  char* from = nullptr;
  char* to = nullptr;
  std::size_t bytes = 0;
  std::string reduction;
  Type type = Type::none;
  bool has_left = false;
};

namespace {

constexpr int kMost = 5;

std::size_t bytes_of_box(TensorMap const& map) {
  std::size_t bytes = map.element_bytes;
  for (int i = 0; i < map.rank; ++i) bytes *= map.box[i];
  return bytes;
}

std::uint32_t swizzled(std::uint32_t offset, int span) {
  std::uint32_t const mask = span == 0 ? 0 : static_cast<std::uint32_t>(span / 16 - 1);
  return offset ^ ((offset >> 7 & mask) << 4);
}

// Calls visit(in_shared, in_memory) for each element of a box, in_memory null beyond the array's ends.
template <class Visit>
void for_each_element(TensorMap const& map, int const* at, std::uint32_t first, Visit const& visit) {
  std::size_t const elements = bytes_of_box(map) / map.element_bytes;
  int index[kMost] = {};
  for (std::size_t i = 0; i < elements; ++i) {
    bool inside = true;
    std::uint64_t offset = 0;
    for (int d = 0; d < map.rank; ++d) {
      std::int64_t const c = static_cast<std::int64_t>(at[d]) + index[d] * map.step[d];
      inside = inside && c >= 0 && c < static_cast<std::int64_t>(map.extent[d]);
      offset += static_cast<std::uint64_t>(c) * map.stride[d];
    }
    auto const in_shared = swizzled(first + static_cast<std::uint32_t>(i * map.element_bytes), map.swizzle_bytes);
    visit(in_shared, inside ? reinterpret_cast<char*>(map.address + offset) : nullptr);
    for (int d = 0; d < map.rank && ++index[d] == map.box[d]; ++d) index[d] = 0;
  }
}

TensorMap map_at(Frame const& f, Statement const& s, Argument const& a) {
  auto const* const at = reinterpret_cast<void const*>(f.get(a));
  TensorMap map;
  std::memcpy(static_cast<void*>(&map), at, sizeof(map));
  if (map.magic != kTensorMapMagic) f.refuse(s, "there is no tensor map at this address");
  return map;
}

// [map, {c0, c1, ...}]
void read_box(Frame const& f, Statement const& s, Argument const& a, TensorMap& map, int* at) {
  map = map_at(f, s, a.parts[0]);
  Argument const& coordinates = a.parts.at(1);
  int const count = coordinates.kind == Argument::Kind::vector ? static_cast<int>(coordinates.parts.size()) : 1;
  if (count != map.rank) {
    f.refuse(s, "it has " + std::to_string(count) + " coordinates, and the tensor map " + std::to_string(map.rank) +
                    " modes");
  }
  for (int i = 0; i < count; ++i) {
    at[i] = static_cast<int>(f.get(
        coordinates.kind == Argument::Kind::vector ? coordinates.parts[static_cast<std::size_t>(i)] : coordinates));
  }
}

std::uint32_t offset_in_cta(Cluster& cluster, char const* shared, int& rank) {
  for (rank = 0; rank < cluster.ctas(); ++rank) {
    auto const offset = static_cast<std::size_t>(shared - cluster.cta(rank).shared);
    if (offset < kSharedStride) return static_cast<std::uint32_t>(offset);
  }
  rank = -1;
  return 0;
}

float rounded_to_tf32(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bool const is_finite = (bits >> 23 & 0xff) != 0xff;
  bits = (is_finite ? bits + 0xfff + (bits >> 13 & 1) : bits) & ~0x1fffu;
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

// Each load is an agent of its own, as far as there are; those that share one are done in order.
Actor next_tma(Cluster& cluster, Thread const& thread) {
  int const which = static_cast<int>(cluster.tma_loads % kTmaAgents);
  auto const clock = static_cast<Clock>(cluster.tma_loads / kTmaAgents + 1);
  ++cluster.tma_loads;
  return {cluster.tma_agent(which), clock, &thread, true};
}

void complete(char* barrier_at, std::size_t bytes, Actor const& actor) {
  auto const found = mbarriers().find(barrier_at);
  if (found == mbarriers().end()) return;
  Mbarrier& barrier = found->second;
  if (running->launch().is_checked) {
    if (barrier.pending.seen.is_empty()) barrier.pending.seen = Clocks::zero(running->agents());
    barrier.pending.seen.raise(actor.agent, actor.clock);
    barrier.pending.reach(actor.ends);
  }
  barrier.bytes -= static_cast<std::int64_t>(bytes);
  complete_phase(barrier);
}

void check_barrier(Frame const& f, Statement const& s, char* at) {
  if (mbarriers().find(at) == mbarriers().end()) f.refuse(s, "there is no mbarrier at " + where_is(at));
}

// cp.async.bulk.tensor.<rank>d.shared::cluster.global.mbarrier::complete_tx::bytes{.multicast::cluster}
//   [to], [map, {c}], [mbarrier]{, ctas}{, hint}
void load_tensor(Frame& f, Statement const& s) {
  if (s.has("im2col")) return f.refuse(s, "the emulator does not know im2col");
  Cluster& cluster = f.cluster;
  auto* const to = static_cast<char*>(
      cluster_shared_at(static_cast<std::uint32_t>(f.get(s.arguments[0].parts[0]) + s.arguments[0].immediate)));
  TensorMap map;
  int at[kMost] = {};
  read_box(f, s, s.arguments[1], map, at);
  auto* const barrier_at = static_cast<char*>(
      cluster_shared_at(static_cast<std::uint32_t>(f.get(s.arguments[2].parts[0]) + s.arguments[2].immediate)));
  bool const is_multicast = s.has("multicast::cluster");
  int rank = 0;
  std::uint32_t const offset = offset_in_cta(cluster, to, rank);
  int barrier_rank = 0;
  std::uint32_t const barrier_offset = offset_in_cta(cluster, barrier_at, barrier_rank);
  std::uint32_t const mask = is_multicast ? static_cast<std::uint32_t>(f.get(s.arguments[3])) : 1u << rank;
  if (mask >> cluster.ctas() != 0 || mask == 0)
    return f.refuse(s, "its mask names CTAs that the cluster does not have");
  if (offset % 128 != 0) return f.refuse(s, where_is(to) + " is no multiple of 128");
  // With cta_group::2 the barrier may be that of the other CTA of a pair: of the even one, or of the odd one.
  bool const is_of_pair = s.has("cta_group::2");
  auto const barrier_of = [=](int r) { return is_of_pair ? r / 2 * 2 + barrier_rank % 2 : r; };
  std::size_t const bytes = bytes_of_box(map);
  Actor actor = next_tma(cluster, f.thread);
  actor.ends = cluster.time_of_tma("load", bytes);
  if (map.address != 0) {
    for_each_element(map, at, offset, [&](std::uint32_t, char* from) {
      if (from != nullptr) bounds(from, map.element_bytes, false, map.element_bytes);
    });
  }
  for (int r = 0; r < cluster.ctas(); ++r) {
    if ((mask >> r & 1) == 0) continue;
    char* const own = cluster.cta(r).shared;
    check_barrier(f, s, cluster.cta(barrier_of(r)).shared + barrier_offset);
    bounds(own + offset, bytes, true, 16);
    access_as(actor, own + offset, bytes, true);
  }
  int place[kMost];
  std::copy_n(at, kMost, place);
  cluster.later([=, &cluster] {
    int where[kMost];
    std::copy_n(place, kMost, where);
    for (int r = 0; r < cluster.ctas(); ++r) {
      if ((mask >> r & 1) == 0) continue;
      char* const own = cluster.cta(r).shared;
      for_each_element(map, where, offset, [&](std::uint32_t in_shared, char* from) {
        if (from == nullptr) {
          __builtin_memset(own + in_shared, map.fills_with_nan != 0 ? 0xff : 0, map.element_bytes);
        } else if (map.is_tf32 != 0) {
          float value;
          __builtin_memcpy(&value, from, sizeof(value));
          value = rounded_to_tf32(value);
          __builtin_memcpy(own + in_shared, &value, sizeof(value));
        } else {
          __builtin_memcpy(own + in_shared, from, map.element_bytes);
        }
      });
      complete(cluster.cta(barrier_of(r)).shared + barrier_offset, bytes, actor);
    }
  });
}

// cp.async.bulk.shared::cluster.{global,shared::cta}.mbarrier::complete_tx::bytes [to], [from], size, [mbarrier]
void load_bytes(Frame& f, Statement const& s) {
  Cluster& cluster = f.cluster;
  auto* const to = static_cast<char*>(
      cluster_shared_at(static_cast<std::uint32_t>(f.get(s.arguments[0].parts[0]) + s.arguments[0].immediate)));
  std::uint64_t const given = f.get(s.arguments[1].parts[0]) + s.arguments[1].immediate;
  auto const* const from = s.has("global") ? reinterpret_cast<char const*>(given)
                                           : static_cast<char const*>(shared_at(static_cast<std::uint32_t>(given)));
  auto const bytes = static_cast<std::size_t>(f.get(s.arguments[2]));
  auto* const barrier_at = static_cast<char*>(
      cluster_shared_at(static_cast<std::uint32_t>(f.get(s.arguments[3].parts[0]) + s.arguments[3].immediate)));
  if (bytes % 16 != 0) return f.refuse(s, "it copies multiples of 16 bytes, not " + std::to_string(bytes));
  bool const is_multicast = s.has("multicast::cluster");
  int rank = 0;
  std::uint32_t const offset = offset_in_cta(cluster, to, rank);
  int barrier_rank = 0;
  std::uint32_t const barrier_offset = offset_in_cta(cluster, barrier_at, barrier_rank);
  std::uint32_t const mask = is_multicast ? static_cast<std::uint32_t>(f.get(s.arguments[4])) : 1u << rank;
  Actor actor = next_tma(cluster, f.thread);
  actor.ends = cluster.time_of_tma("load", bytes);
  bounds(from, bytes, false, 16);
  access_as(actor, from, bytes, false);
  for (int r = 0; r < cluster.ctas(); ++r) {
    if ((mask >> r & 1) == 0) continue;
    char* const own = cluster.cta(r).shared;
    check_barrier(f, s, own + barrier_offset);
    bounds(own + offset, bytes, true, 16);
    access_as(actor, own + offset, bytes, true);
  }
  cluster.later([=, &cluster] {
    for (int r = 0; r < cluster.ctas(); ++r) {
      if ((mask >> r & 1) == 0) continue;
      char* const own = cluster.cta(r).shared;
      std::copy_n(from, bytes, own + offset);
      complete(own + barrier_offset, bytes, actor);
    }
  });
}

void leave(BulkStore& store);

void start_store(Frame& f, BulkStore store, char const* from, std::size_t bytes) {
  Thread& thread = f.thread;
  Actor const actor{f.cluster.async_agent(thread), thread.async_clock + 1, &thread, true};
  thread.stores_end = f.cluster.time_of_tma("store", bytes);
  bounds(from, bytes, false, 16);
  access_as(actor, from, bytes, false);
  if (store.map.magic != 0) {
    for_each_element(store.map, store.at, 0, [&](std::uint32_t, char* to) {
      if (to == nullptr) return;
      bounds(to, store.map.element_bytes, true, store.map.element_bytes);
      access_as(actor, to, store.map.element_bytes, true);
    });
  } else {
    bounds(store.to, bytes, true, 16);
    access_as(actor, store.to, bytes, true);
  }
  Order const order = options().order;
  if (order == Order::backward || (order == Order::random && f.cluster.random()() % 2 == 0)) leave(store);
  thread.stores.operations.push_back(new BulkStore(std::move(store)));
}

// cp{.reduce}.async.bulk.tensor.<rank>d.global.shared::cta{.add}.bulk_group [map, {c}], [from]
void store_tensor(Frame& f, Statement const& s) {
  BulkStore store;
  read_box(f, s, s.arguments[0], store.map, store.at);
  store.from = static_cast<char*>(
      shared_at(static_cast<std::uint32_t>(f.get(s.arguments[1].parts[0]) + s.arguments[1].immediate)));
  for (auto const* const op : {"add", "min", "max", "and", "or", "xor", "inc", "dec"}) {
    if (s.parts[1] == "reduce" && s.has(op)) store.reduction = op;
  }
  if (!store.reduction.empty() && store.reduction != "add")
    return f.refuse(s, "the emulator knows reductions by addition alone");
  int rank = 0;
  if (offset_in_cta(f.cluster, store.from, rank) % 128 != 0)
    return f.refuse(s, where_is(store.from) + " is no multiple of 128");
  char const* const from = store.from;
  std::size_t const bytes = bytes_of_box(store.map);
  start_store(f, std::move(store), from, bytes);
}

// cp.async.bulk.global.shared::cta.bulk_group [to], [from], size
void store_bytes(Frame& f, Statement const& s) {
  if (s.parts[1] == "reduce") return f.refuse(s, "the emulator does not know it");
  BulkStore store;
  store.to = reinterpret_cast<char*>(f.get(s.arguments[0].parts[0]) + s.arguments[0].immediate);
  store.from = static_cast<char*>(
      shared_at(static_cast<std::uint32_t>(f.get(s.arguments[1].parts[0]) + s.arguments[1].immediate)));
  store.bytes = static_cast<std::size_t>(f.get(s.arguments[2]));
  if (store.bytes % 16 != 0) return f.refuse(s, "it copies multiples of 16 bytes, not " + std::to_string(store.bytes));
  char const* const from = store.from;
  std::size_t const bytes = store.bytes;
  start_store(f, std::move(store), from, bytes);
}

template <class T>
void add(char* to, char const* from) {
  T a;
  T b;
  __builtin_memcpy(&a, to, sizeof(a));
  __builtin_memcpy(&b, from, sizeof(b));
  a = static_cast<T>(a + b);
  __builtin_memcpy(to, &a, sizeof(a));
}

void add_element(TensorMap const& map, char* to, char const* from) {
  // CUtensorMapDataType: 2 and 4 are 32-bit integers, 3 and 5 of 64, 6 float16, 7 float32, 8 float64, 9 bfloat16.
  switch (map.type) {
    case 2:
    case 4:
      return add<std::int32_t>(to, from);
    case 3:
    case 5:
      return add<std::int64_t>(to, from);
    case 7:
      return add<float>(to, from);
    case 8:
      return add<double>(to, from);
    default:
      break;
  }
  std::uint16_t a;
  std::uint16_t b;
  __builtin_memcpy(&a, to, sizeof(a));
  __builtin_memcpy(&b, from, sizeof(b));
  a = map.type == 6 ? float_to_half(half_to_float(a) + half_to_float(b))
                    : float_to_bfloat(bfloat_to_float(a) + bfloat_to_float(b));
  __builtin_memcpy(to, &a, sizeof(a));
}

void leave(BulkStore& store) {
  store.has_left = true;
  if (store.map.magic != 0) {
    int rank = 0;
    std::uint32_t const first = offset_in_cta(*running, store.from, rank);
    char const* const shared = store.from - first;
    for_each_element(store.map, store.at, first, [&](std::uint32_t in_shared, char* to) {
      if (to == nullptr) return;
      if (store.reduction.empty()) {
        __builtin_memcpy(to, shared + in_shared, store.map.element_bytes);
      } else {
        add_element(store.map, to, shared + in_shared);
      }
    });
  } else {
    std::copy_n(store.from, store.bytes, store.to);
  }
}

void do_store(BulkStore* store) {
  if (!store->has_left) leave(*store);
  delete store;
}

void commit_stores(Frame& f, Statement const&) {
  f.thread.stores.commit();
  f.thread.store_clocks.push_back(++f.thread.async_clock);
  f.thread.store_ends.push_back(f.thread.stores_end);
}

void wait_for_stores(Thread& thread, Cluster& cluster, std::size_t left) {
  std::size_t const groups = thread.stores.ends.size();
  if (groups <= left) return;
  cluster.learn(thread, cluster.async_agent(thread), thread.store_clocks[groups - left - 1]);
  thread.store_clocks.erase(thread.store_clocks.begin(), thread.store_clocks.end() - static_cast<std::ptrdiff_t>(left));
  for (std::size_t i = 0; i < groups - left && !thread.store_ends.empty(); ++i) {
    thread.knows.reach(thread.store_ends.front());
    thread.store_ends.erase(thread.store_ends.begin());
  }
  thread.stores.complete(left, &do_store);
}

void wait_for_store_groups(Frame& f, Statement const& s) {
  TimedWait const timed(f.cluster);
  wait_for_stores(f.thread, f.cluster, static_cast<std::size_t>(f.get(s.arguments[0])));
  timed.end([] { return std::string("wait for stores by TMA"); });
}

void prefetch(Frame&, Statement const&) {}

}  // namespace

void end_of_stores(Thread& thread, Cluster& cluster) {
  if (!thread.stores.operations.empty()) {
    cluster.report(Kind::asynchronous, "ends while what it stores by TMA is on its way out of shared memory");
  }
  thread.stores.commit();
  thread.store_clocks.push_back(++thread.async_clock);
  wait_for_stores(thread, cluster, 0);
}

Execute find_bulk(std::vector<std::string> const& parts) {
  if (parts[0] != "cp") return nullptr;
  auto const has = [&](char const* name) { return std::find(parts.begin(), parts.end(), name) != parts.end(); };
  if (!has("bulk")) return nullptr;
  if (has("prefetch")) return &prefetch;
  if (has("commit_group")) return &commit_stores;
  if (has("wait_group")) return &wait_for_store_groups;
  bool const is_store = has("bulk_group");
  if (has("tensor")) return is_store ? &store_tensor : &load_tensor;
  return is_store ? &store_bytes : &load_bytes;
}

}  // namespace cute_py::workbench
