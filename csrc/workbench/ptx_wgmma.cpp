#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "numeric/tensor_core.hpp"
#include "workbench/descriptor.hpp"
#include "workbench/errors.hpp"
#include "workbench/ptx.hpp"

// wgmma: products of a warpgroup out of shared memory. Each is done, for a warp's own sums, at the wait for its group,
// or at once if threads run backward.
namespace cute_py::workbench {
using numeric::DecodedFactor;
using numeric::format_of;
using numeric::tensor_row;
using numeric::TensorCore;
using numeric::warpgroup_core;
namespace {

// wgmma.mma_async.sync.aligned.mXnYkZ.d.a.b {d}, a, b, scale-d, imm-scale-a, imm-scale-b{, imm-trans-a, imm-trans-b}
struct Product {
  int m = 0;
  int n = 0;
  int k = 0;
  std::string d;
  std::string a;
  std::string b;
  int bytes = 0;  // of an element
  bool is_known = false;
};

int bytes_of_element(std::string const& type) {
  if (type == "tf32") return 4;
  return type == "f16" || type == "bf16" ? 2 : 1;
}

Product product_of(Statement const& s) {
  Product made;
  std::vector<std::string> types;
  for (auto const& part : s.parts) {
    if (std::sscanf(part.c_str(), "m%dn%dk%d", &made.m, &made.n, &made.k) == 3) {
      types.clear();
    } else if (part != "satfinite") {
      types.push_back(part);
    }
  }
  if (types.size() != 3) return made;
  made.d = types[0];
  made.a = types[1];
  made.b = types[2];
  made.bytes = bytes_of_element(made.a);
  made.is_known = !s.has("sp") && !s.has("b1") && made.bytes == bytes_of_element(made.b);
  return made;
}

}  // namespace

struct WgmmaOperation {
  Product const* product;
  Factor a;
  Factor b;
  bool a_in_registers = false;
  std::uint32_t registers_of_a[4] = {};
  bool accumulates = false;
  float sign_a = 1;
  float sign_b = 1;
  std::vector<void*> sums;  // where the thread's registers are
};

namespace {

float read_element(Product const& p, std::string const& type, void const* at) {
  std::uint32_t bits = 0;
  __builtin_memcpy(&bits, at, 4);
  return element_to_float(type, p.bytes == 4 ? bits : bits & ((1u << p.bytes * 8) - 1));
}

// The products of the 32 lanes of a warp, which is number `warp` of its warpgroup.
void multiply(Cluster& cluster, int warp, WgmmaOperation* const* lanes) {
  WgmmaOperation const& first = *lanes[0];
  Product const& p = *first.product;
  char const* const shared = cluster.cta().shared;
  auto const size = [](int x) { return static_cast<std::size_t>(x); };
  constexpr int kRows = 16;
  std::vector<float> a(size(kRows * p.k));
  bool const is_half = p.d == "f16";
  bool const is_integer = p.d == "s32";
  DecodedFactor b(format_of(p.b), p.k, p.n);
  if (first.a_in_registers) {
    int const each = 4 / p.bytes;
    for (int lane = 0; lane < kWarp; ++lane) {
      for (int r = 0; r < 4; ++r) {
        for (int i = 0; i < each; ++i) {
          int const row = lane / 4 + r % 2 * 8;
          int const k = (r / 2 * 4 + lane % 4) * each + i;
          std::uint32_t const element = lanes[lane]->registers_of_a[r] >> i * 8 * p.bytes % 32;
          a[size(row * p.k + k)] = element_to_float(p.a, p.bytes == 4 ? element : element & ((1u << p.bytes * 8) - 1));
        }
      }
    }
  } else {
    for (int row = 0; row < kRows; ++row) {
      for (int k = 0; k < p.k; ++k)
        a[size(row * p.k + k)] = read_element(p, p.a, shared + first.a.place(warp * kRows + row, k));
    }
  }
  for (int n = 0; n < p.n; ++n) {
    for (int k = 0; k < p.k; ++k) b.set(k, n, first.sign_b * read_element(p, p.b, shared + first.b.place(n, k)));
  }
  for (auto& x : a) x *= first.sign_a;
  // Sums of a thread: two adjacent columns, of its row and of the row 8 below, in turn.
  auto const for_each_sum = [&](auto const& visit) {
    for (int lane = 0; lane < kWarp; ++lane) {
      for (int v = 0; v < p.n / 2; ++v) {
        int const row = lane / 4 + v / 2 % 2 * 8;
        int const column = v / 4 * 8 + lane % 4 * 2 + v % 2;
        auto* const at = static_cast<char*>(lanes[lane]->sums[size(is_half ? v / 2 : v)]) + (is_half ? v % 2 * 2 : 0);
        visit(at, row, column);
      }
    }
  };
  if (is_integer) {
    for_each_sum([&](char* at, int row, int column) {
      std::int32_t sum = 0;
      if (first.accumulates) __builtin_memcpy(&sum, at, sizeof(sum));
      for (int k = 0; k < p.k; ++k)
        sum += static_cast<std::int32_t>(a[size(row * p.k + k)]) * static_cast<std::int32_t>(b.number(k, column));
      __builtin_memcpy(at, &sum, sizeof(sum));
    });
    return;
  }
  std::vector<float> sums(size(kRows * p.n));
  if (first.accumulates) {
    for_each_sum([&](char const* at, int row, int column) {
      float& sum = sums[size(row * p.n + column)];
      std::uint16_t half;
      __builtin_memcpy(&half, at, sizeof(half));
      if (is_half) {
        sum = half_to_float(half);
      } else {
        __builtin_memcpy(&sum, at, sizeof(sum));
      }
    });
  }
  TensorCore const core = warpgroup_core(p.bytes, is_half, false);
  for (int row = 0; row < kRows; ++row)
    tensor_row(core, format_of(p.a), &a[size(row * p.k)], b, p.k, &sums[size(row * p.n)], is_half);
  for_each_sum([&](char* at, int row, int column) {
    float const sum = sums[size(row * p.n + column)];
    std::uint16_t const half = is_half ? float_to_half(sum) : std::uint16_t{0};
    is_half ? __builtin_memcpy(at, &half, sizeof(half)) : __builtin_memcpy(at, &sum, sizeof(sum));
  });
}

// What a warp's product reads, for races: its 16 rows of A, and B.
void read_factors(Frame& f, Statement const& s, WgmmaOperation const& op) {
  Cluster& cluster = f.cluster;
  Thread& thread = f.thread;
  Product const& p = *op.product;
  int const in_cta = thread.agent % cluster.threads_of_cta();
  int const warp = in_cta / kWarp % 4;
  char* const shared = cluster.cta().shared;
  std::size_t const room = cluster.cta().static_bytes;
  Actor const actor{cluster.product_agent(thread), thread.product_clock + 1, &thread, true};
  auto const look = [&](Factor const& factor, int first, int rows, char const* name) {
    // Runs of 16 bytes lie together, along k or along the rows.
    int const each = 16 / p.bytes;
    int const row_step = factor.k_major ? 1 : each;
    int const k_step = factor.k_major ? each : 1;
    for (int row = first; row < first + rows; row += row_step) {
      for (int k = 0; k < p.k; k += k_step) {
        std::uint32_t const at = factor.place(row, k);
        if (at + 16 > room) {
          f.refuse(s, std::string(name) + " lies beyond the " + std::to_string(room) + " bytes that the CTA has");
        }
        access_as(actor, shared + at, 16, false);
      }
    }
  };
  if (!op.a_in_registers) look(op.a, warp * 16, 16, "A");
  look(op.b, 0, p.n, "B");
}

Argument const& part(Argument const& vector, std::size_t i) {
  return vector.kind == Argument::Kind::vector ? vector.parts[i] : vector;
}

void do_products(Cluster& cluster, Thread& thread, std::size_t left) {
  // All lanes of the warp come here together; the last one does the work.
  struct Waiting {
    Thread* thread;
  } own{&thread};
  static char const kWait = 0;
  int const in_cta = thread.agent % cluster.threads_of_cta();
  if (!cluster.gather(&kWait, ~0u, &own)) return;
  Collective& c = cluster.collective();
  std::size_t groups = 0;
  for (int lane = 0; lane < kWarp; ++lane) {
    if ((c.arrived >> lane & 1) != 0) groups = std::max(groups, c.thread[lane]->products.ends.size());
  }
  if (groups > left) {
    Thread& first = *c.thread[0];
    std::size_t const count = first.products.ends[groups - left - 1];
    for (std::size_t i = 0; i < count; ++i) {
      WgmmaOperation* lanes[kWarp];
      for (int lane = 0; lane < kWarp; ++lane) lanes[lane] = c.thread[lane]->products.operations[i];
      multiply(cluster, in_cta / kWarp % 4, lanes);
    }
    int const agent = cluster.product_agent(thread);
    for (int lane = 0; lane < kWarp; ++lane) {
      Thread& other = *c.thread[lane];
      cluster.learn(other, agent, other.product_clocks[groups - left - 1]);
      other.knows.reach(other.product_ends[groups - left - 1]);
      other.product_ends.erase(other.product_ends.begin(),
                               other.product_ends.end() - static_cast<std::ptrdiff_t>(left));
      other.product_clocks.erase(other.product_clocks.begin(),
                                 other.product_clocks.end() - static_cast<std::ptrdiff_t>(left));
      other.products.complete(left, [](WgmmaOperation* op) { delete op; });
      other.fenced_registers = false;
    }
  }
  cluster.go_on();
}

void mma_async(Frame& f, Statement const& s) {
  auto& prepared = const_cast<Statement&>(s).prepared;
  if (prepared == nullptr) prepared = std::make_shared<Product>(product_of(s));
  Product const& p = *static_cast<Product const*>(prepared.get());
  if (!p.is_known) return f.refuse(s, "the emulator does not know this product");
  if (f.cluster.threads_of_cta() % 128 != 0) return f.refuse(s, "a CTA of whole warpgroups (128 threads) is needed");
  Thread& thread = f.thread;
  if (!thread.fenced_registers) {
    f.cluster.report(Kind::rule, "multiplies with no wgmma.fence since it last waited for products, or at all");
    thread.fenced_registers = true;
  }
  auto made = std::make_unique<WgmmaOperation>();
  made->product = &p;
  Argument const& a = s.arguments[1];
  std::size_t const flags = 3;
  made->accumulates = f.get(s.arguments[flags]) != 0;
  auto const number = [&](std::size_t i) {
    return i < s.arguments.size() ? static_cast<std::int32_t>(f.get(s.arguments[i])) : 0;
  };
  made->a_in_registers = a.kind == Argument::Kind::vector;
  bool const scales = p.d != "s32";
  if (scales) {
    made->sign_a = static_cast<float>(number(flags + 1));
    made->sign_b = static_cast<float>(number(flags + 2));
  }
  bool const transposed_a = p.bytes == 2 && !made->a_in_registers && number(flags + 3) != 0;
  bool const transposed_b = p.bytes == 2 && number(made->a_in_registers ? flags + 3 : flags + 4) != 0;
  if (made->a_in_registers) {
    for (std::size_t i = 0; i < 4; ++i) made->registers_of_a[i] = static_cast<std::uint32_t>(f.get(part(a, i)));
  } else {
    made->a = {f.get(a), !transposed_a, p.bytes};
  }
  made->b = {f.get(s.arguments[2]), !transposed_b, p.bytes};
  Argument const& d = s.arguments[0];
  for (auto const& register_of_d : d.parts) {
    if (register_of_d.kind != Argument::Kind::operand) return f.refuse(s, "the emulator wants sums in operands of asm");
    made->sums.push_back(f.operands[register_of_d.index].to);
  }
  bool const is_half = p.d == "f16";
  if (static_cast<int>(made->sums.size()) != (is_half ? p.n / 4 : p.n / 2))
    return f.refuse(s, "it has another number of sums");
  if (f.cluster.launch().is_checked && thread.agent % kWarp == 0) {
    read_factors(f, s, *made);
  }
  if (f.cluster.timeline() != nullptr) {
    Cycle const begin = std::max(thread.knows.cycle, thread.products_end);
    thread.products_end = begin + static_cast<Cycle>(p.m) * p.n * p.k * p.bytes / 2 / kFmaPerCycle;
    int const in_cta = thread.agent % f.cluster.threads_of_cta();
    if (in_cta % kWarpgroup == 0) {
      std::string const beside = "tensor cores of warpgroup " + std::to_string(in_cta / kWarpgroup);
      std::string const shape = 'm' + std::to_string(p.m) + 'n' + std::to_string(p.n) + 'k' + std::to_string(p.k);
      f.cluster.add_span("product", beside.c_str(), "wgmma " + shape, begin, thread.products_end);
    }
  }
  thread.products.operations.push_back(made.release());
}

// The warps of a warpgroup begin to multiply together, as they do on a GPU. That orders nobody's accesses to memory:
// what one warp has written another one may not see.
void fence_registers(Frame& f, Statement const& s) {
  f.thread.fenced_registers = true;
  Cluster& cluster = f.cluster;
  int const threads = cluster.threads_of_cta();
  if (threads % kWarpgroup != 0) return f.refuse(s, "a CTA of whole warpgroups (128 threads) is needed");
  Barrier& barrier = cluster.cta().warpgroups[static_cast<std::size_t>(f.thread.agent % threads / kWarpgroup)];
  std::uint64_t const generation = barrier.generation;
  if (++barrier.arrived == kWarpgroup) {
    barrier.arrived = 0;
    ++barrier.generation;
  }
  cluster.wait([](Thread& t) { return static_cast<Barrier*>(t.waits_for)->generation != t.wait_detail; }, &barrier,
               generation,
               [](Thread const&) { return std::string("the other warps of its warpgroup, at wgmma.fence"); });
}

void commit_products(Frame& f, Statement const&) {
  f.thread.products.commit();
  f.thread.product_clocks.push_back(++f.thread.product_clock);
  f.thread.product_ends.push_back(f.thread.products_end);
}

void wait_for_products(Frame& f, Statement const& s) {
  TimedWait const timed(f.cluster);
  do_products(f.cluster, f.thread, static_cast<std::size_t>(f.get(s.arguments[0])));
  timed.end([] { return std::string("wait for wgmma"); });
}

}  // namespace

void end_of_products(Thread& thread, Cluster& cluster) {
  if (thread.products.operations.empty()) return;
  cluster.report(Kind::asynchronous, "ends while products of its warpgroup (wgmma) are on their way");
  for (auto* const operation : thread.products.operations) delete operation;
  thread.products.clear();
}

Execute find_wgmma(std::vector<std::string> const& parts) {
  if (parts[0] != "wgmma" || parts.size() < 2) return nullptr;
  if (parts[1] == "mma_async") return &mma_async;
  if (parts[1] == "fence") return &fence_registers;
  if (parts[1] == "commit_group") return &commit_products;
  if (parts[1] == "wait_group") return &wait_for_products;
  return nullptr;
}

}  // namespace cute_py::workbench
