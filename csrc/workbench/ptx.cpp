#include "workbench/ptx.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unordered_map>

#include "workbench/errors.hpp"

namespace cute_py::workbench {

Execute find_instruction(std::vector<std::string> const& parts) {
  for (auto const find :
       {&find_collective, &find_barrier, &find_bulk, &find_wgmma, &find_tcgen05, &find_memory, &find_arithmetic}) {
    if (Execute const found = find(parts)) return found;
  }
  return nullptr;
}

namespace {

Code const& code_of(char const* text) {
  thread_local std::unordered_map<char const*, Code> known;
  auto const found = known.find(text);
  if (found != known.end()) return found->second;
  return known.emplace(text, parse_ptx(text)).first->second;
}

}  // namespace

namespace {

// What stands for a thread in host code.
Cluster& host() {
  static Launch const launch{"the host", {}, {}, {}, 0, {}, nullptr, 0, false};
  thread_local Cluster cluster(launch);
  return cluster;
}

}  // namespace

__attribute__((noinline)) void execute_ptx(char const* text, Operand* operands, int count) {
  // Host code that is device code, too, computes with numbers, and does nothing that takes a thread of a GPU.
  bool const is_host = running == nullptr;
  Cluster* const cluster = is_host ? &host() : running;
  Thread& thread = cluster->current();
  thread.frame = __builtin_frame_address(0);
  thread.code = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  Code const& code = code_of(text);
  if (code.operands > count) {
    cluster->stop(
        Kind::unsupported,
        "executes asm that names operand %" + std::to_string(code.operands - 1) + ", of " + std::to_string(count),
        kErrorNotSupported);
  }
  constexpr int kFew = 16;
  std::uint64_t few[kFew] = {};
  std::vector<std::uint64_t> many(code.locals > kFew ? static_cast<std::size_t>(code.locals) : 0);
  std::uint64_t* const locals = code.locals > kFew ? many.data() : few;
  Frame frame{thread, *cluster, operands, locals, 0, &code};
  while (frame.next < code.statements.size()) {
    Statement const& statement = code.statements[frame.next++];
    if (statement.guard >= 0) {
      auto const index = static_cast<std::size_t>(statement.guard);
      bool const holds = (statement.guard_is_operand ? operands[index].value[0] : locals[index]) != 0;
      if (holds == statement.guard_negated) continue;
    }
    if (is_host && statement.execute != find_arithmetic(statement.parts)) continue;
    if (statement.execute == nullptr) {
      cluster->stop(Kind::unsupported, "executes \"" + statement.text + "\", which the emulator does not know",
                    kErrorNotSupported);
    }
    frame.thread.knows.cycle += kCyclesOfInstruction;
    statement.execute(frame, statement);
  }
}

std::uint64_t Frame::get(Argument const& argument) const {
  switch (argument.kind) {
    case Argument::Kind::operand:
      return operands[argument.index].value[0];
    case Argument::Kind::local:
      return locals[argument.index];
    case Argument::Kind::immediate:
      return argument.immediate;
    case Argument::Kind::special:
      return special(cluster, argument.index);
    default:
      return 0;
  }
}

Operand Frame::wide(Argument const& argument) const {
  if (argument.kind == Argument::Kind::operand) return operands[argument.index];
  Operand operand;
  operand.value[0] = get(argument);
  operand.bytes = 8;
  return operand;
}

void Frame::set(Argument const& argument, std::uint64_t value, std::uint64_t high) {
  if (argument.kind == Argument::Kind::local) {
    locals[argument.index] = value;
  } else if (argument.kind == Argument::Kind::operand) {
    Operand& operand = operands[argument.index];
    if (operand.to == nullptr) {
      cluster.stop(Kind::rule, "writes to an operand of asm that is declared as an input", kErrorIllegalInstruction);
    }
    operand.value[0] = value;
    operand.value[1] = high;
    std::memcpy(operand.to, operand.value, static_cast<std::size_t>(operand.bytes));
  }
}

float Frame::get_float(Argument const& a) const {
  auto const bits = static_cast<std::uint32_t>(get(a));
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

void* Frame::address(Statement const& s, Argument const& argument) const {
  Argument const& base = argument.kind == Argument::Kind::address ? argument.parts.front() : argument;
  std::uint64_t const offset = argument.kind == Argument::Kind::address ? argument.immediate : 0;
  std::uint64_t const number = get(base) + offset;
  bool const is_cta = s.has("shared") || s.has("shared::cta");
  if (is_cta) return shared_at(static_cast<std::uint32_t>(number));
  if (s.has("shared::cluster")) return cluster_shared_at(static_cast<std::uint32_t>(number));
  return reinterpret_cast<void*>(number);
}

void Frame::refuse(Statement const& s, std::string const& why) const {
  cluster.stop(Kind::rule, "executes \"" + s.text + "\": " + why, kErrorIllegalInstruction);
}

namespace {
constexpr std::string_view kSpecials[] = {"tid.x",
                                          "tid.y",
                                          "tid.z",
                                          "ntid.x",
                                          "ntid.y",
                                          "ntid.z",
                                          "ctaid.x",
                                          "ctaid.y",
                                          "ctaid.z",
                                          "nctaid.x",
                                          "nctaid.y",
                                          "nctaid.z",
                                          "laneid",
                                          "warpid",
                                          "nwarpid",
                                          "smid",
                                          "nsmid",
                                          "clusterid.x",
                                          "clusterid.y",
                                          "clusterid.z",
                                          "nclusterid.x",
                                          "nclusterid.y",
                                          "nclusterid.z",
                                          "cluster_ctaid.x",
                                          "cluster_ctaid.y",
                                          "cluster_ctaid.z",
                                          "cluster_nctaid.x",
                                          "cluster_nctaid.y",
                                          "cluster_nctaid.z",
                                          "cluster_ctarank",
                                          "cluster_nctarank",
                                          "is_explicit_cluster",
                                          "globaltimer",
                                          "globaltimer_lo",
                                          "globaltimer_hi",
                                          "clock",
                                          "clock64",
                                          "lanemask_eq",
                                          "lanemask_lt",
                                          "lanemask_le",
                                          "lanemask_gt",
                                          "lanemask_ge",
                                          "dynamic_smem_size",
                                          "total_smem_size",
                                          "WARP_SZ"};
static_assert(sizeof(kSpecials) / sizeof(kSpecials[0]) == special_registers);
}  // namespace

int special_named(std::string_view name) {
  for (int i = 0; i < special_registers; ++i) {
    if (kSpecials[i] == name) return i;
  }
  return -1;
}

std::uint64_t special(Cluster& cluster, int which) {
  Thread const& thread = cluster.current();
  Launch const& launch = cluster.launch();
  Dim3 const cta = cluster.cta().index;
  Dim3 const in_cluster = cluster.position_in_cluster(thread.cta);
  int const in_cta = thread.agent % cluster.threads_of_cta();
  int const lane = in_cta % kWarp;
  auto const of = [](Dim3 const& d, int first, int wanted) {
    return wanted == first ? d.x : wanted == first + 1 ? d.y : d.z;
  };
  auto const nanoseconds = [] {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
  };
  if (which <= tid_z) return of(thread.index, tid_x, which);
  if (which <= ntid_z) return of(launch.block, ntid_x, which);
  if (which <= ctaid_z) return of(cta, ctaid_x, which);
  if (which <= nctaid_z) return of(launch.grid, nctaid_x, which);
  Dim3 const c = launch.cluster;
  switch (which) {
    case laneid:
      return static_cast<std::uint64_t>(lane);
    case warpid:
      return static_cast<std::uint64_t>(in_cta / kWarp);
    case nwarpid:
      return 64;
    case smid:
      return cta.x % static_cast<unsigned>(options().multiprocessors);
    case nsmid:
      return static_cast<std::uint64_t>(options().multiprocessors);
    case clusterid_x:
      return cta.x / c.x;
    case clusterid_y:
      return cta.y / c.y;
    case clusterid_z:
      return cta.z / c.z;
    case nclusterid_x:
      return launch.grid.x / c.x;
    case nclusterid_y:
      return launch.grid.y / c.y;
    case nclusterid_z:
      return launch.grid.z / c.z;
    case cluster_ctaid_x:
    case cluster_ctaid_y:
    case cluster_ctaid_z:
      return of(in_cluster, cluster_ctaid_x, which);
    case cluster_nctaid_x:
    case cluster_nctaid_y:
    case cluster_nctaid_z:
      return of(c, cluster_nctaid_x, which);
    case cluster_ctarank:
      return static_cast<std::uint64_t>(thread.cta);
    case cluster_nctarank:
      return c.count();
    case is_explicit_cluster:
      return c.count() > 1;
    case globaltimer:
    case clock64:
      return nanoseconds();
    case globaltimer_lo:
    case clock:
      return nanoseconds() & 0xffffffffu;
    case globaltimer_hi:
      return nanoseconds() >> 32;
    case lanemask_eq:
      return 1u << lane;
    case lanemask_lt:
      return (1u << lane) - 1;
    case lanemask_le:
      return (2u << lane) - 1;
    case lanemask_gt:
      return ~((2u << lane) - 1);
    case lanemask_ge:
      return ~((1u << lane) - 1);
    case dynamic_smem_size:
      return launch.dynamic_bytes;
    case total_smem_size:
      return cluster.cta().static_bytes;
    default:
      return kWarp;
  }
}

void begin_cluster(Cluster& cluster) { begin_barriers(cluster); }
void end_of_cluster(Cluster&) {}

bool knows_cluster(Thread const& thread, std::uint32_t serial) {
  auto const& known = thread.knows.clusters;
  return known != nullptr && std::binary_search(known->begin(), known->end(), serial);
}

}  // namespace cute_py::workbench
