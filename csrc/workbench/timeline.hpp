#pragma once

#include <cstdint>
#include <string>
#include <vector>

// What the warps of a cluster did, what worked beside them, and what they waited for, in nominal cycles. These are
// counted along what happened before what (Knowledge::cycle), so they do not depend on the order in which the emulator
// runs threads: a longest path, not a measurement.
namespace cute_py::workbench {

using Cycle = std::uint64_t;

// Nominal cycles, as on an H100 at full clock.
inline constexpr Cycle kCyclesOfInstruction = 1;  // an access to memory, or an instruction of asm
inline constexpr Cycle kCyclesOfCpAsync = 500;    // from global memory
inline constexpr Cycle kCyclesOfTma = 600;        // until the first bytes of a box arrive, or have left
inline constexpr Cycle kTmaBytesPerCycle = 64;    // of a multiprocessor
inline constexpr Cycle kFmaPerCycle = 2048;  // of 16 bits, of the tensor cores of a multiprocessor; others by bytes

struct Span {
  char const* kind;   // "wait", "product", "load", "store", "section" or "kernel"
  std::string track;  // "block 0 warp 4", "block 0 TMA"
  std::string name;
  Cycle begin;
  Cycle end;
  std::uintptr_t code;
};

class Timeline {
 public:
  void add(Span span) {
    if (spans_.size() < kMost) spans_.push_back(std::move(span));
  }
  std::vector<Span> const& spans() const { return spans_; }

 private:
  static constexpr std::size_t kMost = 1 << 18;
  std::vector<Span> spans_;
};

}  // namespace cute_py::workbench
