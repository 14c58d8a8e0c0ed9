#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emulator/memory.hpp"

// Who read and wrote what.
namespace cute_py::emulator {

// One access of one thread; plain data that NumPy reads as it is.
struct Record {
  std::int32_t block_m;
  std::int32_t block_n;
  std::int32_t thread;
  std::int32_t phase;   // barriers that the thread had passed
  std::int64_t offset;  // in bytes: from the operand's first element, or into shared memory
  std::int32_t bytes;
  Space space;
  std::uint8_t is_write;
  std::uint16_t unused;
};

// Records the accesses of the launches whose Execution names it, on one operating-system thread. A launch ends when
// there are more of them than the limit.
class Tracer {
 public:
  // `spaces` has a bit for each Space.
  Tracer(unsigned spaces, std::size_t limit) : spaces_(spaces), limit_(limit) {}

  void record(Space space, std::intptr_t offset, std::intptr_t bytes, bool is_write);
  std::vector<Record> const& records() const { return records_; }
  bool overflowed() const { return overflowed_; }

 private:
  unsigned spaces_;
  std::size_t limit_;
  bool overflowed_ = false;
  std::vector<Record> records_;
};

}  // namespace cute_py::emulator
