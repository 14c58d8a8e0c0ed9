#include <algorithm>
#include <array>
#include <vector>

#include "numeric/tensor_core.hpp"
#include "workbench/descriptor.hpp"
#include "workbench/errors.hpp"
#include "workbench/mbarrier.hpp"
#include "workbench/ptx.hpp"

// tcgen05: tensor memory, and products into it, which one thread starts for its CTA, or for a pair of CTAs. They are
// done in the order in which they were started, as late as the commit that somebody waits for.
namespace cute_py::workbench {
using numeric::DecodedFactor;
using numeric::format_of;
using numeric::tensor_row;
using numeric::TensorCore;
using numeric::warpgroup_core;
namespace {

constexpr int kLanes = 128;
constexpr int kColumns = 512;
constexpr int kSlice = 32;  // columns that are allocated together

int lane_of(std::uint32_t address) { return static_cast<int>(address >> 16); }
int column_of(std::uint32_t address) { return static_cast<int>(address & 0xffff); }

constexpr int kQuarters = 4;  // of the lanes, each reached by the warps of one remainder modulo 4

struct LastAccess {
  int agent = -1;  // none
  Clock clock = 0;
};
using OfQuarters = std::array<LastAccess, kQuarters>;

// Who wrote each quarter of a column last, and who read it last.
struct Column {
  bool is_written = false;
  OfQuarters writers;
  OfQuarters readers;
};

// What the instruction descriptor says (PTX ISA, "Instruction descriptor").
struct Instruction {
  std::uint32_t bits;
  int field(int first, int count) const { return static_cast<int>(bits >> first & ((1u << count) - 1)); }
  bool is_sparse() const { return field(2, 1) != 0; }
  int type_of_d() const { return field(4, 2); }
  int type_of_a() const { return field(7, 3); }
  int type_of_b() const { return field(10, 3); }
  bool negates_a() const { return field(13, 1) != 0; }
  bool negates_b() const { return field(14, 1) != 0; }
  bool is_a_mn_major() const { return field(15, 1) != 0; }
  bool is_b_mn_major() const { return field(16, 1) != 0; }
  int n() const { return field(17, 6) * 8; }
  int m() const { return field(24, 5) * 16; }
};

struct TensorProduct {
  int m;
  int n;
  int k;
  int ctas;   // 1 or 2
  int first;  // the rank of the first of them
  char const* type_a;
  char const* type_b;
  bool is_integer;
  bool accumulates;
  float sign_a;
  float sign_b;
  std::uint32_t d;
  Factor a;
  Factor b;
};

}  // namespace

struct TensorMemory {
  std::vector<std::uint32_t> words = std::vector<std::uint32_t>(kLanes * kColumns);
  std::array<Column, kColumns> columns{};
  std::array<int, kColumns / kSlice> allocated{};  // columns of the allocation that begins here; -1: a part of one
  bool has_relinquished = false;
  std::vector<TensorProduct> products;  // in the order in which they were started
  std::size_t done = 0;
  std::size_t committed = 0;
  Clock clock = 0;  // of commits
  Cycle ends = 0;

  std::uint32_t& at(int lane, int column) {
    return words[static_cast<std::size_t>(lane) * kColumns + static_cast<std::size_t>(column)];
  }
};

namespace {

// Is there an access of which a thread does not know? Lanes of a warp go together.
bool is_unseen(Thread const& thread, LastAccess const& last) {
  bool const is_of_own_warp = last.agent / kWarp == thread.agent / kWarp;
  return last.agent >= 0 && !is_of_own_warp && !thread.sees(last.agent, last.clock);
}
// The agent of such an access to any quarter, but for one who does all in order; -1: none.
int unseen(Thread const& thread, OfQuarters const& accesses, int in_order = -1) {
  for (LastAccess const& last : accesses) {
    if (last.agent != in_order && is_unseen(thread, last)) return last.agent;
  }
  return -1;
}

// Who an agent is, in words.
std::string name_of(Cluster const& cluster, int agent) {
  return agent < cluster.threads() ? "thread " + std::to_string(agent) + " of the cluster" : std::string("a product");
}

TensorMemory& memory_of(Cta& cta) {
  if (cta.tensor_memory == nullptr) cta.tensor_memory = std::make_shared<TensorMemory>();
  return *cta.tensor_memory;
}

float element(char const* type, int bytes, char const* at) {
  std::uint32_t bits = 0;
  __builtin_memcpy(&bits, at, 4);
  return element_to_float(type, bytes == 4 ? bits : bits & ((1u << bytes * 8) - 1));
}

// Lane and column of row i and column j of a CTA's part of D, from the first column on.
struct Place {
  int lane;
  int column;
};
Place place_of(TensorProduct const& p, int i, int j) {
  int const rows = p.m / p.ctas;
  if (rows == kLanes) return {i, j};
  // 64 rows: of one CTA in the first half of each quarter of the lanes; of a pair, half of the columns in each half of
  // the lanes.
  if (p.ctas == 1) return {i / 16 * 32 + i % 16, j};
  return {j / (p.n / 2) * 64 + i, j % (p.n / 2)};
}

void multiply(Cluster& cluster, TensorProduct const& p) {
  auto const size = [](int x) { return static_cast<std::size_t>(x); };
  int const rows = p.m / p.ctas;
  int const columns = p.n / p.ctas;  // that each CTA has of B
  DecodedFactor b(format_of(p.type_b), p.k, p.n);
  for (int j = 0; j < p.n; ++j) {
    char const* const shared = cluster.cta(p.first + j / columns).shared;
    for (int k = 0; k < p.k; ++k)
      b.set(k, j, p.sign_b * element(p.type_b, p.b.bytes, shared + p.b.place(j % columns, k)));
  }
  TensorCore const core = warpgroup_core(p.a.bytes, false, true);
  std::vector<float> a(size(p.k));
  std::vector<float> sums(size(p.n));
  for (int c = 0; c < p.ctas; ++c) {
    Cta& cta = cluster.cta(p.first + c);
    TensorMemory& memory = memory_of(cta);
    for (int i = 0; i < rows; ++i) {
      auto const word = [&](int j) -> std::uint32_t& {
        Place const at = place_of(p, i, j);
        return memory.at(lane_of(p.d) + at.lane, column_of(p.d) + at.column);
      };
      for (int k = 0; k < p.k; ++k) a[size(k)] = p.sign_a * element(p.type_a, p.a.bytes, cta.shared + p.a.place(i, k));
      if (p.is_integer) {
        for (int j = 0; j < p.n; ++j) {
          std::int32_t sum = p.accumulates ? static_cast<std::int32_t>(word(j)) : 0;
          for (int k = 0; k < p.k; ++k)
            sum += static_cast<std::int32_t>(a[size(k)]) * static_cast<std::int32_t>(b.number(k, j));
          word(j) = static_cast<std::uint32_t>(sum);
        }
        continue;
      }
      for (int j = 0; j < p.n; ++j) {
        sums[size(j)] = 0;
        if (p.accumulates) __builtin_memcpy(&sums[size(j)], &word(j), sizeof(float));
      }
      tensor_row(core, format_of(p.type_a), a.data(), b, p.k, sums.data(), false);
      for (int j = 0; j < p.n; ++j) __builtin_memcpy(&word(j), &sums[size(j)], sizeof(float));
    }
  }
}

int ctas_of(Statement const& s) { return s.has("cta_group::2") ? 2 : 1; }

int first_of(Frame const& f, Statement const& s) {
  int const rank = f.thread.cta;
  if (ctas_of(s) == 1) return rank;
  if (f.cluster.ctas() % 2 != 0) f.refuse(s, "a pair of CTAs needs a cluster of an even number");
  return rank / 2 * 2;
}

// tcgen05.alloc.cta_group::c.sync.aligned.shared::cta.b32 [to], columns
void allocate(Frame& f, Statement const& s) {
  auto const columns = static_cast<int>(f.get(s.arguments[1]));
  void* const to = f.address(s, s.arguments[0]);
  if (columns < kSlice || columns > kColumns || (columns & (columns - 1)) != 0)
    return f.refuse(s, "it allocates 32, 64, 128, 256 or 512 columns, not " + std::to_string(columns));
  if (!f.cluster.gather(&s, ~0u, nullptr)) return;
  TensorMemory& memory = memory_of(f.cluster.cta());
  if (memory.has_relinquished) f.refuse(s, "the CTA has given up its permit to allocate");
  int const slices = columns / kSlice;
  int found = -1;
  for (int first = 0; first + slices <= kColumns / kSlice && found < 0; first += slices) {
    bool is_free = true;
    for (int i = first; i < first + slices; ++i)
      is_free = is_free && memory.allocated[static_cast<std::size_t>(i)] == 0;
    if (is_free) found = first;
  }
  if (found < 0)
    f.refuse(s, "tensor memory has no " + std::to_string(columns) + " columns left, so that it waits forever");
  for (int i = 0; i < slices; ++i) memory.allocated[static_cast<std::size_t>(found + i)] = i == 0 ? columns : -1;
  auto const address = static_cast<std::uint32_t>(found * kSlice);
  access(to, sizeof(address), true, true, f.thread.code);
  __builtin_memcpy(to, &address, sizeof(address));
  f.cluster.go_on();
}

// tcgen05.dealloc.cta_group::c.sync.aligned.b32 address, columns
void deallocate(Frame& f, Statement const& s) {
  auto const address = static_cast<std::uint32_t>(f.get(s.arguments[0]));
  auto const columns = static_cast<int>(f.get(s.arguments[1]));
  if (!f.cluster.gather(&s, ~0u, nullptr)) return;
  TensorMemory& memory = memory_of(f.cluster.cta());
  int const first = column_of(address) / kSlice;
  bool const is_known = column_of(address) < kColumns && memory.allocated[static_cast<std::size_t>(first)] == columns;
  if (!is_known || column_of(address) % kSlice != 0)
    f.refuse(s, "no allocation of " + std::to_string(columns) + " columns begins there");
  for (int i = 0; i < columns / kSlice; ++i) memory.allocated[static_cast<std::size_t>(first + i)] = 0;
  if (f.cluster.launch().is_checked) {
    for (int j = column_of(address); j < column_of(address) + columns; ++j) {
      Column const& column = memory.columns[static_cast<std::size_t>(j)];
      int const reader = unseen(f.thread, column.readers);
      int const writer = unseen(f.thread, column.writers);
      if (reader < 0 && writer < 0) continue;
      std::string const does =
          writer >= 0 ? name_of(f.cluster, writer) + " writes" : name_of(f.cluster, reader) + " reads";
      f.cluster.report(Kind::race, "gives column " + std::to_string(j) + " of tensor memory back, which " + does +
                                       ", and nothing orders the two");
      break;
    }
  }
  for (int j = column_of(address); j < column_of(address) + columns; ++j)
    memory.columns[static_cast<std::size_t>(j)] = {};
  f.cluster.go_on();
}

void relinquish(Frame& f, Statement const& s) {
  if (!f.cluster.gather(&s, ~0u, nullptr)) return;
  memory_of(f.cluster.cta()).has_relinquished = true;
  f.cluster.go_on();
}

void check_columns(Frame const& f, Statement const& s, TensorMemory const& memory, int first, int count) {
  for (int c = first; c < first + count; c += kSlice) {
    if (c >= kColumns || memory.allocated[static_cast<std::size_t>(c / kSlice)] == 0) {
      f.refuse(s, "columns " + std::to_string(first) + " to " + std::to_string(first + count - 1) +
                      " of tensor memory are not allocated");
    }
  }
}

// The types of kind::f16, kind::tf32, kind::f8f6f4 and kind::i8; null: not known.
char const* type_of(Statement const& s, int number) {
  if (s.has("kind::f16")) return number == 0 ? "f16" : number == 1 ? "bf16" : nullptr;
  if (s.has("kind::tf32")) return number == 2 ? "tf32" : nullptr;
  if (s.has("kind::f8f6f4")) return number == 0 ? "e4m3" : number == 1 ? "e5m2" : nullptr;
  if (s.has("kind::i8")) return number == 0 ? "u8" : number == 1 ? "s8" : nullptr;
  return nullptr;
}

// For races: what a product reads in shared memory, of the CTAs that it is for.
void read_factor(Frame& f, Statement const& s, Actor const& actor, Factor const& factor, int rank, int rows, int k) {
  Cta& cta = f.cluster.cta(rank);
  int const each = 16 / factor.bytes;
  int const row_step = factor.k_major ? 1 : each;
  int const k_step = factor.k_major ? each : 1;
  for (int row = 0; row < rows; row += row_step) {
    for (int i = 0; i < k; i += k_step) {
      std::uint32_t const at = factor.place(row, i);
      if (at + 16 > cta.static_bytes)
        f.refuse(s, "a factor lies beyond the " + std::to_string(cta.static_bytes) + " bytes that the CTA has");
      access_as(actor, cta.shared + at, 16, false);
    }
  }
}

// tcgen05.mma.cta_group::c.kind::t [d], a, b, instruction, {disabled lanes}, accumulates
void multiply_later(Frame& f, Statement const& s) {
  Instruction const given{static_cast<std::uint32_t>(f.get(s.arguments[3]))};
  char const* const type_a = type_of(s, given.type_of_a());
  char const* const type_b = type_of(s, given.type_of_b());
  bool const is_integer = s.has("kind::i8");
  bool const is_wide = given.type_of_d() == (is_integer ? 2 : 1);
  if (type_a == nullptr || type_b == nullptr || !is_wide || given.is_sparse() || s.has("sp") || s.has("ws") ||
      s.arguments.size() != 6 || s.arguments[1].kind == Argument::Kind::address) {
    return f.refuse(s,
                    "the emulator knows products of float16, bfloat16, tfloat32, float8 and int8 out of shared "
                    "memory, dense, into 32 bits, without scales");
  }
  int const bytes = s.has("kind::f16") ? 2 : s.has("kind::tf32") ? 4 : 1;
  int const ctas = ctas_of(s);
  int const first = first_of(f, s);
  Cluster& cluster = f.cluster;
  TensorProduct p{};
  p.m = given.m();
  p.n = given.n();
  p.k = 32 / bytes;
  p.ctas = ctas;
  p.first = first;
  if (p.m / ctas != 64 && p.m / ctas != kLanes)
    return f.refuse(s, "M is 64 or 128 for each CTA, not " + std::to_string(p.m / ctas));
  if (p.n < 8 || p.n > 256) return f.refuse(s, "N is 8 to 256, not " + std::to_string(p.n));
  p.type_a = type_a;
  p.type_b = type_b;
  p.is_integer = is_integer;
  p.accumulates = f.get(s.arguments[5]) != 0;
  p.sign_a = given.negates_a() ? -1.0f : 1.0f;
  p.sign_b = given.negates_b() ? -1.0f : 1.0f;
  p.d = static_cast<std::uint32_t>(f.get(s.arguments[0].parts[0]) + s.arguments[0].immediate);
  p.a = {f.get(s.arguments[1]), !given.is_a_mn_major(), bytes};
  p.b = {f.get(s.arguments[2]), !given.is_b_mn_major(), bytes};
  for (Argument const& lanes : s.arguments[4].parts) {
    if (f.get(lanes) != 0) return f.refuse(s, "the emulator does not know products that leave lanes out");
  }
  for (Factor const& factor : {p.a, p.b}) {
    auto const swizzle = static_cast<int>(factor.descriptor >> 61);
    if (swizzle % 2 != 0) return f.refuse(s, "the emulator does not know the swizzle " + std::to_string(swizzle));
  }
  if (lane_of(p.d) != 0) return f.refuse(s, "D begins at lane 0 of tensor memory");
  TensorMemory& own = memory_of(cluster.cta());
  if (cluster.launch().is_checked) {
    Actor const actor{cluster.product_agent(f.thread), own.clock + 1, &f.thread, true};
    for (int c = 0; c < ctas; ++c) {
      read_factor(f, s, actor, p.a, first + c, p.m / ctas, p.k);
      read_factor(f, s, actor, p.b, first + c, p.n / ctas, p.k);
    }
    int const columns = p.m / ctas == 64 && ctas == 2 ? p.n / 2 : p.n;
    for (int c = 0; c < ctas; ++c) {
      TensorMemory& memory = memory_of(cluster.cta(first + c));
      check_columns(f, s, memory, column_of(p.d), columns);
      bool is_told = false;
      for (int j = column_of(p.d); j < column_of(p.d) + columns; ++j) {
        Column& column = memory.columns[static_cast<std::size_t>(j)];
        if (p.accumulates && !column.is_written && !is_told) {
          cluster.report(Kind::uninitialised,
                         "adds to column " + std::to_string(j) + " of tensor memory, which nobody has written");
          is_told = true;
        }
        int const reader = unseen(f.thread, column.readers);
        int const writer = unseen(f.thread, column.writers, actor.agent);
        if ((reader >= 0 || writer >= 0) && !is_told) {
          std::string const does =
              writer >= 0 ? name_of(cluster, writer) + " writes" : name_of(cluster, reader) + " reads";
          cluster.report(Kind::race, "starts a product into column " + std::to_string(j) + " of tensor memory, which " +
                                         does + ", and nothing orders the two");
          is_told = true;
        }
        column.is_written = true;
        column.writers.fill({actor.agent, actor.clock});
      }
    }
    if (cluster.timeline() != nullptr) {
      Cycle const begin = std::max(f.thread.knows.cycle, own.ends);
      own.ends = begin + static_cast<Cycle>(p.m) / ctas * p.n * p.k * bytes / 2 / (2 * kFmaPerCycle);
      cluster.add_span("product", "tensor cores", "tcgen05.mma m" + std::to_string(p.m) + "n" + std::to_string(p.n),
                       begin, own.ends);
    }
  }
  own.products.push_back(p);
}

// tcgen05.commit.cta_group::c.mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64 [mbarrier]{, ctas}
void commit(Frame& f, Statement const& s) {
  Cluster& cluster = f.cluster;
  auto const at = static_cast<char*>(f.address(s, s.arguments[0]));
  std::uint32_t const address = address_in_shared(at);
  int const rank = static_cast<int>(address >> 24);
  std::uint32_t const offset = address & 0xffffff;
  bool const is_multicast = s.has("multicast::cluster");
  auto const mask = is_multicast ? static_cast<std::uint32_t>(f.get(s.arguments[1])) & 0xffff : 1u << rank;
  if (mask == 0 || mask >> cluster.ctas() != 0)
    return f.refuse(s, "its mask names CTAs that the cluster does not have");
  for (int r = 0; r < cluster.ctas(); ++r) {
    if ((mask >> r & 1) != 0 && mbarriers().find(cluster.cta(r).shared + offset) == mbarriers().end())
      return f.refuse(s, "there is no mbarrier at " + where_is(cluster.cta(r).shared + offset));
  }
  memory_of(cluster.cta());
  std::shared_ptr<TensorMemory> const own = cluster.cta().tensor_memory;
  std::size_t const count = own->committed = own->products.size();
  Clock const clock = ++own->clock;
  int const agent = cluster.product_agent(f.thread);
  // The products began when the thread knew what it knows, so who waits for them knows that, too.
  auto const told = std::make_shared<Knowledge>();
  cluster.release(*told);
  if (cluster.launch().is_checked) told->seen.raise(agent, clock);
  told->reach(own->ends);
  cluster.later([=, &cluster] {
    for (; own->done < count; ++own->done) multiply(cluster, own->products[own->done]);
    for (int r = 0; r < cluster.ctas(); ++r) {
      if ((mask >> r & 1) == 0) continue;
      auto const found = mbarriers().find(cluster.cta(r).shared + offset);
      if (found == mbarriers().end()) continue;
      Mbarrier& barrier = found->second;
      barrier.pending.join(*told);
      if (barrier.missing > 0) --barrier.missing;
      complete_phase(barrier);
    }
  });
}

// How many registers tcgen05.ld and st move, from .x1 to .x128; 0: another shape.
int registers_of(Statement const& s) {
  if (!s.has("32x32b") || s.has("pack::16b") || s.has("unpack::16b")) return 0;
  for (auto const& part : s.parts) {
    if (part.size() > 1 && part[0] == 'x') return std::stoi(part.substr(1));
  }
  return 0;
}

// A warp's lanes, and the first column, of an access to tensor memory.
int column_of_access(Frame const& f, Statement const& s, Argument const& a, int count) {
  auto const address = static_cast<std::uint32_t>(f.get(a.parts[0]) + a.immediate);
  int const warp = f.thread.agent % f.cluster.threads_of_cta() / kWarp;
  if (lane_of(address) != warp % 4 * kWarp) {
    f.refuse(s, "warp " + std::to_string(warp) + " reaches the lanes from " + std::to_string(warp % 4 * kWarp) +
                    " on, not those from " + std::to_string(lane_of(address)));
  }
  check_columns(f, s, memory_of(f.cluster.cta()), column_of(address), count);
  return column_of(address);
}

void load(Frame& f, Statement const& s) {
  int const count = registers_of(s);
  if (count == 0) return f.refuse(s, "the emulator knows the shape 32x32b, not packed");
  int const first = column_of_access(f, s, s.arguments[1], count);
  Cluster& cluster = f.cluster;
  TensorMemory& memory = memory_of(cluster.cta());
  int const in_cta = f.thread.agent % cluster.threads_of_cta();
  bool is_told = !cluster.launch().is_checked;
  for (int i = 0; i < count; ++i) {
    Column& column = memory.columns[static_cast<std::size_t>(first + i)];
    if (!column.is_written && !is_told) {
      cluster.report(Kind::uninitialised,
                     "reads column " + std::to_string(first + i) + " of tensor memory, which nobody has written");
      is_told = true;
    }
    auto const quarter = static_cast<std::size_t>(in_cta / kWarp % kQuarters);
    LastAccess const& writer = column.writers[quarter];
    if (is_unseen(f.thread, writer) && !is_told) {
      cluster.report(Kind::race, "reads column " + std::to_string(first + i) + " of tensor memory, which " +
                                     name_of(cluster, writer.agent) + " writes, and nothing orders the two");
      is_told = true;
    }
    column.readers[quarter] = {f.thread.agent, f.thread.clock};
    Argument const& to = s.arguments[0].kind == Argument::Kind::vector
                             ? s.arguments[0].parts[static_cast<std::size_t>(i)]
                             : s.arguments[0];
    f.set(to, memory.at(in_cta / kWarp % 4 * kWarp + in_cta % kWarp, first + i));
  }
}

void store(Frame& f, Statement const& s) {
  int const count = registers_of(s);
  if (count == 0) return f.refuse(s, "the emulator knows the shape 32x32b, not packed");
  int const first = column_of_access(f, s, s.arguments[0], count);
  TensorMemory& memory = memory_of(f.cluster.cta());
  int const in_cta = f.thread.agent % f.cluster.threads_of_cta();
  for (int i = 0; i < count; ++i) {
    Argument const& from = s.arguments[1].kind == Argument::Kind::vector
                               ? s.arguments[1].parts[static_cast<std::size_t>(i)]
                               : s.arguments[1];
    Column& column = memory.columns[static_cast<std::size_t>(first + i)];
    column.is_written = true;
    column.writers[static_cast<std::size_t>(in_cta / kWarp % kQuarters)] = {f.thread.agent, f.thread.clock};
    memory.at(in_cta / kWarp % 4 * kWarp + in_cta % kWarp, first + i) = static_cast<std::uint32_t>(f.get(from));
  }
}

// tcgen05.wait::ld, wait::st and fence::{before,after}_thread_sync: loads and stores are done when they are executed,
// and what other threads may see is told by the barriers between.
void nothing(Frame&, Statement const&) {}

}  // namespace

void end_of_tensor_memory(Cluster& cluster) {
  for (int rank = 0; rank < cluster.ctas(); ++rank) {
    auto const memory = cluster.cta(rank).tensor_memory;
    if (memory == nullptr) continue;
    bool const holds = std::any_of(memory->allocated.begin(), memory->allocated.end(), [](int x) { return x != 0; });
    if (holds) cluster.report(Kind::rule, "the CTA ends and has not given its tensor memory back (tcgen05.dealloc)");
    if (memory->products.size() > memory->committed)
      cluster.report(Kind::asynchronous, "the CTA ends while products (tcgen05.mma) are on their way");
  }
}

Execute find_tcgen05(std::vector<std::string> const& parts) {
  if (parts[0] != "tcgen05" || parts.size() < 2) return nullptr;
  std::string const& op = parts[1];
  if (op == "alloc") return &allocate;
  if (op == "dealloc") return &deallocate;
  if (op == "relinquish_alloc_permit") return &relinquish;
  if (op == "mma") return &multiply_later;
  if (op == "commit") return &commit;
  if (op == "ld") return &load;
  if (op == "st") return &store;
  if (op == "wait::ld" || op == "wait::st" || op == "fence::before_thread_sync" || op == "fence::after_thread_sync")
    return &nothing;
  return nullptr;
}

}  // namespace cute_py::workbench
