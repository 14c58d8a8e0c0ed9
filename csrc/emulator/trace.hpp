#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// Who read and wrote what. The kernels of the tracing build are compiled with the compiler's instrumentation for data
// races, which calls a function at every access to memory; trace.cpp is what it calls.
namespace cute_py::emulator {

enum class Space : std::uint8_t { a, b, c, shared };

// One access of one thread; plain data that NumPy reads as it is.
struct Access {
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

// The bytes of an operand that are watched.
struct Watched {
  void const* origin;  // what offsets are counted from
  std::intptr_t first;
  std::intptr_t last;  // past the end
};

// Records accesses from construction to destruction. One at a time; the emulator runs on one operating-system thread.
class Tracer {
 public:
  Tracer(Watched const (&operands)[3], std::size_t shared_bytes, unsigned spaces, std::size_t limit);
  ~Tracer();
  Tracer(Tracer const&) = delete;
  Tracer& operator=(Tracer const&) = delete;

  void record(void const* address, int bytes, bool is_write);
  std::vector<Access> const& accesses() const { return accesses_; }
  bool overflowed() const { return overflowed_; }

 private:
  Watched watched_[4];
  unsigned spaces_;  // one bit for each Space
  std::size_t limit_;
  bool overflowed_ = false;
  std::vector<Access> accesses_;
};

}  // namespace cute_py::emulator
