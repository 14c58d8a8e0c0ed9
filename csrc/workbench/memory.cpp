#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

#include "workbench/errors.hpp"
#include "workbench/machine.hpp"

// Accesses to memory. A program is compiled with the compiler's instrumentation for data races, which calls a function
// at every access to memory that the compiler does not know to be in registers; here is what it calls.
namespace cute_py::workbench {
namespace {

using Address = std::uintptr_t;

Address number(void const* address) { return reinterpret_cast<Address>(address); }

// The program's own variables and constants: what is __device__ or __constant__ is there.
struct Range {
  Address first = 0;
  Address last = 0;
};

Range find_static_data() {
  Range range;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        auto const here = number(reinterpret_cast<void const*>(&find_static_data));
        Range all{std::numeric_limits<Address>::max(), 0};
        bool is_this = false;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          auto const& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          Address const first = info->dlpi_addr + segment.p_vaddr;
          is_this = is_this || (here >= first && here < first + segment.p_memsz);
          all.first = std::min(all.first, first);
          all.last = std::max<Address>(all.last, first + segment.p_memsz);
        }
        if (is_this) *static_cast<Range*>(found) = all;
        return is_this ? 1 : 0;
      },
      &range);
  return range;
}

bool is_static(void const* address) {
  static Range const range = find_static_data();
  return number(address) - range.first < range.last - range.first;
}

// Of which CTA of the cluster an address in shared memory is, or -1.
int rank_of(Cluster& cluster, void const* address) {
  auto const offset = number(address) - number(cluster.cta(0).shared);
  auto const rank = offset / kSharedStride;
  return rank < static_cast<Address>(cluster.ctas()) ? static_cast<int>(rank) : -1;
}

std::string plural(std::size_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

std::string verb(bool is_write, std::size_t bytes) {
  return (is_write ? "writes " : "reads ") + plural(bytes) + " at ";
}

[[noreturn]] void refuse(void const* address, std::size_t bytes, bool is_write, std::string const& why) {
  running->stop(Kind::out_of_bounds, verb(is_write, bytes) + where_is(address) + ", " + why, kErrorIllegalAddress);
}

void check_alignment(void const* address, std::size_t bytes, bool is_write, std::size_t alignment) {
  if (number(address) % alignment == 0) return;
  running->stop(
      Kind::misaligned,
      verb(is_write, bytes) + where_is(address) + ", whose address is no multiple of " + std::to_string(alignment),
      kErrorMisalignedAddress);
}

Place place_of(Epoch const& epoch) {
  Cluster& cluster = *running;
  int const agent = epoch.agent < cluster.threads() ? epoch.agent : epoch.agent - cluster.threads();
  Place place;
  if (epoch.serial == cluster.serial() && agent < cluster.threads()) {
    place = cluster.place_of(cluster.thread(agent));
  }
  place.code = {code_at(epoch.code)};
  return place;
}

std::string name_of(Epoch const& epoch) {
  Cluster& cluster = *running;
  if (epoch.serial != cluster.serial()) return "a thread of another CTA";
  if (epoch.agent >= cluster.tma_agent(kTmaAgents))
    return "a product of warpgroup " + std::to_string(epoch.agent - cluster.tma_agent(kTmaAgents));
  if (epoch.agent >= cluster.tma_agent(0)) return "TMA";
  bool const is_async = epoch.agent >= cluster.threads();
  Thread const& thread = cluster.thread(is_async ? epoch.agent - cluster.threads() : epoch.agent);
  auto const& i = thread.index;
  std::string name = "thread " + std::to_string(i.x);
  if (i.y + i.z > 0) name += "," + std::to_string(i.y) + "," + std::to_string(i.z);
  return is_async ? "what " + name + " started" : name;
}

bool is_ordered(Epoch const& epoch, Actor const& actor, bool is_shared) {
  Cluster& cluster = *running;
  if (is_shared && epoch.serial != cluster.serial()) return true;  // of a CTA that had the memory before
  if (epoch.serial < cluster.first_serial()) return true;          // of an earlier launch
  if (epoch.serial != cluster.serial()) return knows_cluster(*actor.thread, epoch.serial);
  if (epoch.agent == actor.agent) return true;
  // What is started comes after what its thread did.
  return actor.thread->sees(epoch.agent, epoch.clock);
}

void report_race(Epoch const& epoch, bool other_writes, void const* address, std::size_t bytes, bool is_write) {
  std::string const other = std::string(other_writes ? "writes" : "reads");
  running->report(Kind::race,
                  verb(is_write, bytes) + where_is(address) + ", which " + name_of(epoch) + " " + other +
                      ", and nothing orders the two",
                  running->here(), place_of(epoch));
}

// One access, at two bytes of shadow.
void look(Cell& cell, Actor const& actor, std::uint16_t code, unsigned bytes, bool is_write, bool is_atomic,
          void const* address, std::size_t size, bool is_shared) {
  Cluster& cluster = *running;
  Epoch const now{cluster.serial(),
                  actor.clock,
                  static_cast<std::uint16_t>(actor.agent),
                  code,
                  static_cast<std::uint16_t>(is_atomic),
                  static_cast<std::uint16_t>(actor.is_async),
                  static_cast<std::uint16_t>(bytes)};
  Epoch const& write = cell.write;
  if (write.serial != 0 && (write.bytes & bytes) != 0 && !(is_atomic && write.is_atomic != 0)) {
    if (!is_ordered(write, actor, is_shared)) {
      report_race(write, true, address, size, is_write);
    } else if (actor.is_async && !is_write && write.is_async == 0 && write.serial == cluster.serial() &&
               write.agent < cluster.threads() && actor.thread->knows.visible[write.agent] < write.clock) {
      cluster.report(Kind::proxy_fence,
                     "starts an asynchronous read of " + plural(size) + " at " + where_is(address) + ", which " +
                         name_of(write) + " wrote, with no fence.proxy.async between",
                     cluster.here(), place_of(write));
    }
  }
  if (!is_write) {
    int slot = -1;
    for (int i = 0; i < Cell::kReads && slot < 0; ++i) {
      Epoch const& read = cell.reads[i];
      if (read.serial == 0 || (read.serial == now.serial && read.agent == now.agent)) slot = i;
    }
    for (int i = 0; i < Cell::kReads && slot < 0; ++i) {
      if (is_ordered(cell.reads[i], actor, is_shared)) slot = i;
    }
    if (slot < 0) slot = actor.agent / kWarp % Cell::kReads;
    cell.reads[slot] = now;
    return;
  }
  for (Epoch const& read : cell.reads) {
    if (read.serial == 0 || (read.bytes & bytes) == 0 || (is_atomic && read.is_atomic != 0)) continue;
    if (!is_ordered(read, actor, is_shared)) report_race(read, false, address, size, true);
  }
  for (Epoch& read : cell.reads) read.serial = 0;
  cell.write = now;
}

Cell* cells_of(void const* address) {
  if (is_on_device(address)) return cells_at(address);
  return shared_cells(*running, address);
}

void look_at_all(Actor const& actor, void const* address, std::size_t bytes, bool is_write, bool is_atomic,
                 Address code) {
  Cell* cell = cells_of(address);
  if (cell == nullptr) return;
  bool const is_shared = !is_on_device(address);
  std::uint16_t const index = index_of_code(code);
  Address const last = number(address) + bytes;
  for (Address at = number(address); at < last; ++cell) {
    Address const next = std::min(last, (at / kGranule + 1) * kGranule);
    unsigned const part = next - at == kGranule ? 3u : 1u << at % kGranule;
    look(*cell, actor, index, part, is_write, is_atomic, address, bytes, is_shared);
    at = next;
  }
}

bool is_written(void const* address, std::size_t bytes) {
  if (is_on_device(address)) {
    Array const* const array = array_at(address);
    return array == nullptr || array->is_initialised || is_initialised(address, bytes);
  }
  Cell const* const cell = shared_cells(*running, address);
  if (cell == nullptr) return true;
  auto const first = number(address) / kGranule;
  auto const last = (number(address) + bytes - 1) / kGranule;
  for (Address i = 0; i <= last - first; ++i) {
    if (cell[i].write.serial != running->serial()) return false;
  }
  return true;
}

}  // namespace

std::string where_is(void const* address) {
  Cluster& cluster = *running;
  if (int const rank = rank_of(cluster, address); rank >= 0) {
    auto const offset = number(address) - number(cluster.cta(rank).shared);
    bool const is_own = rank == cluster.current().cta;
    return std::string(is_own ? "shared memory + " : "another CTA's shared memory + ") + std::to_string(offset);
  }
  auto const [before, after] = neighbours_of(address);
  if ((before == nullptr && after == nullptr) || !is_on_device(address)) {
    char text[32];
    std::snprintf(text, sizeof(text), "%#zx", static_cast<std::size_t>(number(address)));
    return text;
  }
  auto const name = [](Array const& x) { return "array " + std::to_string(x.number); };
  if (before == nullptr)
    return std::to_string(number(after->first) - number(address)) + " bytes before " + name(*after);
  auto const offset = number(address) - number(before->first);
  std::string text = name(*before) + " (of " + std::to_string(before->bytes) + " bytes) + " + std::to_string(offset);
  bool const is_behind = offset >= before->bytes;
  if (is_behind && after != nullptr && number(after->first) - number(address) < offset - before->bytes) {
    text += ", or " + std::to_string(number(after->first) - number(address)) + " bytes before " + name(*after);
  }
  return text;
}

// Ends the launch unless an address may be accessed.
void bounds(void const* address, std::size_t bytes, bool is_write, std::size_t alignment) {
  Cluster& cluster = *running;
  if (int const rank = rank_of(cluster, address); rank >= 0) {
    Cta const& cta = cluster.cta(rank);
    auto const offset = number(address) - number(cta.shared);
    if (offset + bytes > cta.static_bytes) {
      refuse(address, bytes, is_write, "beyond the " + std::to_string(cta.static_bytes) + " bytes that the CTA has");
    }
    if (rank != cluster.current().cta && cta.done == cluster.threads_of_cta()) {
      refuse(address, bytes, is_write, "of a CTA that has ended");
    }
    check_alignment(address, bytes, is_write, alignment);
    return;
  }
  if (is_on_device(address)) {
    Array const* const array = array_at(address);
    if (array == nullptr) refuse(address, bytes, is_write, "outside of every array");
    if (array->is_free) refuse(address, bytes, is_write, "which has been freed");
    if (number(address) + bytes > number(array->first) + array->bytes) {
      refuse(address, bytes, is_write, "beyond the end of the array");
    }
    check_alignment(address, bytes, is_write, alignment);
    return;
  }
  Launch const& launch = cluster.launch();
  if (number(address) - number(launch.arguments) < launch.argument_bytes) return;
  if (is_static(address) || is_builtin_variable(address)) return;
  if (is_on_own_stack(cluster.current(), address)) return;
  if (address == nullptr || number(address) < 4096) refuse(address, bytes, is_write, "a null pointer");
  refuse(address, bytes, is_write, "which is memory of the host");
}

namespace {
void note_written(void const* address, std::size_t bytes, bool is_write) {
  if (!is_write || !is_on_device(address)) return;
  Array const* const array = array_at(address);
  if (array != nullptr && !array->is_initialised) mark_initialised(address, bytes);
}
}  // namespace

void access(void const* address, std::size_t bytes, bool is_write, bool is_aligned, std::uintptr_t code) {
  Cluster& cluster = *running;
  bounds(address, bytes, is_write, is_aligned ? bytes : 1);
  note_written(address, bytes, is_write);
  if (!cluster.launch().is_checked) return;
  if (Requests* const requests = cluster.requests()) {
    bool const is_shared = rank_of(cluster, address) == cluster.current().cta;
    if (is_shared || is_on_device(address)) {
      requests->note(cluster.current().agent, code, address, static_cast<int>(bytes), is_shared, is_write);
    }
  }
  if (!is_write && !is_written(address, bytes)) {
    cluster.report(Kind::uninitialised, verb(false, bytes) + where_is(address) + ", which nobody has written");
  }
  Thread& thread = cluster.current();
  thread.knows.cycle += kCyclesOfInstruction;
  look_at_all({thread.agent, thread.clock, &thread, false}, address, bytes, is_write, false, code);
}

void access_as(Actor const& actor, void const* address, std::size_t bytes, bool is_write) {
  note_written(address, bytes, is_write);
  if (!running->launch().is_checked) return;
  if (!is_write && !is_written(address, bytes)) {
    running->report(Kind::uninitialised, verb(false, bytes) + where_is(address) + ", which nobody has written");
  }
  look_at_all(actor, address, bytes, is_write, false, actor.thread->code);
}

void atomic_access(void const* address, std::size_t bytes, std::uintptr_t code) {
  bounds(address, bytes, true, bytes);
  if (is_on_device(address)) mark_initialised(address, bytes);
  if (!running->launch().is_checked) return;
  Thread const& thread = running->current();
  look_at_all({thread.agent, thread.clock, &thread, false}, address, bytes, true, true, code);
}

// Of an address in the shared memory of a cluster, the rank of its CTA is in the upper bits, as on a GPU: CuTe clears
// the lowest of them to reach the first of a pair of CTAs.
namespace {
constexpr int kRankBit = 24;
constexpr std::uint32_t kOffset = (1u << kRankBit) - 1;
}  // namespace

void atomic_load_access(void const* address, std::size_t bytes, std::uintptr_t code) {
  bounds(address, bytes, false, bytes);
  if (!running->launch().is_checked) return;
  Thread const& thread = running->current();
  look_at_all({thread.agent, thread.clock, &thread, false}, address, bytes, false, true, code);
}

std::uint32_t address_in_cluster(int rank, std::uint32_t own) {
  return (own & kOffset) | static_cast<std::uint32_t>(rank) << kRankBit;
}

std::uint32_t address_in_shared(void const* address) {
  int const rank = rank_of(*running, address);
  if (rank < 0)
    running->stop(Kind::rule, "takes the address in shared memory of what is not there", kErrorIllegalAddress);
  return address_in_cluster(rank, static_cast<std::uint32_t>(number(address) - number(running->cta(rank).shared)));
}

namespace {
// What lies further on is no shared memory of any CTA.
void* in_shared(int rank, std::uint32_t address) {
  std::uint32_t const offset = address & kOffset;
  if (offset >= kSharedStride) {
    running->stop(Kind::out_of_bounds, "uses the address " + std::to_string(offset) + " in shared memory",
                  kErrorIllegalAddress);
  }
  return running->cta(rank).shared + offset;
}
}  // namespace

void* cluster_shared_at(std::uint32_t address) {
  auto const rank = static_cast<int>(address >> kRankBit);
  if (rank >= running->ctas()) {
    running->stop(Kind::out_of_bounds,
                  "uses an address in the shared memory of CTA " + std::to_string(rank) +
                      " of its cluster, which has " + std::to_string(running->ctas()),
                  kErrorIllegalAddress);
  }
  return in_shared(rank, address);
}

void* shared_at(std::uint32_t address) { return in_shared(running->current().cta, address); }

namespace {

// Stacks lie at multiples of their size.
inline bool is_on_this_stack(void const* address) {
  return (number(address) ^ number(__builtin_frame_address(0))) < kStackBytes;
}

}  // namespace
}  // namespace cute_py::workbench

// What the instrumentation calls, and functions that the compiler makes of copies.
#define CUTE_PY_NOTE(at, bytes, is_write, is_aligned)                                                     \
  do {                                                                                                    \
    using namespace cute_py::workbench;                                                                   \
    Cluster* const cluster = running;                                                                     \
    if (cluster == nullptr || is_on_this_stack(at)) break;                                                \
    auto const offset = number(at) - cluster->quiet;                                                      \
    if ((is_aligned) && offset + (bytes) <= cluster->quiet_bytes && (offset & ((bytes) - 1)) == 0) break; \
    Thread& thread = cluster->current();                                                                  \
    thread.frame = __builtin_frame_address(0);                                                            \
    thread.code = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));                          \
    access(at, bytes, is_write, is_aligned, thread.code);                                                 \
  } while (false)

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

void __tsan_read1(void* p) { CUTE_PY_NOTE(p, 1, false, true); }
void __tsan_read2(void* p) { CUTE_PY_NOTE(p, 2, false, true); }
void __tsan_read4(void* p) { CUTE_PY_NOTE(p, 4, false, true); }
void __tsan_read8(void* p) { CUTE_PY_NOTE(p, 8, false, true); }
void __tsan_read16(void* p) { CUTE_PY_NOTE(p, 16, false, true); }
void __tsan_write1(void* p) { CUTE_PY_NOTE(p, 1, true, true); }
void __tsan_write2(void* p) { CUTE_PY_NOTE(p, 2, true, true); }
void __tsan_write4(void* p) { CUTE_PY_NOTE(p, 4, true, true); }
void __tsan_write8(void* p) { CUTE_PY_NOTE(p, 8, true, true); }
void __tsan_write16(void* p) { CUTE_PY_NOTE(p, 16, true, true); }
void __tsan_unaligned_read2(void* p) { CUTE_PY_NOTE(p, 2, false, false); }
void __tsan_unaligned_read4(void* p) { CUTE_PY_NOTE(p, 4, false, false); }
void __tsan_unaligned_read8(void* p) { CUTE_PY_NOTE(p, 8, false, false); }
void __tsan_unaligned_read16(void* p) { CUTE_PY_NOTE(p, 16, false, false); }
void __tsan_unaligned_write2(void* p) { CUTE_PY_NOTE(p, 2, true, false); }
void __tsan_unaligned_write4(void* p) { CUTE_PY_NOTE(p, 4, true, false); }
void __tsan_unaligned_write8(void* p) { CUTE_PY_NOTE(p, 8, true, false); }
void __tsan_unaligned_write16(void* p) { CUTE_PY_NOTE(p, 16, true, false); }
void __tsan_read_range(void* p, unsigned long bytes) { CUTE_PY_NOTE(p, bytes, false, false); }
void __tsan_write_range(void* p, unsigned long bytes) { CUTE_PY_NOTE(p, bytes, true, false); }
void __tsan_volatile_read1(void* p) { CUTE_PY_NOTE(p, 1, false, true); }
void __tsan_volatile_read2(void* p) { CUTE_PY_NOTE(p, 2, false, true); }
void __tsan_volatile_read4(void* p) { CUTE_PY_NOTE(p, 4, false, true); }
void __tsan_volatile_read8(void* p) { CUTE_PY_NOTE(p, 8, false, true); }
void __tsan_volatile_write1(void* p) { CUTE_PY_NOTE(p, 1, true, true); }
void __tsan_volatile_write2(void* p) { CUTE_PY_NOTE(p, 2, true, true); }
void __tsan_volatile_write4(void* p) { CUTE_PY_NOTE(p, 4, true, true); }
void __tsan_volatile_write8(void* p) { CUTE_PY_NOTE(p, 8, true, true); }

// std::atomic, and what guards static variables.
#define CUTE_PY_ATOMICS(bits)                                                                                        \
  std::uint##bits##_t __tsan_atomic##bits##_load(std::uint##bits##_t const volatile* p, int) {                       \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                                     \
  }                                                                                                                  \
  void __tsan_atomic##bits##_store(std::uint##bits##_t volatile* p, std::uint##bits##_t x, int) {                    \
    __atomic_store_n(p, x, __ATOMIC_SEQ_CST);                                                                        \
  }                                                                                                                  \
  std::uint##bits##_t __tsan_atomic##bits##_exchange(std::uint##bits##_t volatile* p, std::uint##bits##_t x, int) {  \
    return __atomic_exchange_n(p, x, __ATOMIC_SEQ_CST);                                                              \
  }                                                                                                                  \
  std::uint##bits##_t __tsan_atomic##bits##_fetch_add(std::uint##bits##_t volatile* p, std::uint##bits##_t x, int) { \
    return __atomic_fetch_add(p, x, __ATOMIC_SEQ_CST);                                                               \
  }                                                                                                                  \
  std::uint##bits##_t __tsan_atomic##bits##_fetch_sub(std::uint##bits##_t volatile* p, std::uint##bits##_t x, int) { \
    return __atomic_fetch_sub(p, x, __ATOMIC_SEQ_CST);                                                               \
  }                                                                                                                  \
  std::uint##bits##_t __tsan_atomic##bits##_fetch_and(std::uint##bits##_t volatile* p, std::uint##bits##_t x, int) { \
    return __atomic_fetch_and(p, x, __ATOMIC_SEQ_CST);                                                               \
  }                                                                                                                  \
  std::uint##bits##_t __tsan_atomic##bits##_fetch_or(std::uint##bits##_t volatile* p, std::uint##bits##_t x, int) {  \
    return __atomic_fetch_or(p, x, __ATOMIC_SEQ_CST);                                                                \
  }                                                                                                                  \
  std::uint##bits##_t __tsan_atomic##bits##_fetch_xor(std::uint##bits##_t volatile* p, std::uint##bits##_t x, int) { \
    return __atomic_fetch_xor(p, x, __ATOMIC_SEQ_CST);                                                               \
  }                                                                                                                  \
  int __tsan_atomic##bits##_compare_exchange_strong(std::uint##bits##_t volatile* p, std::uint##bits##_t* expected,  \
                                                    std::uint##bits##_t x, int, int) {                               \
    return __atomic_compare_exchange_n(p, expected, x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ? 1 : 0;           \
  }                                                                                                                  \
  int __tsan_atomic##bits##_compare_exchange_weak(std::uint##bits##_t volatile* p, std::uint##bits##_t* expected,    \
                                                  std::uint##bits##_t x, int, int) {                                 \
    return __tsan_atomic##bits##_compare_exchange_strong(p, expected, x, 0, 0);                                      \
  }                                                                                                                  \
  std::uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                                    \
      std::uint##bits##_t volatile* p, std::uint##bits##_t expected, std::uint##bits##_t x, int, int) {              \
    __atomic_compare_exchange_n(p, &expected, x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                         \
    return expected;                                                                                                 \
  }
CUTE_PY_ATOMICS(8)
CUTE_PY_ATOMICS(16)
CUTE_PY_ATOMICS(32)
CUTE_PY_ATOMICS(64)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}

// The program calls these in place of memcpy, memmove and memset: its object file is told so.
void* cute_py_memcpy(void* to, void const* from, std::size_t bytes) {
  if (bytes > 0) {
    CUTE_PY_NOTE(from, bytes, false, false);
    CUTE_PY_NOTE(to, bytes, true, false);
  }
  return std::memcpy(to, from, bytes);
}
void* cute_py_memmove(void* to, void const* from, std::size_t bytes) {
  if (bytes > 0) {
    CUTE_PY_NOTE(from, bytes, false, false);
    CUTE_PY_NOTE(to, bytes, true, false);
  }
  return std::memmove(to, from, bytes);
}
void* cute_py_memset(void* to, int value, std::size_t bytes) {
  if (bytes > 0) CUTE_PY_NOTE(to, bytes, true, false);
  return std::memset(to, value, bytes);
}

}  // extern "C"
