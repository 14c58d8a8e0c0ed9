#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/interrupt.hpp"
#include "problem/geometry.hpp"
#include "problem/schedule.hpp"

// What a compiled kernel variant is to everything above it: a name, traits and a function. Plain data.
namespace cute_py::emulator {
class Tracer;
}

namespace cute_py {

enum class Target { cuda, emulator, cpu };

constexpr char const* name_of(Target target) {
  switch (target) {
    case Target::cuda:
      return "cuda";
    case Target::emulator:
      return "emulator";
    case Target::cpu:
      return "cpu";
  }
  return "";
}

// Which mode of an operand has stride 1: the first (m or n), or k.
enum class Major { mn, k };

// The instruction set that a CPU kernel was compiled for.
enum class Isa { baseline, avx2, avx512, avx512_vnni };

constexpr char const* name_of(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return "baseline";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::avx512_vnni:
      return "avx512_vnni";
  }
  return "";
}

struct Traits {
  char const* name;    // of this variant, such as sgemm_1_nt_f32
  char const* kernel;  // the kernel that it is a variant of, such as sgemm_1
  char const* layout;  // "nt", "tn", "nn", "tt", or "any" where majorness does not matter
  Target target;
  Compute compute;
  DTypeSet factors;  // the types of A and of B
  DTypeSet results;  // the types of C and D
  bool one_type;     // A and B have the same of these types
  bool conjugates;   // takes the conjugate of A and of B
  int modes;         // the most modes of N and of K after folding
  int modes_m;       // the most of M
  int modes_l;       // the most of L, of a GPU's kernel
  int most_m;        // rows; 0 for any number
  int most_n;        // columns; 0 for any number
  bool fuses;        // takes any epilogue; otherwise D = alpha * A B^T + beta * D only, of the type that it computes in
  int tile[3];       // BLK_M, BLK_N, BLK_K
  int threads;       // per CTA; 1 for a CPU kernel, which is given its threads per call
  int ctas_per_multiprocessor;  // that fit at a time; 0 of a CPU kernel
  int stages;                   // tiles of shared memory in flight
  int shared_bytes;             // shared memory per CTA
  int part_bytes;               // sums of a CTA, if K is in parts; 0: K cannot be
  int part_tiles;               // parts are multiples of so many tiles of K
  int parts_in_cluster;         // the most that CTAs of a cluster can be, a power of two as they all are; else 0
  bool copies_boxes;            // A and B are moved by the copy engine: any extents, even along their vectors
  bool predicated;              // takes any extents and any strides; otherwise extents are multiples of the tile
  Major major_a;                // the majorness that it was made for; the only one that it takes unless predicated
  Major major_b;
  int moved_bytes;     // at a time, of a copy; 0 of what computes
  int vector_bytes_a;  // of A that have to lie side by side along its major, aligned to as many; 0: none
  int vector_bytes_b;
  int alignment_bytes;     // of pointers and of leading dimensions
  int element_alignment;   // of pointers to A and B in every case, in bytes: what reads an element at a time requires
  int compute_capability;  // the least of a GPU that it is made for, 80 for 8.0; 0 of a CPU kernel
  Isa isa;
  Isa widest_isa;  // that there is the same kernel for
  bool one_order;  // on a host: adds along k in the order of products, sums of neighbours, too
};

enum class ThreadOrder { forward, backward, random };

// How the emulator runs the threads of a CTA.
struct EmulatorOptions {
  ThreadOrder order = ThreadOrder::forward;
  std::uint64_t seed = 0;            // of ThreadOrder::random
  bool poison_shared_memory = true;  // fill it with NaN, or with large numbers, before each CTA
};

// The most modes of a group that a GPU kernel takes after folding.
inline constexpr int kMaxKernelModes = 10;

// Everything that a run needs beside its arguments.
struct Execution {
  void* stream = nullptr;  // cudaStream_t; the device that it belongs to is current
  int host_threads = 1;    // for the CPU engine and the emulator
  EmulatorOptions emulator;
  emulator::Tracer* tracer = nullptr;  // of what the emulator's kernels touch
  Interrupt* interrupt = nullptr;      // of a computation on the host; null: it cannot be interrupted
  bool beside_last = false;            // a copy that may begin before the copy launched just before it has ended

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

  // What that takes beside the arrays on a host, for panels and sums, in all threads together.
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
  Rules const* rules;
  Prepare prepare;  // null of what this build has no code for
  Describe describe = nullptr;
  int (*registers)() = nullptr;         // of a thread, 0 if unknown
  int (*clusters)(int ctas) = nullptr;  // of so many CTAs, that run at a time on the current GPU; null: it has none
};

}  // namespace cute_py
