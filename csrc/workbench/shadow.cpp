#include "workbench/shadow.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cute_py::workbench {
namespace {

// Reserved, not used: the system hands out only the pages that are touched.
constexpr std::size_t kArenaBytes = std::size_t{16} << 30;
constexpr std::size_t kAlignment = 256;  // of cudaMalloc
constexpr std::size_t kGap = 4096;       // between arrays, so that an overrun meets nobody else's

char* reserve(std::size_t bytes) {
  void* const made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made == MAP_FAILED ? nullptr : static_cast<char*>(made);
}

struct Arena {
  char* memory = reserve(kArenaBytes);
  char* initialised = reserve(kArenaBytes / 8);  // a bit for each byte
  char* cells = reserve(kArenaBytes / kGranule * sizeof(Cell));
  std::size_t used = kGap;
  std::size_t live_bytes = 0;
  std::uint64_t count = 0;
  std::map<char const*, Array> arrays;
  std::mutex mutex;
};

Arena& arena() {
  static Arena* const made = new Arena;  // programs free arrays while they end
  return *made;
}

std::size_t offset_of(void const* address) {
  return static_cast<std::size_t>(static_cast<char const*>(address) - arena().memory);
}

}  // namespace

void* allocate(std::size_t bytes, bool is_initialised) {
  Arena& a = arena();
  std::lock_guard const lock(a.mutex);
  std::size_t const room = (bytes + kAlignment - 1) / kAlignment * kAlignment + kGap;
  if (a.memory == nullptr || a.cells == nullptr || a.initialised == nullptr || room > kArenaBytes - a.used)
    return nullptr;
  Array made;
  made.first = a.memory + a.used;
  made.bytes = bytes;
  made.is_initialised = is_initialised;
  made.number = ++a.count;
  a.used += room;
  a.live_bytes += bytes;
  a.arrays.emplace(made.first, made);
  std::memset(made.first, 0xff, bytes);  // NaN in every float type
  return made.first;
}

int release(void* first) {
  Arena& a = arena();
  std::lock_guard const lock(a.mutex);
  auto const found = a.arrays.find(static_cast<char*>(first));
  if (found == a.arrays.end()) return 1;
  if (found->second.is_free) return 2;
  found->second.is_free = true;
  a.live_bytes -= found->second.bytes;
  // Whole pages go back to the system; the addresses are not used again, so that a late access is found.
  auto const page = std::uintptr_t{4096};
  auto const begin = (reinterpret_cast<std::uintptr_t>(first) + page - 1) / page * page;
  auto const end = (reinterpret_cast<std::uintptr_t>(first) + found->second.bytes) / page * page;
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  return 0;
}

bool is_on_device(void const* address) {
  Arena const& a = arena();
  return offset_of(address) < a.used;
}

Array const* array_at(void const* address) {
  thread_local Array const* last = nullptr;
  auto const holds = [&](Array const& array) {
    auto const offset = static_cast<std::size_t>(static_cast<char const*>(address) - array.first);
    return offset < array.bytes;
  };
  if (last != nullptr && holds(*last)) return last;
  Arena& a = arena();
  std::lock_guard const lock(a.mutex);
  auto const after = a.arrays.upper_bound(static_cast<char const*>(address));
  if (after == a.arrays.begin()) return nullptr;
  Array const& before = std::prev(after)->second;  // nodes of a map stay where they are
  if (!holds(before)) return nullptr;
  last = &before;
  return last;
}

Neighbours neighbours_of(void const* address) {
  Arena& a = arena();
  std::lock_guard const lock(a.mutex);
  auto const after = a.arrays.upper_bound(static_cast<char const*>(address));
  return {after == a.arrays.begin() ? nullptr : &std::prev(after)->second,
          after == a.arrays.end() ? nullptr : &after->second};
}

void mark_initialised(void const* address, std::size_t bytes) {
  std::size_t const first = offset_of(address);
  char* const bits = arena().initialised;
  std::size_t i = first;
  for (; i < first + bytes && i % 8 != 0; ++i) bits[i / 8] |= static_cast<char>(1 << i % 8);
  for (; i + 8 <= first + bytes; i += 8) bits[i / 8] = static_cast<char>(0xff);
  for (; i < first + bytes; ++i) bits[i / 8] |= static_cast<char>(1 << i % 8);
}

bool is_initialised(void const* address, std::size_t bytes) {
  std::size_t const first = offset_of(address);
  char const* const bits = arena().initialised;
  for (std::size_t i = first; i < first + bytes; ++i) {
    if ((bits[i / 8] >> i % 8 & 1) == 0) return false;
  }
  return true;
}

void mark_all_initialised() {
  for (auto& [first, array] : arena().arrays) array.is_initialised = true;
}

std::size_t bytes_allocated() { return arena().live_bytes; }

Cell* cells_at(void const* address) { return reinterpret_cast<Cell*>(arena().cells) + offset_of(address) / kGranule; }

void for_each_array(void (*visit)(Array const& array, void* data), void* data) {
  for (auto const& [first, array] : arena().arrays) {
    if (!array.is_free) visit(array, data);
  }
}

namespace {

constexpr std::size_t kCodes = 4096;

struct Codes {
  std::vector<std::uintptr_t> codes{0};
  std::unordered_map<std::uintptr_t, std::uint16_t> indices;
};

// Of the operating-system thread that checks launches: one at a time.
Codes& codes() {
  static Codes* const made = new Codes;
  return *made;
}

}  // namespace

std::uint16_t index_of_code(std::uintptr_t code) {
  // The last ones that were looked up, by their low bits.
  struct Recent {
    std::uintptr_t code;
    std::uint16_t index;
  };
  thread_local Recent recent[256] = {};
  Recent& slot = recent[(code >> 2) % 256];
  if (slot.code == code) return slot.index;
  Codes& all = codes();
  auto const found = all.indices.find(code);
  std::uint16_t index = 0;
  if (found != all.indices.end()) {
    index = found->second;
  } else if (all.codes.size() < kCodes) {
    index = static_cast<std::uint16_t>(all.codes.size());
    all.codes.push_back(code);
    all.indices.emplace(code, index);
  } else {
    index = kCodes - 1;
  }
  slot = {code, index};
  return index;
}

std::uintptr_t code_at(std::uint16_t index) { return codes().codes[index]; }

}  // namespace cute_py::workbench
