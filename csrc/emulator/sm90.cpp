#include "emulator/sm90.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace cute_py::emulator {
namespace {

// An mbarrier: the parity of the phase that has not ended, how many threads a phase has, how many of them it still
// waits for, and bytes announced that have not come, which may be fewer than none for a while.
struct Mbarrier {
  std::uint64_t parity : 1;
  std::uint64_t threads : 20;
  std::uint64_t missing : 20;
  std::int64_t bytes : 23;
};
static_assert(sizeof(Mbarrier) == 8);

constexpr std::uint32_t kMostThreads = (1u << 20) - 1;
constexpr std::int64_t kMostBytes = (1 << 20) - 1;
constexpr std::uint32_t kNone = ~0u;

std::uint32_t offset_in_shared(void const* at) {
  auto const in_cluster = reinterpret_cast<std::uintptr_t>(at) - reach.cluster;
  return in_cluster < reach.cluster_bytes ? static_cast<std::uint32_t>(in_cluster % kStackBytes) : kNone;
}

std::string place(void const* at) { return "shared memory + " + std::to_string(offset_in_shared(at)); }

Mbarrier load(void const* at) {
  if (offset_in_shared(at) == kNone || offset_in_shared(at) % 8 != 0)
    stop("uses an mbarrier that is not in shared memory");
  Mbarrier barrier;
  std::memcpy(&barrier, at, sizeof(barrier));
  if (barrier.threads == 0 || barrier.threads == kMostThreads) {
    stop("uses the mbarrier at " + place(at) + ", which nobody has made");
  }
  return barrier;
}

void update(void const* at, Mbarrier barrier) {
  if (barrier.missing == 0 && barrier.bytes == 0) {
    barrier.parity ^= 1;
    barrier.missing = barrier.threads;
  }
  std::memcpy(const_cast<void*>(at), &barrier, sizeof(barrier));
}

void complete(void const* at, std::int64_t bytes) {
  Mbarrier barrier = load(at);
  barrier.bytes -= bytes;
  update(at, barrier);
}

// The bits that a swizzle of 128, 64 or 32 bytes exchanges: those of a 16-byte piece with those of its line of 128.
std::uint32_t swizzled(std::uint32_t offset, int span_bytes) {
  std::uint32_t const mask = span_bytes == 0 ? 0 : static_cast<std::uint32_t>(span_bytes / 16 - 1);
  return offset ^ ((offset >> 7 & mask) << 4);
}

struct Map {
  TensorBox box;
  char* data;
};
static_assert(sizeof(Map) <= sizeof(TensorMap));

Map decoded(TensorMap const* map) {
  Map decoded;
  std::memcpy(static_cast<void*>(&decoded), map, sizeof(decoded));
  return decoded;
}

int bytes_of_box(TensorBox const& box) {
  int bytes = bytes_of(box.type);
  for (int i = 0; i < box.rank; ++i) bytes *= box.box[i];
  return bytes;
}

// Calls visit(in_shared, in_memory, bytes) for each piece of at most 16 bytes of a box: where it is in the box,
// swizzled as if the box began at `first`, and where in the array, null beyond the array's ends.
template <class Visit>
void for_each_piece(Map const& map, int const (&at)[kBoxModes], std::uint32_t first, Visit const& visit) {
  TensorBox const& box = map.box;
  int const element = bytes_of(box.type);
  int const pieces = 16 / element;
  int const lines = bytes_of_box(box) / element / box.box[0];
  for (int line = 0; line < lines; ++line) {
    bool inside = true;
    std::int64_t offset = 0;
    int rest = line;
    for (int i = 1; i < box.rank; ++i) {
      std::int64_t const c = at[i] + rest % box.box[i];
      rest /= box.box[i];
      inside = inside && c >= 0 && c < box.extent[i];
      offset += c * box.stride[i];
    }
    for (int x = 0; x < box.box[0]; x += pieces) {
      auto const in_shared =
          swizzled(first + static_cast<std::uint32_t>((line * box.box[0] + x) * element), box.swizzle_bytes);
      for (int i = 0; i < pieces; ++i) {
        std::int64_t const c = at[0] + x + i;
        bool const exists = inside && c >= 0 && c < box.extent[0];
        visit(in_shared + static_cast<std::uint32_t>(i * element), exists ? map.data + (offset + c) * element : nullptr,
              element);
      }
    }
  }
}

// A float32 with 10 bits of mantissa, to nearest, ties to even, as seen on a GPU.
void round_to_tfloat32(char const* from, char* to) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, from, sizeof(bits));
  bool const is_finite = (bits >> 23 & 0xff) != 0xff;
  bits = (is_finite ? bits + 0xfff + (bits >> 13 & 1) : bits) & ~0x1fffu;
  std::memcpy(to, &bits, sizeof(bits));
}

}  // namespace

void mbarrier_init(void const* at, std::uint32_t threads) {
  check(at, sizeof(Mbarrier), true, Access::instruction);
  if (threads == 0 || threads >= kMostThreads) stop("makes an mbarrier for " + std::to_string(threads) + " threads");
  Mbarrier const made{0, threads, threads, 0};
  std::memcpy(const_cast<void*>(at), &made, sizeof(made));
  note_mbarrier();
}

void mbarrier_arrive(void const* at) {
  Mbarrier barrier = load(at);
  if (barrier.missing == 0) stop("arrives at the mbarrier at " + place(at) + ", where all have arrived that it is for");
  --barrier.missing;
  update(at, barrier);
}

void mbarrier_expect(void const* at, std::uint32_t bytes) {
  Mbarrier barrier = load(at);
  if (barrier.bytes + bytes > kMostBytes) {
    stop("announces " + std::to_string(bytes) + " bytes to the mbarrier at " + place(at) +
         ", which counts to 2**20 - 1");
  }
  barrier.bytes += bytes;
  std::memcpy(const_cast<void*>(at), &barrier, sizeof(barrier));
}

bool mbarrier_has_ended(void const* at, std::uint32_t parity) { return load(at).parity != (parity & 1); }

void mbarrier_wait(void const* at, std::uint32_t parity) {
  load(at);
  struct Wait {
    void const* at;
    std::uint32_t parity;
  } const wait{at, parity & 1};
  wait_until(
      [](void const* what) {
        auto const& w = *static_cast<Wait const*>(what);
        Mbarrier barrier;
        std::memcpy(&barrier, w.at, sizeof(barrier));
        return barrier.parity != w.parity;
      },
      &wait, "the mbarrier at shared memory + ", offset_in_shared(at));
}

TensorMap map_of(TensorBox const& box, void* data) {
  auto const broken = broken_rules(box, data);
  if (!broken.empty()) throw KernelError("emulator: a tensor map breaks a rule of TMA: " + broken.front());
  Map const made{box, static_cast<char*>(data)};
  TensorMap map{};
  std::memcpy(&map, &made, sizeof(made));
  return map;
}

void Tma::begin(EmulatorOptions const& options) {
  loads_.clear();
  order_ = options.order;
  random_.seed(options.seed);
}

void Tma::issue(Load const& load) {
  Map const map = decoded(&load.map);
  auto const first = offset_in_shared(load.to);
  if (first == kNone) stop("starts a TMA load outside of shared memory");
  if (first % 128 != 0) stop("starts a TMA load at " + place(load.to) + ", which is no multiple of 128");
  emulator::check(load.to, bytes_of_box(map.box), true, Access::range);
  for_each_piece(map, load.at, first, [&](std::uint32_t, char const* from, int bytes) {
    if (from != nullptr) emulator::check(from, bytes, false, Access::announced);
  });
  loads_.push_back(load);
  if (does_so_at_once()) copy_one();
}

bool Tma::copy_one() {
  if (loads_.empty()) return false;
  auto const which = order_ == ThreadOrder::random ? static_cast<std::ptrdiff_t>(random_() % loads_.size()) : 0;
  Load const load = loads_[which];
  loads_.erase(loads_.begin() + which);
  copy(load);
  return true;
}

void Tma::copy(Load const& load) {
  Map const map = decoded(&load.map);
  auto const first = offset_in_shared(load.to);
  auto const barrier = offset_in_shared(load.barrier);
  for (int rank = 0; rank < ctas_of_cluster(); ++rank) {
    if ((load.ctas >> rank & 1u) == 0) continue;
    auto* const shared = static_cast<char*>(shared_memory_of_cta(rank));
    for_each_piece(map, load.at, first, [&](std::uint32_t to, char const* from, int bytes) {
      if (from != nullptr && map.box.to_tfloat32) {
        round_to_tfloat32(from, shared + to);
      } else if (from != nullptr) {
        std::memcpy(shared + to, from, bytes);
      } else {
        std::memset(shared + to, 0, bytes);
      }
    });
    complete(shared + barrier, bytes_of_box(map.box));
  }
}

void load_box(TensorMap const* map, void* barrier, void* to, unsigned ctas, std::array<int, kBoxModes> const& at) {
  Tma::Load load{*map, barrier, to, {}, ctas};
  std::copy(at.begin(), at.end(), load.at);
  tma().issue(load);
}

void store_box(TensorMap const* map, void const* from, std::array<int, kBoxModes> const& at) {
  Map const decoded_map = decoded(map);
  check(from, bytes_of_box(decoded_map.box), false, Access::range);
  if (offset_in_shared(from) % 128 != 0) stop("stores a box from " + place(from) + ", which is no multiple of 128");
  // Seen on a GPU: the last piece of a line is written whole.
  if (decoded_map.box.extent[0] * bytes_of(decoded_map.box.type) % kBoxAlignment != 0) {
    stop("stores boxes of an array whose lines end within 16 bytes, which TMA would write");
  }
  check_fenced();
  boxes_on_their_way().ask(map, from, at);
}

void Boxes::ask(TensorMap const* map, void const* from, std::array<int, kBoxModes> const& at) {
  asked_.push_back({map, from, at});
}

// Reads shared memory now, and writes what it finds.
void Boxes::wait(int groups_left_pending) {
  if (groups_.size() <= static_cast<std::size_t>(groups_left_pending)) return;
  auto const complete = groups_.size() - static_cast<std::size_t>(groups_left_pending);
  auto const count = groups_[complete - 1];
  for (std::size_t i = 0; i < count; ++i) {
    Map const map = decoded(asked_[i].map);
    auto const first = offset_in_shared(asked_[i].from);
    int at[kBoxModes];
    std::copy(asked_[i].at.begin(), asked_[i].at.end(), at);
    auto const* const shared = static_cast<char const*>(asked_[i].from) - first;
    for_each_piece(map, at, first, [&](std::uint32_t from, char* to, int bytes) {
      if (to == nullptr) return;
      check(to, bytes, true, Access::instruction);
      std::memcpy(to, shared + from, bytes);
    });
  }
  asked_.erase(asked_.begin(), asked_.begin() + static_cast<std::ptrdiff_t>(count));
  groups_.erase(groups_.begin(), groups_.begin() + static_cast<std::ptrdiff_t>(complete));
  for (auto& end : groups_) end -= count;
}

void store_commit() {
  boxes_on_their_way().commit();
  if (tma().does_so_at_once()) boxes_on_their_way().wait(0);
}
void store_wait(int groups_left_pending) { boxes_on_their_way().wait(groups_left_pending); }

void store_matrices(void* to, std::uint32_t const (&pieces)[4], bool transposed) {
  static_assert(kWarp * 16 <= kWarpBufferBytes);
  check(to, 16, true, Access::instruction);
  auto const lane = static_cast<int>(thread_index().x) % kWarp;
  auto* const message = static_cast<std::uint16_t*>(warp_buffer());
  // Lane l has of each matrix the elements (l/4, l%4*2) and the one after it.
  for (int matrix = 0; matrix < 4; ++matrix) {
    for (int i = 0; i < 2; ++i) {
      int const row = transposed ? lane % 4 * 2 + i : lane / 4;
      int const column = transposed ? lane / 4 : lane % 4 * 2 + i;
      message[(matrix * 8 + row) * 8 + column] = static_cast<std::uint16_t>(pieces[matrix] >> 16 * i);
    }
  }
  warp_barrier();
  std::memcpy(to, message + lane * 8, 16);
  note_unfenced_write();
}

std::uint32_t shuffle(std::uint32_t value, int lane) {
  auto* const values = static_cast<std::uint32_t*>(warp_buffer());
  values[thread_index().x % kWarp] = value;
  warp_barrier();
  return values[lane];
}

// The fields of a descriptor, in bytes: where the matrix begins; from one group of 8 rows, or of a span of rows, to the
// next; from one group of 8 steps of k to the next.
void FactorInShared::places_of_row(int row, int count, std::uint32_t* places) const {
  auto const field = [&](int bit) { return static_cast<std::uint32_t>(descriptor >> bit & 0x3fff) * 16; };
  constexpr int kSpans[] = {0, 128, 64, 32};
  int const span = kSpans[descriptor >> 62];
  std::uint32_t const first = field(0);
  std::uint32_t const leading = field(16);
  std::uint32_t const strided = field(32);
  auto const u = [](int x) { return static_cast<std::uint32_t>(x); };
  if (k_major) {
    std::uint32_t const line = first + u(row % 8 * span) + u(row / 8) * strided;
    for (int k = 0; k < count; ++k) places[k] = swizzled(line + u(k * element_bytes), span);
    return;
  }
  int const run = span / element_bytes;  // rows of a span
  std::uint32_t const line = first + u(row % run * element_bytes) + u(row / run) * leading;
  for (int k = 0; k < count; ++k) places[k] = swizzled(line + u(k % 8 * span) + u(k / 8) * strided, span);
}

void FactorInShared::check(char const* name) const {
  int const layout = static_cast<int>(descriptor >> 62);
  auto const first = static_cast<std::uint32_t>(descriptor & 0x3fff) * 16;
  if (layout == 0) stop(std::string("multiplies ") + name + " without a swizzle, which no kernel of ours does");
  if (layout == 1 && (first >> 7 & 7) != 0) {
    stop(std::string("multiplies ") + name + " whose descriptor begins at " + std::to_string(first) +
         ": not at the first of the 8 lines of 128 bytes that its swizzle repeats after");
  }
}

void Warpgroup::ask(WarpgroupMma const& mma, FactorInShared const& a, FactorInShared const& b, void* d,
                    bool accumulates) {
  a.check("A");
  b.check("B");
  asked_.push_back({&mma, a, b, d, accumulates});
}

void FactorInRegisters::collect(std::uint32_t const* values) {
  int const lane = static_cast<int>(thread_index().x) % kWarp;
  auto* const all = static_cast<std::uint32_t*>(warp_buffer());  // (value,lane)
  own = values;
  std::copy_n(values, kValues, asked_with.begin());
  std::copy_n(values, kValues, all + lane * kValues);
  warp_barrier();
  for (int row = 0; row < kRows; ++row) {
    for (int k = 0; k < kSteps; ++k) rows[row][k] = all[(lane / 4 * 4 + k % 4) * kValues + k / 4 * kRows + row];
  }
}

void FactorInRegisters::require_unchanged() const {
  if (own != nullptr && !std::equal(asked_with.begin(), asked_with.end(), own))
    stop("writes to registers of A before it has waited for the product that reads them");
}

void Warpgroup::ask(WarpgroupMma const& mma, FactorInRegisters const& a, FactorInShared const& b, void* d,
                    bool accumulates) {
  b.check("B");
  asked_.push_back({&mma, {}, b, d, accumulates, a});
}

void Warpgroup::wait(int groups_left_pending, int thread) {
  if (groups_.size() <= static_cast<std::size_t>(groups_left_pending)) return;
  auto const complete = groups_.size() - static_cast<std::size_t>(groups_left_pending);
  auto const count = groups_[complete - 1];
  for (std::size_t i = 0; i < count; ++i) {
    multiply(asked_[i], thread);
  }
  asked_.erase(asked_.begin(), asked_.begin() + static_cast<std::ptrdiff_t>(count));
  groups_.erase(groups_.begin(), groups_.begin() + static_cast<std::ptrdiff_t>(complete));
  for (auto& end : groups_) end -= count;
}

// The thread's own values: 2 rows of every 8 columns' two. Sums of float are those of a tensor core, to the bit.
void Warpgroup::multiply(Asked const& asked, int thread) {
  WarpgroupMma const& mma = *asked.mma;
  auto const* const shared = reinterpret_cast<char const*>(reach.shared);
  constexpr int kMostK = 64;
  constexpr int kMostColumns = 64;
  auto const read = [&](FactorInShared const& factor, int row, float* numbers) {
    std::uint32_t places[kMostK];
    factor.places_of_row(row, mma.k, places);
    for (int k = 0; k < mma.k; ++k) {
      if (places[k] + static_cast<std::uint32_t>(factor.element_bytes) > reach.shared_bytes) {
        stop("multiplies what lies beyond the " + std::to_string(reach.shared_bytes) + " bytes that the CTA has");
      }
      numbers[k] = mma.number(shared + places[k]);
    }
  };
  asked.a_in_registers.require_unchanged();
  auto const read_row = [&](int m, float* numbers) {
    if (asked.a_in_registers.own == nullptr) return read(asked.a, m, numbers);
    auto const& row = asked.a_in_registers.rows[m / 8 % FactorInRegisters::kRows];
    for (int k = 0; k < mma.k; ++k) {
      auto const element = row[k];  // on the thread's stack, which is no memory that is checked
      numbers[k] = mma.number(&element);
    }
  };
  auto const* const element = mma.element + thread * mma.values;

  // Adjacent values are of adjacent columns, pairs of them of two rows in turn.
  constexpr int kRows = FactorInRegisters::kRows;
  int const columns = mma.values / kRows;
  auto const value_of = [](int row, int column) { return column / 2 * 4 + row * 2 + column % 2; };
  float rows[kRows][kMostK];
  for (int row = 0; row < kRows; ++row) read_row(element[value_of(row, 0)] % mma.m, rows[row]);
  float column[kMostK];
  if (mma.is_integer) {
    auto* const d = static_cast<std::int32_t*>(asked.d);
    for (int j = 0; j < columns; ++j) {
      read(asked.b, element[value_of(0, j)] / mma.m, column);
      for (int row = 0; row < kRows; ++row) {
        std::int32_t sum = asked.accumulates ? d[value_of(row, j)] : 0;
        for (int k = 0; k < mma.k; ++k) sum += static_cast<std::int32_t>(rows[row][k] * column[k]);
        d[value_of(row, j)] = sum;
      }
    }
    return;
  }
  thread_local numeric::DecodedFactor b;
  b.clear(mma.format_b, mma.k, columns);
  for (int j = 0; j < columns; ++j) {
    read(asked.b, element[value_of(0, j)] / mma.m, column);
    for (int k = 0; k < mma.k; ++k) b.set(k, j, column[k]);
  }
  auto* const d = static_cast<float*>(asked.d);
  numeric::TensorCore const core = numeric::warpgroup_core(asked.b.element_bytes, false, false);
  for (int row = 0; row < kRows; ++row) {
    float sums[kMostColumns];
    for (int j = 0; j < columns; ++j) sums[j] = asked.accumulates ? d[value_of(row, j)] : 0;
    numeric::tensor_row(core, mma.format_a, rows[row], b, mma.k, sums, false);
    for (int j = 0; j < columns; ++j) d[value_of(row, j)] = sums[j];
  }
}

namespace {
void require_fences() {
  if (!has_fenced_copies())
    stop("multiplies out of shared memory while what this thread wrote by cp.async is not fenced");
  if (!has_fenced_registers()) stop("multiplies with no wgmma.fence since it waited for products, or at all");
}
}  // namespace

void warpgroup_multiply(WarpgroupMma const& mma, FactorInShared const& a, FactorInShared const& b, void* d,
                        bool accumulates) {
  require_fences();
  products_on_their_way().ask(mma, a, b, d, accumulates);
}
void warpgroup_multiply(WarpgroupMma const& mma, std::uint32_t const* a, FactorInShared const& b, void* d,
                        bool accumulates) {
  require_fences();
  FactorInRegisters factor;
  factor.collect(a);
  products_on_their_way().ask(mma, factor, b, d, accumulates);
}
void warpgroup_commit() { products_on_their_way().commit(); }
// An instruction of whole warps: what a lane does after it, it does when all lanes have their sums.
void warpgroup_wait(int groups_left_pending) {
  products_on_their_way().wait(groups_left_pending, static_cast<int>(thread_index().x) % 128);
  note_registers_fenced(false);
  warp_barrier();
}

}  // namespace cute_py::emulator
