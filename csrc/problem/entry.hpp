#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/interrupt.hpp"
#include "problem/geometry.hpp"
#include "problem/schedule.hpp"
#include "problem/traits.hpp"

// What a compiled kernel variant is to everything above it: a name, traits and a function. Plain data.
namespace cute_py::emulator {
class Tracer;
}

namespace cute_py {

enum class ThreadOrder { forward, backward, random };

// How the emulator runs the threads of a CTA.
struct EmulatorOptions {
  ThreadOrder order = ThreadOrder::forward;
  std::uint64_t seed = 0;            // of ThreadOrder::random
  bool poison_shared_memory = true;  // fill it with NaN, or with large numbers, before each CTA
  int architecture = 90;             // whose tensor cores mma.sync is computed by, 80 for 8.0
};

// Everything that a run needs beside its arguments.
struct Execution {
  void* stream = nullptr;  // cudaStream_t; the device that it belongs to is current
  int host_threads = 1;    // for the CPU engine and the emulator
  EmulatorOptions emulator;
  emulator::Tracer* tracer = nullptr;  // of what the emulator's kernels touch
  Interrupt* interrupt = nullptr;      // of a computation on the host; null: it cannot be interrupted

  // Called now and then by what computes on the host. Throws Interrupted.
  void check_interrupt() const {
    if (interrupt != nullptr) interrupt->check();
  }
};

// A kernel made ready for one geometry: what is left is to give it arrays and numbers. Several threads may run one.
class Launch {
 public:
  Launch() = default;
  Launch(Launch const&) = delete;
  Launch& operator=(Launch const&) = delete;
  virtual ~Launch() = default;

  // Starts the computation. On a GPU it returns after the launch. Returns a cudaError_t, 0 for success.
  virtual int run(Arguments const& arguments, Execution const& execution) const = 0;

  // The bytes of memory on a host that a run takes beside the arrays, for panels and sums, in all threads together.
  virtual std::int64_t scratch_bytes(int /*host_threads*/) const { return 0; }
};

// `name` is the entry's own. The geometry is folded, and one that the kernel takes.
using Prepare = std::unique_ptr<Launch> (*)(char const* name, Geometry const&, Schedule const&);

// The layouts of its Config, as catalogue/json.hpp writes them; null where python/cute_py/tables has them, and of an
// entry that is no CuTe kernel.
using Describe = std::string (*)();

struct Rules;  // problem/decision.hpp

struct Entry {
  Traits traits;
  Resources resources;
  Rules const* rules;
  Prepare prepare;  // null of what this build has no code for
  Describe describe = nullptr;
  int (*registers)() = nullptr;         // of a thread, 0 if unknown
  int (*clusters)(int ctas) = nullptr;  // occupancy: clusters of `ctas` that run at a time; null: none
};

}  // namespace cute_py
