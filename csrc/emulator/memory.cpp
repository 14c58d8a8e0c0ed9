#include "emulator/memory.hpp"

#include <link.h>

#include <algorithm>
#include <limits>
#include <string>

#include "emulator/cta.hpp"
#include "emulator/trace.hpp"

namespace cute_py::emulator {

__thread Reach reach;

namespace {

char const* name_of(Space space) {
  constexpr char const* kNames[kSpaces] = {"A",
                                           "B",
                                           "C",
                                           "shared memory",
                                           "C before the result",
                                           "bias",
                                           "residual",
                                           "the partial sums of split-K",
                                           "exponents",
                                           "residues"};
  return kNames[static_cast<int>(space)];
}

Operand operand_of(Space space, Geometry const& g, Role role, void const* data) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for_each_group(g, [&](Modes const& modes) {
    for (Mode const& mode : modes) {
      auto const stride = mode.stride[role];
      (stride < 0 ? low : high) += (mode.extent - 1) * stride;
    }
  });
  auto const origin = reinterpret_cast<std::intptr_t>(data);
  auto const bytes = bytes_of(g.type[role]);
  auto last = origin + static_cast<std::intptr_t>((high + 1) * bytes);
  bool const padded = (role == Role::a && g.padded_a) || (role == Role::b && g.padded_b);
  if (padded) last = (last + 15) / 16 * 16;
  return {space, origin, origin + static_cast<std::intptr_t>(low * bytes), last, scalar_bytes_of(g.type[role])};
}

// The constants of the library that holds the kernels.
Span find_static_data() {
  Span span;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        auto const here = reinterpret_cast<std::uintptr_t>(&operands_of);
        Span all{std::numeric_limits<std::intptr_t>::max(), 0};
        bool is_this = false;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          auto const& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          auto const first = info->dlpi_addr + segment.p_vaddr;
          is_this = is_this || (here >= first && here < first + segment.p_memsz);
          all.first = std::min(all.first, static_cast<std::intptr_t>(first));
          all.last = std::max(all.last, static_cast<std::intptr_t>(first + segment.p_memsz));
        }
        if (is_this) *static_cast<Span*>(found) = all;
        return is_this ? 1 : 0;
      },
      &span);
  return span;
}

Span const& static_data() {
  static Span const span = find_static_data();
  return span;
}

std::string place(Space space, std::intptr_t offset) {
  return std::string(name_of(space)) + (offset < 0 ? " - " : " + ") + std::to_string(offset < 0 ? -offset : offset) +
         " bytes";
}

// Where an address is, told from the nearest of what the launch was given.
std::string where_is(std::intptr_t where) {
  auto const shared = static_cast<std::intptr_t>(reach.shared);
  std::string text = place(Space::shared, where - shared);
  auto const distance = [&](std::intptr_t first, std::intptr_t last) {
    return where < first ? first - where : where >= last ? where - last : 0;
  };
  auto nearest = distance(shared, shared + static_cast<std::intptr_t>(kSharedMemoryBytes));
  for (Operand const& operand : *reach.operands) {
    if (distance(operand.first, operand.last) >= nearest) continue;
    nearest = distance(operand.first, operand.last);
    text = place(operand.space, where - operand.origin);
  }
  return text;
}

[[noreturn]] void fail(std::intptr_t where, std::intptr_t bytes, bool is_write, std::string const& rule) {
  stop((is_write ? "writes " : "reads ") + std::to_string(bytes) + " bytes at " + where_is(where) + ", " + rule);
}

// An instruction that moves 1, 2, 4, 8 or 16 bytes needs an address that is a multiple of them.
void check_alignment(std::intptr_t where, std::intptr_t bytes, bool is_write, std::intptr_t needed) {
  if (where % needed == 0) return;
  fail(where, bytes, is_write, "whose address is no multiple of " + std::to_string(needed));
}

}  // namespace

std::vector<Operand> operands_of(Geometry const& geometry, Arguments const& arguments, std::int64_t split_k_bytes) {
  std::vector<Operand> operands;
  if (geometry.is_empty()) return operands;
  // Of steps of emulated precision: planes and residues have lines that end with padding, and exponents are arrays,
  // too.
  auto const of_bytes = [&](Space space, void const* data, std::int64_t bytes) {
    auto const first = reinterpret_cast<std::intptr_t>(data);
    operands.push_back({space, first, first, first + static_cast<std::intptr_t>(bytes), 1});
  };
  constexpr std::int64_t kExponent = sizeof(std::int32_t);
  Planes const& planes = geometry.planes;
  Compute const step = geometry.compute;
  auto const rows = geometry.m.size() * geometry.l.size();
  auto const columns = geometry.n.size() * geometry.l.size();
  auto const line = plane_line(planes, geometry.k.size()) * planes.planes() * bytes_of(planes.type());
  auto const residues = residue_line(geometry.n.size());
  bool const has_planes = step == Compute::planes;
  if (step == Compute::split) {
    of_bytes(Space::c, arguments.data[Role::d], geometry.m.size() * line);
    of_bytes(Space::exponents, arguments.exponents[0], geometry.m.size() * kExponent);
  }
  if (has_planes) {
    of_bytes(Space::a, arguments.data[Role::a], rows * line);
    of_bytes(Space::b, arguments.data[Role::b], columns * line);
  }
  if (has_planes || step == Compute::combine) {
    of_bytes(Space::exponents, arguments.exponents[0], rows * kExponent);
    of_bytes(Space::exponents, arguments.exponents[1], columns * kExponent);
  }
  if (step == Compute::residues) of_bytes(Space::c, arguments.data[Role::d], rows * residues);
  if (step == Compute::combine && planes.has_residues()) {
    of_bytes(Space::residues, arguments.residues, rows * residues * planes.planes());
  }
  constexpr Space kSpaceOf[kRoles] = {Space::a, Space::b, Space::source, Space::c, Space::bias, Space::residual};
  for (int i = 0; i < kRoles; ++i) {
    auto const role = static_cast<Role>(i);
    if (!geometry.has(role) || (role == Role::c && geometry.c_is_d)) continue;
    if (role == Role::d && (step == Compute::split || step == Compute::residues)) continue;
    if (has_planes && (role == Role::a || role == Role::b)) continue;
    operands.push_back(operand_of(kSpaceOf[i], geometry, role, arguments.data[role]));
  }
  if (split_k_bytes > 0) {
    auto const first = reinterpret_cast<std::intptr_t>(arguments.split_k_workspace);
    operands.push_back({Space::partial_sums, first, first, first + static_cast<std::intptr_t>(split_k_bytes), 4});
  }
  return operands;
}

void check(void const* address, std::intptr_t bytes, bool is_write, Access access) {
  auto const where = reinterpret_cast<std::intptr_t>(address);
  auto const offset = where - static_cast<std::intptr_t>(reach.shared);
  bool const traces = reach.tracer != nullptr && access != Access::announced;
  if (offset >= 0 && offset < static_cast<std::intptr_t>(kSharedMemoryBytes)) {
    if (offset + bytes > static_cast<std::intptr_t>(reach.shared_bytes)) {
      fail(where, bytes, is_write, "beyond the " + std::to_string(reach.shared_bytes) + " bytes that the CTA has");
    }
    if (access != Access::range) check_alignment(where, bytes, is_write, bytes);
    if (traces) reach.tracer->record(Space::shared, offset, bytes, is_write);
    return;
  }
  // Shared memory of another CTA of the cluster, of which no trace tells.
  if (auto const in_cluster = static_cast<std::uintptr_t>(where) - reach.cluster; in_cluster < reach.cluster_bytes) {
    if (in_cluster % kStackBytes + static_cast<std::uintptr_t>(bytes) > reach.shared_bytes) {
      fail(where, bytes, is_write, "beyond the " + std::to_string(reach.shared_bytes) + " bytes that the CTA has");
    }
    if (access != Access::range) check_alignment(where, bytes, is_write, bytes);
    return;
  }
  for (Operand const& operand : *reach.operands) {
    if (where < operand.first || where >= operand.last) continue;
    if (where + bytes > operand.last) break;
    auto const scalar = static_cast<std::intptr_t>(operand.scalar_bytes);
    // A complex number is two numbers, and its type no more aligned than they.
    check_alignment(where, bytes, is_write,
                    access == Access::range      ? scalar
                    : bytes == 16 && scalar == 8 ? std::intptr_t{8}
                                                 : bytes);
    if (operand.space == Space::partial_sums && is_write) check_sum_may_be_written();
    if (traces) reach.tracer->record(operand.space, where - operand.origin, bytes, is_write);
    return;
  }
  if (reach.arguments.holds(where, bytes) || static_data().holds(where, bytes)) return;
  fail(where, bytes, is_write, "which is in none of the arrays that the kernel was given");
}

namespace {

// Is an address on the stack that this function runs on? Stacks of a CTA lie at multiples of their size. Other
// instrumented code has a stack of its own.
inline bool is_on_this_stack(std::uintptr_t where) {
  auto const here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return (where ^ here) < kStackBytes;
}

// An instruction that moves `bytes`. The most frequent cases come first: the thread's own stack, then shared memory.
template <std::intptr_t bytes>
inline void touch(void const* address, bool is_write) {
  auto const where = reinterpret_cast<std::uintptr_t>(address);
  if (is_on_this_stack(where)) return;
  if (where - reach.stacks < reach.stack_bytes) return;
  auto const offset = where - reach.shared;
  if (is_write && offset < reach.shared_bytes) *reach.unfenced = true;
  if (offset < reach.quiet_bytes && offset % bytes == 0) return;
  if (reach.runs) check(address, bytes, is_write, Access::instruction);
}

inline void touch_range(void const* address, std::size_t bytes, bool is_write) {
  if (reinterpret_cast<std::uintptr_t>(address) - reach.stacks < reach.stack_bytes || !reach.runs) return;
  check(address, static_cast<std::intptr_t>(bytes), is_write, Access::range);
}

}  // namespace
}  // namespace cute_py::emulator

// The functions that the instrumentation calls. For "unaligned", and for a range, the compiler knows no alignment.
extern "C" {

using cute_py::emulator::touch;
using cute_py::emulator::touch_range;

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

void __tsan_read1(void* p) { touch<1>(p, false); }
void __tsan_read2(void* p) { touch<2>(p, false); }
void __tsan_read4(void* p) { touch<4>(p, false); }
void __tsan_read8(void* p) { touch<8>(p, false); }
void __tsan_read16(void* p) { touch<16>(p, false); }
void __tsan_write1(void* p) { touch<1>(p, true); }
void __tsan_write2(void* p) { touch<2>(p, true); }
void __tsan_write4(void* p) { touch<4>(p, true); }
void __tsan_write8(void* p) { touch<8>(p, true); }
void __tsan_write16(void* p) { touch<16>(p, true); }
void __tsan_unaligned_read2(void* p) { touch_range(p, 2, false); }
void __tsan_unaligned_read4(void* p) { touch_range(p, 4, false); }
void __tsan_unaligned_read8(void* p) { touch_range(p, 8, false); }
void __tsan_unaligned_read16(void* p) { touch_range(p, 16, false); }
void __tsan_unaligned_write2(void* p) { touch_range(p, 2, true); }
void __tsan_unaligned_write4(void* p) { touch_range(p, 4, true); }
void __tsan_unaligned_write8(void* p) { touch_range(p, 8, true); }
void __tsan_unaligned_write16(void* p) { touch_range(p, 16, true); }
void __tsan_read_range(void* p, unsigned long bytes) { touch_range(p, bytes, false); }
void __tsan_write_range(void* p, unsigned long bytes) { touch_range(p, bytes, true); }

// What describes a kernel counts references to what it allocates.
int __tsan_atomic32_fetch_add(int volatile* p, int value, int) {
  return __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST);
}

}  // extern "C"
