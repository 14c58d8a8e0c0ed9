#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workbench/machine.hpp"
#include "workbench/ptx_operand.hpp"

// PTX, the instructions that kernels contain as asm statements, as NVIDIA's "Parallel Thread Execution ISA" describes
// them. A statement is parsed when it is first executed.
namespace cute_py::workbench {

struct Argument {
  enum class Kind : std::uint8_t { operand, local, immediate, special, label, vector, address, pair, sink };
  Kind kind = Kind::sink;
  int index = 0;                // of the operand, local, special register or label
  std::uint64_t immediate = 0;  // or the offset of an address
  std::vector<Argument> parts;  // of a vector or a pair; the base of an address, and coordinates behind it
};

enum class Type : std::uint8_t {
  none,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f64,
  pred
};
int bytes_of(Type type);
bool is_float(Type type);
bool is_signed(Type type);

struct Frame;
using Execute = void (*)(Frame& frame, Statement const& statement);

struct Statement {
  Execute execute = nullptr;
  std::string text;                // as it is written
  std::vector<std::string> parts;  // of the opcode, between dots
  std::vector<Argument> arguments;
  std::vector<Type> types;  // of the opcode's parts that are types
  int guard = -1;           // the predicate register, or operand
  bool guard_is_operand = false;
  bool guard_negated = false;
  std::shared_ptr<void> prepared;  // what the instruction makes of itself, once

  bool has(std::string_view part) const {
    for (auto const& p : parts) {
      if (p == part) return true;
    }
    return false;
  }
  Type type(std::size_t i = 0) const { return i < types.size() ? types[i] : Type::none; }
};

struct Code {
  std::vector<Statement> statements;
  std::vector<std::size_t> labels;  // the statement that each is before
  int locals = 0;
  int operands = 0;  // that it names
};

// A statement of asm while a thread executes it.
struct Frame {
  Thread& thread;
  Cluster& cluster;
  Operand* operands;
  std::uint64_t* locals;
  std::size_t next = 0;  // statement
  Code const* code = nullptr;

  std::uint64_t get(Argument const& argument) const;
  void set(Argument const& argument, std::uint64_t value, std::uint64_t high = 0);
  Operand wide(Argument const& argument) const;  // up to 16 bytes
  float get_float(Argument const& a) const;
  // Of an address [base + offset], in a space or generic.
  void* address(Statement const& s, Argument const& argument) const;
  [[noreturn]] void refuse(Statement const& s, std::string const& why) const;  // a rule of the instruction
};

Code parse_ptx(char const* text);
// Null if there is none.
Execute find_instruction(std::vector<std::string> const& parts);

// Parts of find_instruction, by topic.
Execute find_arithmetic(std::vector<std::string> const& parts);
Execute find_memory(std::vector<std::string> const& parts);
Execute find_collective(std::vector<std::string> const& parts);
Execute find_barrier(std::vector<std::string> const& parts);
Execute find_bulk(std::vector<std::string> const& parts);
Execute find_wgmma(std::vector<std::string> const& parts);
Execute find_tcgen05(std::vector<std::string> const& parts);

enum Special : int {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_ctarank,
  cluster_nctarank,
  is_explicit_cluster,
  globaltimer,
  globaltimer_lo,
  globaltimer_hi,
  clock,
  clock64,
  lanemask_eq,
  lanemask_lt,
  lanemask_le,
  lanemask_gt,
  lanemask_ge,
  dynamic_smem_size,
  total_smem_size,
  warp_size,
  special_registers
};
int special_named(std::string_view name);  // -1: none
std::uint64_t special(Cluster& cluster, int which);

// What the machine asks of instructions.
void end_of_thread();  // what it started is done, and waited for
void begin_cluster(Cluster& cluster);
void end_of_cluster(Cluster& cluster);

// Numbers of 16 bits and below.
float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);
float bfloat_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat(float value);
// An element of a tensor core's factor as a number.
float element_to_float(std::string_view type, std::uint32_t bits);

// Barriers and asynchronous copies, which C++ functions use, too.
void sync_threads();
std::uint32_t sync_threads_and_vote(char mode, bool holds);  // count, all ('l') or any ('n')
void begin_barriers(Cluster& cluster);
void sync_warp(std::uint32_t mask);
void fence(bool is_system);
void end_of_copies(Thread& thread, Cluster& cluster);
void end_of_products(Thread& thread, Cluster& cluster);
void end_of_stores(Thread& thread, Cluster& cluster);
void end_of_tensor_memory(Cluster& cluster);
void copies_arrive(Thread& thread, Cluster& cluster, Knowledge& at);

}  // namespace cute_py::workbench
