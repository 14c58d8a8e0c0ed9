#pragma once

#include <cstddef>
#include <cstdint>

#include "workbench/clocks.hpp"

// Shadow memory: for each two bytes of shared memory and of arrays on the device, who wrote them last and who read them
// since.
namespace cute_py::workbench {

inline constexpr std::size_t kGranule = 2;

// An access: by which agent of which cluster, and when. `code` is an index into the table of places in the program.
struct Epoch {
  std::uint32_t serial = 0;  // of the cluster, counted through the whole program; 0: none
  Clock clock = 0;
  std::uint16_t agent = 0;
  std::uint16_t code : 12;
  std::uint16_t is_atomic : 1;
  std::uint16_t is_async : 1;
  std::uint16_t bytes : 2;  // one bit for each byte of the granule
};
static_assert(sizeof(Epoch) == 12);

struct Cell {
  static constexpr int kReads = 3;
  Epoch write;
  Epoch reads[kReads];
};
static_assert(sizeof(Cell) == 48);

// The index of a place in the program, in a table of 4095; those that find no room share the last.
std::uint16_t index_of_code(std::uintptr_t code);
std::uintptr_t code_at(std::uint16_t index);

// Memory on the device: one range of addresses, with gaps between arrays.
struct Array {
  char* first = nullptr;
  std::size_t bytes = 0;
  bool is_free = false;
  bool is_initialised = false;  // as far as is known; else by the shadow's `initialised`
  std::uint64_t number = 0;     // of the allocation, counted from 1
};

void* allocate(std::size_t bytes, bool is_initialised);
// 0, or what is wrong: a pointer that allocate() did not return, or one that is free already.
int release(void* first);
Array const* array_at(void const* address);  // that holds it, free or not
// The array that begins at an address or before it, which it may lie behind, and the one that begins after it; null:
// none.
struct Neighbours {
  Array const* before;
  Array const* after;
};
Neighbours neighbours_of(void const* address);
bool is_on_device(void const* address);
void mark_initialised(void const* address, std::size_t bytes);
bool is_initialised(void const* address, std::size_t bytes);
std::size_t bytes_allocated();
void mark_all_initialised();

// Of an address on the device.
Cell* cells_at(void const* address);

// Calls visit(array) for each that is not free.
void for_each_array(void (*visit)(Array const& array, void* data), void* data);

}  // namespace cute_py::workbench
