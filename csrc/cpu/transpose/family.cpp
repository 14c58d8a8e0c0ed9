// D(i,j,...) = A(i,j,...) on the host, bit by bit
//
// A block is along the modes that are the fastest of D and of A, so that of what a cache reads and writes all is used.
// If these differ, squares of 4- and 8-byte elements are transposed in registers.
//
// Requires:  any strides of A; D lies apart from A
// Numerics:  the bits of each element
// Workspace: a block of 0.6 MB per thread at most, where an array is streamed
// Threads:   each its blocks; one per 512 KB at most
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "base/parallel.hpp"
#include "cpu/arithmetic.hpp"
#include "cpu/family.hpp"
#include "cpu/operations.hpp"
#include "problem/entry.hpp"

namespace cute_py::cpu {

extern Rules const transpose_rules;

namespace {

constexpr std::int64_t kSide = 64;                // elements of a side of a block
constexpr std::int64_t kBytesOfBlock = 1 << 15;   // that is no square
constexpr std::int64_t kBytesOfThread = 1 << 19;  // that are worth a thread

// An array of so many bytes is written by non-temporal stores, in blocks of as many bytes along D and along A.
constexpr std::int64_t kBytesStreamed = 8 << 20;
constexpr std::int64_t kBytesAlongD = 1024;
constexpr std::int64_t kBytesAlongA = 2048;
constexpr std::int64_t kBytesOfLine = 64;
constexpr std::int64_t kShortestRow = 256;
constexpr std::int64_t kBytesAhead = 2048;  // of rows that are prefetched

std::int64_t length(Mode const& mode, Role role) {
  auto const stride = std::abs(mode.stride[role]);
  return stride == 0 ? std::numeric_limits<std::int64_t>::max() : stride;
}

// The modes of a copy: the fastest of D, the fastest of A; those that go on where these end; and the others. If one
// mode is the fastest of both, A's are the fastest of D and of A that are left.
struct Plan {
  Mode fast_d;
  Mode fast_a;
  Mode next_d;
  Mode next_a;
  Modes others;

  explicit Plan(Modes modes) {
    coalesce(modes);
    take(modes, Role::d, fast_d);
    bool const is_fast_in_both = std::none_of(
        modes.begin(), modes.end(), [&](Mode const& mode) { return length(mode, Role::a) < length(fast_d, Role::a); });
    take(modes, is_fast_in_both ? Role::d : Role::a, fast_a);
    if (is_fast_in_both) {
      take(modes, Role::a, next_a);
    } else {
      take_next(modes, Role::d, fast_d, next_d);
      take_next(modes, Role::a, fast_a, next_a);
    }
    std::stable_sort(modes.begin(), modes.end(),
                     [](Mode const& x, Mode const& y) { return length(x, Role::d) < length(y, Role::d); });
    others = modes;
  }

 private:
  static void take(Modes& modes, Role role, Mode& taken) {
    if (modes.rank() == 0) return;
    auto const fastest = std::min_element(
        modes.begin(), modes.end(), [&](Mode const& x, Mode const& y) { return length(x, role) < length(y, role); });
    taken = *fastest;
    modes.erase(static_cast<int>(fastest - modes.begin()));
  }

  static void take_next(Modes& modes, Role role, Mode const& mode, Mode& taken) {
    for (int i = 0; i < modes.rank(); ++i) {
      if (modes[i].stride[role] != mode.extent * mode.stride[role]) continue;
      taken = modes[i];
      modes.erase(i);
      return;
    }
  }
};

// Into how many equal parts an extent is cut, and how long they are. None is much shorter than the others.
struct Sides {
  std::int64_t count;
  std::int64_t length;

  Sides(std::int64_t extent, std::int64_t most)
      : count(std::max<std::int64_t>(ceil_div(extent, std::max<std::int64_t>(most, 1)), 1)),
        length(ceil_div(extent, count)) {}
};

// What moves as many bytes: kernels move the bits of numbers, whatever they mean.
template <int bytes>
struct NumberOf {
  using Type = void;
};
template <>
struct NumberOf<4> {
  using Type = float;
};
template <>
struct NumberOf<8> {
  using Type = double;
};

template <int bytes, Isa isa>
class Copy {
  static constexpr bool kHasKernel = !std::is_void_v<typename NumberOf<bytes>::Type>;
  using Number = std::conditional_t<kHasKernel, typename NumberOf<bytes>::Type, float>;

 public:
  explicit Copy(Geometry const& g)
      : plan_(g.m),
        elements_(g.m.size()),
        kernel_(kernels_of<Number, isa>().transpose),
        in_rows_(plan_.fast_d.stride[Role::a] == 1 && plan_.fast_d.stride[Role::d] == 1),
        transposes_(kHasKernel && !in_rows_ && plan_.fast_d.stride[Role::d] == 1 && plan_.fast_a.stride[Role::a] == 1 &&
                    plan_.fast_d.extent >= kernel_.lanes && plan_.fast_a.extent >= kernel_.lanes),
        is_streamed_(kHasKernel && elements_ * bytes >= kBytesStreamed),
        d_(plan_.fast_d.extent, most_of_d()),
        a_(plan_.fast_a.extent, most_of_a()),
        next_d_(plan_.next_d.extent, is_streamed_ && transposes_ ? kBytesAlongD / bytes / d_.length : 1),
        next_a_(plan_.next_a.extent, in_short_rows()               ? kSide
                                     : is_streamed_ && transposes_ ? kBytesAlongA / bytes / a_.length
                                                                   : 1) {}

  void run(char const* from, char* to, Execution const& execution) const {
    auto const count = d_.count * a_.count * next_d_.count * next_a_.count * plan_.others.size();
    auto const threads = std::clamp<std::int64_t>(elements_ * bytes / kBytesOfThread, 1, execution.host_threads);
    auto const workers = std::min(threads, count);
    parallel_for(static_cast<int>(threads), workers, [&](std::int64_t worker) {
      bool const needs_buffer = is_streamed_ && transposes_;
      auto const columns = needs_buffer ? next_a_.length * a_.length : 0;
      AlignedBuffer<Number> buffer(columns * row_of_buffer());
      for (auto i = count * worker / workers; i < count * (worker + 1) / workers; ++i) {
        constexpr std::int64_t kUnchecked = 16;
        if (i % kUnchecked == 0) execution.check_interrupt();
        copy_block(i, from, to, buffer.data);
      }
      if (is_streamed_) kernel_.stream_end();
    });
  }

 private:
  // Elements of one mode that belong to a block.
  struct Part {
    std::int64_t first;
    std::int64_t count;
  };

  // Rows so short that cache lines have several, of which all are used while they are there.
  bool in_short_rows() const { return in_rows_ && plan_.fast_d.extent * bytes < kShortestRow; }

  std::int64_t most_of_d() const {
    if (transposes_) return is_streamed_ ? kBytesAlongD / bytes : kSide;
    return kBytesOfBlock / bytes / (in_rows_ ? 1 : std::min(plan_.fast_a.extent, kSide));
  }

  std::int64_t most_of_a() const {
    if (transposes_ && is_streamed_) return kBytesAlongA / bytes;
    return in_rows_ && !in_short_rows() ? kBytesOfBlock / bytes / d_.length : kSide;
  }

  // Room for what lies behind a block in its last cache line. Rows of an odd number of lines spread over the sets of
  // L1.
  std::int64_t row_of_buffer() const {
    auto const lines = ceil_div(next_d_.length * d_.length * bytes, kBytesOfLine) + 1;
    return (lines | 1) * kBytesOfLine / bytes;
  }

  static Part part(std::int64_t& index, Sides const& sides, Mode const& mode) {
    auto const first = index % sides.count * sides.length;
    index /= sides.count;
    return {first, std::min(sides.length, mode.extent - first)};
  }

  void copy_block(std::int64_t index, char const* from, char* to, Number* buffer) const {
    Part const d = part(index, d_, plan_.fast_d);
    Part const next_d = part(index, next_d_, plan_.next_d);
    Part const a = part(index, a_, plan_.fast_a);
    Part const next_a = part(index, next_a_, plan_.next_a);
    if (std::min({d.count, next_d.count, a.count, next_a.count}) <= 0) return;
    auto const at = [&](Role role) {
      return (offset_of(plan_.others, role, index) + d.first * plan_.fast_d.stride[role] +
              next_d.first * plan_.next_d.stride[role] + a.first * plan_.fast_a.stride[role] +
              next_a.first * plan_.next_a.stride[role]) *
             bytes;
    };
    from += at(Role::a);
    to += at(Role::d);
    bool const fits = transposes_ && d.count >= kernel_.lanes && a.count >= kernel_.lanes;
    if (fits && is_streamed_) {
      transpose_and_stream(reinterpret_cast<Number const*>(from), reinterpret_cast<Number*>(to), d, next_d, a, next_a,
                           buffer);
      return;
    }
    for (std::int64_t j = 0; j < next_a.count; ++j) {
      for (std::int64_t i = 0; i < next_d.count; ++i) {
        auto const offset = [&](Role role) {
          return (i * plan_.next_d.stride[role] + j * plan_.next_a.stride[role]) * bytes;
        };
        auto const* const x = from + offset(Role::a);
        auto* const y = to + offset(Role::d);
        if (fits) {
          transpose(reinterpret_cast<Number const*>(x), reinterpret_cast<Number*>(y), d.count, a.count,
                    plan_.fast_a.stride[Role::d]);
        } else {
          copy_plainly(x, y, d.count, a.count);
        }
      }
    }
  }

  void copy_plainly(char const* from, char* to, std::int64_t count_d, std::int64_t count_a) const {
    auto const a = plan_.fast_d.stride[Role::a] * bytes;
    auto const d = plan_.fast_d.stride[Role::d] * bytes;
    auto const rows_ahead = std::max<std::int64_t>(kBytesAhead / (count_d * bytes), 2);
    for (std::int64_t j = 0; j < count_a; ++j) {
      char const* const x = from + j * plan_.fast_a.stride[Role::a] * bytes;
      char* const y = to + j * plan_.fast_a.stride[Role::d] * bytes;
      if (in_rows_ && is_streamed_) {
        char const* const row = from + std::min(j + rows_ahead, count_a - 1) * plan_.fast_a.stride[Role::a] * bytes;
        for (std::int64_t i = 0; i < count_d * bytes; i += kBytesOfLine) __builtin_prefetch(row + i);
      }
      if (in_rows_ && is_streamed_ && count_d * bytes >= kShortestRow) {
        kernel_.stream(count_d, reinterpret_cast<Number const*>(x), reinterpret_cast<Number*>(y));
      } else if (in_rows_) {
        copy_row(y, x, static_cast<std::size_t>(count_d * bytes));
      } else if (d == bytes) {
        for (std::int64_t i = 0; i < count_d; ++i) std::memcpy(y + i * bytes, x + i * a, bytes);
      } else {
        for (std::int64_t i = 0; i < count_d; ++i) std::memcpy(y + i * d, x + i * a, bytes);
      }
    }
  }

  // Most rows are so short that a call takes longer than what it does.
  static void copy_row(char* to, char const* from, std::size_t count) {
    auto const both_ends = [&](auto size) {
      std::memcpy(to, from, size);
      std::memcpy(to + count - size, from + count - size, size);
    };
    if (count > 32) {
      std::memcpy(to, from, count);
    } else if (count >= 16) {
      both_ends(std::integral_constant<std::size_t, 16>{});
    } else if (count >= 8) {
      both_ends(std::integral_constant<std::size_t, 8>{});
    } else if (count >= 4) {
      both_ends(std::integral_constant<std::size_t, 4>{});
    } else {
      for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
    }
  }

  // Vectors along A's fastest mode become vectors along D's. What is left over at the end of D's lies over what was
  // copied before.
  void transpose(Number const* from, Number* to, std::int64_t count_d, std::int64_t count_a, std::int64_t step) const {
    auto const row = plan_.fast_d.stride[Role::a];
    Number const* rows[kMostLanes];
    for (std::int64_t i = 0; i < count_d; i += kernel_.lanes) {
      auto const first = std::min<std::int64_t>(i, count_d - kernel_.lanes);
      for (int lane = 0; lane < kernel_.lanes; ++lane) rows[lane] = from + (first + lane) * row;
      kernel_.rows(rows, count_a, to + first, step);
    }
  }

  // By way of a buffer with a row for each line of D. A row ends where a cache line does, if the mode goes on:
  // then each line is written once and as a whole, by the block that it begins in.
  void transpose_and_stream(Number const* from, Number* to, Part const& d, Part const& next_d, Part const& a,
                            Part const& next_a, Number* buffer) const {
    constexpr std::int64_t kOfLine = kBytesOfLine / bytes;
    auto const row = row_of_buffer();
    auto const behind = next_d.count == 1 ? std::min(kOfLine, plan_.fast_d.extent - d.first - d.count) : 0;
    // A row of A goes on from its fastest mode to the next: so far that its lines are read once, and what is written
    // stays in L1 until all rows have been there.
    constexpr std::int64_t kOfRow = 96;
    auto const together = std::max<std::int64_t>(kOfRow / a.count, 1);
    for (std::int64_t j = 0; j < next_a.count; j += together) {
      auto const count = std::min(together, next_a.count - j) * a.count;
      for (std::int64_t i = 0; i < next_d.count; ++i) {
        transpose(from + i * plan_.next_d.stride[Role::a] + j * plan_.next_a.stride[Role::a],
                  buffer + j * a.count * row + i * d.count, d.count + behind, count, row);
      }
    }
    auto const past_line = [](Number const* x) {
      return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(x) % kBytesOfLine) / bytes;
    };
    for (std::int64_t j = 0; j < next_a.count; ++j) {
      for (std::int64_t i = 0; i < a.count; ++i) {
        auto* const y = to + i * plan_.fast_a.stride[Role::d] + j * plan_.next_a.stride[Role::d];
        auto first = std::int64_t{0};
        auto end = next_d.count * d.count;
        if (next_d.count == 1) {
          if (d.first > 0) first = std::min((kOfLine - past_line(y)) % kOfLine, end);
          end = std::min(end + (kOfLine - past_line(y + end)) % kOfLine, d.count + behind);
        }
        kernel_.stream(end - first, buffer + (j * a.count + i) * row + first, y + first);
      }
    }
  }

  Plan const plan_;
  std::int64_t const elements_;
  TransposeKernel<Number> const& kernel_;
  bool const in_rows_;
  bool const transposes_;
  bool const is_streamed_;
  Sides const d_;
  Sides const a_;
  Sides const next_d_;
  Sides const next_a_;
};

template <int bytes, Isa isa>
class CopyLaunch final : public Launch {
 public:
  explicit CopyLaunch(Geometry const& geometry) : copy_(geometry) {}

  int run(Arguments const& arguments, Execution const& execution) const override {
    copy_.run(static_cast<char const*>(arguments.data[Role::a]), static_cast<char*>(arguments.data[Role::d]),
              execution);
    return 0;
  }

 private:
  Copy<bytes, isa> const copy_;
};

struct TransposeFamily {
  static constexpr char const* kernel = "cpu_copy";
  static constexpr Rules const* rules = &transpose_rules;
  using List = Variants<Isas, Compute::copy>;

  template <class V>
  static void limit(Traits& traits) {
    traits.types.one_type = true;
  }

  template <class V>
  static std::unique_ptr<Launch> prepare(Geometry const& geometry) {
    switch (bytes_of(geometry.type[Role::d])) {
      case 1:
        return std::make_unique<CopyLaunch<1, V::isa>>(geometry);
      case 2:
        return std::make_unique<CopyLaunch<2, V::isa>>(geometry);
      case 4:
        return std::make_unique<CopyLaunch<4, V::isa>>(geometry);
      case 8:
        return std::make_unique<CopyLaunch<8, V::isa>>(geometry);
      default:
        return std::make_unique<CopyLaunch<16, V::isa>>(geometry);
    }
  }
};

}  // namespace

void add_transpose(std::vector<Entry>& entries) { add_variants<TransposeFamily>(entries); }

}  // namespace cute_py::cpu
