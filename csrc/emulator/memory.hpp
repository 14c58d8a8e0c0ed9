#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "problem/geometry.hpp"

// What a kernel may touch. Kernels for the emulator are compiled with the compiler's instrumentation for data races,
// which calls a function at every access to memory that the compiler does not know to be in registers; memory.cpp is
// what it calls. An access outside of what the launch was given, or not aligned as a GPU requires, ends the launch.
namespace cute_py::emulator {

enum class Space : std::uint8_t { a, b, c, shared, source, bias, residual, partial_sums, exponents, residues };
inline constexpr int kSpaces = 10;

// An array that a launch was given: the bytes from its lowest to past its highest element.
struct Operand {
  Space space;
  std::intptr_t origin;  // its element at coordinate 0, which offsets are counted from
  std::intptr_t first;
  std::intptr_t last;
  int scalar_bytes;  // of an element, or of half a complex one
};

// The arrays that a kernel reads or writes. `c` is the result; C itself is `source` if it is another array.
// `split_k_bytes`: the workspace of split-K.
std::vector<Operand> operands_of(Geometry const& geometry, Arguments const& arguments, std::int64_t split_k_bytes);

struct Span {
  std::intptr_t first = 0;
  std::intptr_t last = 0;

  bool holds(std::intptr_t where, std::intptr_t bytes) const { return where >= first && where + bytes <= last; }
};

class Tracer;

// The memory that the CTA on this operating-system thread may access; accesses outside of a CTA are not checked.
struct Reach {
  std::uintptr_t stacks = 0;  // of its threads, where most of what is not in registers lies
  std::uintptr_t stack_bytes = 0;
  std::uintptr_t shared = 0;
  std::uintptr_t shared_bytes = 0;
  std::uintptr_t cluster = 0;  // the shared memory of all CTAs of the cluster
  std::uintptr_t cluster_bytes = 0;
  std::uintptr_t quiet_bytes = 0;  // of shared memory, whose accesses are not traced; 0 with a tracer
  bool runs = false;
  bool* unfenced = nullptr;  // has the running thread written to shared memory since its last fence?
  std::vector<Operand> const* operands = nullptr;
  Span arguments;
  Tracer* tracer = nullptr;
};

// Of a thread's stack, which begins at a multiple of it: functions whose accesses are instrumented have frames of up to
// 400 KB. The system hands out only the pages that are used.
inline constexpr std::size_t kStackBytes = 1024 * 1024;

// Of this operating-system thread. Not thread_local: that allows for a constructor, and every access would ask for it.
extern __thread Reach reach;

// An access by one instruction, by as many as the compiler likes, or one that an asynchronous copy will make.
enum class Access : std::uint8_t { instruction, range, announced };

// Ends the launch with a KernelError if the CTA's running thread must not read or write there.
void check(void const* address, std::intptr_t bytes, bool is_write, Access access);

}  // namespace cute_py::emulator
