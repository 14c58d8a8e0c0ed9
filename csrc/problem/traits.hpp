#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "problem/device.hpp"
#include "problem/geometry.hpp"

// What a kernel variant takes, as plain data: all that legality needs, and nothing else.
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

// The processors that can run a variant.
struct Requirement {
  int compute_capability;  // the least of a GPU, 80 for 8.0; 0 of a CPU kernel
  bool one_major;          // GPUs of other major versions lack its instructions
  int shared_bytes;        // shared memory of a CTA
  Isa isa;                 // of a CPU
  Isa widest_isa;          // that there is the same kernel for

  bool has_instructions(DeviceInfo const& device) const;
  bool has_shared_memory(DeviceInfo const& device) const;

  // Is it for narrower vectors than the processor has, while there is a kernel for wider ones?
  bool is_outdone(DeviceInfo const& device) const;

  // What a device without the instructions lacks, in words.
  std::string describe(DeviceInfo const& device) const;
  std::string describe_shared_memory() const;
};

// The types that an epilogue reads beside C: all, but float8 where it is not written.
constexpr DTypeSet epilogue_types(DTypeSet results) { return (kAllTypes & ~kFloat8) | results; }

struct TypeRule {
  Compute compute;
  DTypeSet factors;   // the types of A and of B
  DTypeSet results;   // the types of C and D
  DTypeSet epilogue;  // the types of bias and residual
  bool one_type;      // A and B have the same of these types
  bool conjugates;    // takes the conjugate of A and of B
};

// The most modes of a group that a GPU kernel takes after folding.
inline constexpr int kMaxKernelModes = 10;

// The most modes of each group after folding.
struct ModeRule {
  int m;
  int n_and_k;
  int l;
};

// The most that a variant counts.
struct Limits {
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

  int m;                        // rows; 0 for any number
  int n;                        // columns; 0 for any number
  std::int64_t extent = kNone;  // of a group
  std::int64_t tiles_n = kNone;
  std::int64_t tiles = kNone;
};

// How A and B have to lie.
struct OperandRule {
  enum class Kind : std::uint8_t {
    strided,  // any strides and extents, with vectors where vector_bytes says so
    boxes,    // TMA loads them: any extents, strides that it can follow
    whole,    // unit strides, aligned leading dimensions, extents that are multiples of the tile
    moved,    // of a copy: moved_bytes at a time, contiguous in A and in D
  };
  Kind kind;
  char const* letters;  // "nt", "tn", "nn", "tt", or "any" where majorness does not matter
  Major major_a;        // the majorness that it was made for; of whole tiles the only one
  Major major_b;
  int vector_bytes_a;  // of A that lie side by side along its major, aligned to as many; 0: none
  int vector_bytes_b;
  int moved_bytes;        // of a copy; 0 of what computes
  int alignment_bytes;    // of pointers and leading dimensions of whole tiles
  int element_alignment;  // of pointers to A and B, in bytes, if an element is smaller; 0: anywhere

  bool is_whole() const { return kind == Kind::whole; }
  bool is_in_boxes() const { return kind == Kind::boxes; }
  Major major(Role factor) const { return factor == Role::a ? major_a : major_b; }
  int vector_bytes(Role factor) const { return factor == Role::a ? vector_bytes_a : vector_bytes_b; }

  // Does a factor lie as the kernel reads it? A kernel for whole tiles requires more.
  bool fits(Geometry const& g, Role factor) const;
  std::string describe(Geometry const& g, Role factor) const;  // why it does not

  // Are an array's elements aligned?
  bool are_elements_aligned(Geometry const& g, Role role) const;
  int element_bytes(Geometry const& g, Role role) const;

  // The longest extent that is counted.
  std::int64_t longest(Geometry const& g) const;
};

struct Traits {
  char const* name;    // of this variant, such as sgemm_1_nt_f32
  char const* kernel;  // the family that it is a variant of, such as sgemm_1
  Target target;
  Requirement needs;
  TypeRule types;
  ModeRule modes;
  Limits limits;
  OperandRule operands;
  int tile[3];     // BLK_M, BLK_N, BLK_K
  bool fuses;      // takes any epilogue; otherwise D = alpha * A B^T + beta * D only, of the type that it computes in
  bool one_order;  // on a host: adds along k in the order of products, dot products, too
  bool by_name = false;  // is chosen by its own name alone: no cost model knows its layouts
};

// What a variant of a GPU kernel is made for.
enum class Form {
  whole,       // whole tiles, unit strides, aligned; one mode in each group
  predicated,  // any extents and strides; one mode in each group
  nested,      // any extents, strides and modes
  vectors,     // the same, but along an operand's major the elements of each vector lie side by side, aligned to it
  elements,    // as nested, one element at a time; adjacent threads go along an operand's major
  gett,        // any extents and strides; two modes in M, as a nested CuTe shape, and one in N and in K
};

// What a variant takes of a processor, and how it is made: for its family's rules and for readers.
struct Resources {
  int threads;                  // per CTA; 1 for a CPU kernel, which is given its threads per call
  int ctas_per_multiprocessor;  // that fit at a time; 0 of a CPU kernel
  int stages;                   // tiles of shared memory in flight
  int sum_bytes;                // split-K: partial sums of a CTA; 0: K cannot be split
  int split_tiles;              // split-K: each CTA has a multiple of this number of tiles of K
  int max_cluster;              // CTAs of a cluster that share K, a power of two; 0: none
  Form form = Form::nested;
  bool is_cooperative = false;  // of consumer warpgroups, if there are any: cooperative; else ping-pong
};

}  // namespace cute_py
