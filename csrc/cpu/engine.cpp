// D(m,n,l) = epilogue(alpha * sum_k A(m,k,l) * B(n,k,l) + beta * C(m,n,l)) on the host
//
// Tables of offsets say where the rows and columns of a block are, whatever modes they have. Packing turns them into
// panels with unit strides and of the type that is computed in, and a register tile does the work. That of complex
// numbers has real and imaginary parts in registers of their own.
//
// Requires:  any extents, any modes, any strides, every type that fits the compute type
// Numerics:  blocks of K, each summed with k ascending in one accumulator per element; the sums of up to 16 blocks
// added
//            in their order in the same type, and the sums of those, of float32 in float64, of float64 with what
//            rounding loses. The same bits for any number of threads and any place in the result
// Memory:    up to 16 MB per thread
#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cutlass/tfloat32.h>

#include "base/parallel.hpp"
#include "base/workspace.hpp"
#include "cpu/arithmetic.hpp"
#include "cpu/block_sums.hpp"
#include "cpu/finish.hpp"
#include "cpu/launch.hpp"
#include "cpu/line_kernel.hpp"
#include "cpu/micro_kernel.hpp"
#include "numeric/types.hpp"
#include "problem/entry.hpp"

namespace cute_py::cpu {

extern Rules const engine_rules;

namespace {

using numeric::kIsComplex;

// A packed block of A fits in a second-level cache, one of B in a third. Sums of so many bytes are kept while K goes
// on, if they cannot be kept in the result.
constexpr std::int64_t kBytesOfA = 688 << 10;
constexpr std::int64_t kBytesOfB = 6 << 20;
constexpr std::int64_t kBytesOfSums = 8 << 20;

// With so many steps of k it shows how a tile's results are written.
constexpr std::int64_t kFewSteps = 128;

// So many multiply-adds take a moment that nobody notices.
constexpr std::int64_t kWorkUnchecked = 1 << 22;

// A thread is worth starting for this many multiply-adds.
constexpr double kWorkPerThread = 1 << 21;

// The factors of one operand in one block: offsets of its rows and of its steps of k.
struct Block {
  void const* data;
  DType type;
  std::int64_t const* rows;
  std::int64_t row_count;
  std::int64_t const* steps;
  std::int64_t step_count;
};

bool follow_one_another(std::int64_t const* offsets, std::int64_t count) {
  for (std::int64_t i = 1; i < count; ++i) {
    if (offsets[i] != offsets[i - 1] + 1) return false;
  }
  return true;
}

// Calls put(i, p, x) for every element of a panel of up to `width` rows.
template <class Stored, class Put>
void visit_panel(Block const& block, std::int64_t first, std::int64_t width, bool steps_follow, Put const& put) {
  auto const* const data = static_cast<Stored const*>(block.data);
  auto const* const rows = block.rows + first;
  auto const count = std::min(width, block.row_count - first);
  if (follow_one_another(rows, count)) {
    for (std::int64_t p = 0; p < block.step_count; ++p) {
      auto const* const column = data + rows[0] + block.steps[p];
      for (std::int64_t i = 0; i < count; ++i) put(i, p, numeric::load(column + i));
    }
  } else if (steps_follow) {
    constexpr std::int64_t kLine = 64 / sizeof(Stored);
    for (std::int64_t p0 = 0; p0 < block.step_count; p0 += kLine) {
      auto const length = std::min(kLine, block.step_count - p0);
      for (std::int64_t i = 0; i < count; ++i) {
        auto const* const row = data + rows[i] + block.steps[p0];
        for (std::int64_t p = 0; p < length; ++p) put(i, p0 + p, numeric::load(row + p));
      }
    }
  } else {
    for (std::int64_t p = 0; p < block.step_count; ++p) {
      auto const* const column = data + block.steps[p];
      for (std::int64_t i = 0; i < count; ++i) put(i, p, numeric::load(column + rows[i]));
    }
  }
}

template <Compute compute, class Stored>
typename Arithmetic<compute>::Scalar as_scalar(Stored const& x) {
  using Scalar = typename Arithmetic<compute>::Scalar;
  if constexpr (compute == Compute::tf32) {
    return static_cast<float>(cutlass::tfloat32_t(numeric::convert<float>(x)));
  } else {
    return static_cast<Scalar>(numeric::convert<typename Arithmetic<compute>::Accumulator>(x));
  }
}

// How many whole panels from a row on have rows that follow one another, up to so many that a cache's lines are read
// whole and a step's are not too many to be written.
template <class T>
std::int64_t panels_to_copy(Block const& block, std::int64_t first, std::int64_t width) {
  constexpr std::int64_t kBytesAtOnce = 256;
  auto const most = ceil_div(kBytesAtOnce, width * static_cast<std::int64_t>(sizeof(T)));
  std::int64_t panels = 0;
  for (; panels < most && first + width <= block.row_count; ++panels, first += width) {
    auto const* const rows = block.rows + first;
    if (!follow_one_another(rows, width) || (panels > 0 && rows[0] != rows[-1] + 1)) break;
  }
  return panels;
}

// Panels of the type that is computed in, and how many; 0: not of this kind. Vectors of rows along k may reach into the
// next step, or behind the panel: what lies there is written after them. Rows that do not exist are like the last that
// does.
template <class T>
std::int64_t pack_own_type(Block const& block, std::int64_t first, std::int64_t width, bool steps_follow,
                           LineKernel<T> const& kernel, T* out) {
  auto const* const data = static_cast<T const*>(block.data);
  auto const* const rows = block.rows + first;
  auto const count = std::min(width, block.row_count - first);
  if (auto const panels = panels_to_copy<T>(block, first, width); panels > 0) {
    kernel.copy(width, panels, block.step_count, data + rows[0], block.steps, out, width * block.step_count);
    return panels;
  }
  if (!steps_follow || width < kernel.lanes / 2) return 0;
  T const* starts[kMostLanes];
  for (auto group = (width - 1) / kernel.lanes * kernel.lanes; group >= 0; group -= kernel.lanes) {
    for (int lane = 0; lane < kernel.lanes; ++lane) {
      starts[lane] = data + rows[std::min(group + lane, count - 1)] + block.steps[0];
    }
    kernel.transpose(starts, block.step_count, out + group, width);
  }
  return 1;
}

// The same of numbers of 16 bits, as floats: some steps of rows along k are widened before they are transposed.
std::int64_t pack_halves(Block const& block, std::int64_t first, std::int64_t width, bool steps_follow,
                         LineKernel<float> const& kernel, float* out) {
  if (block.type != DType::f16 && block.type != DType::bf16) return 0;
  auto const* const data = static_cast<std::uint16_t const*>(block.data);
  auto const* const rows = block.rows + first;
  auto const count = std::min(width, block.row_count - first);
  if (auto const panels = panels_to_copy<float>(block, first, width); panels > 0) {
    constexpr std::int64_t kSteps = 16;
    constexpr std::int64_t kAhead = 8;
    constexpr std::int64_t kMostRows = 128;
    alignas(64) float buffer[kSteps * kMostRows];
    std::int64_t places[kSteps];
    for (std::int64_t p = 0; p < block.step_count; p += kSteps) {
      auto const steps = std::min(kSteps, block.step_count - p);
      for (std::int64_t i = 0; i < steps; ++i) {
        if (p + i + kAhead < block.step_count) {
          auto const* const ahead = reinterpret_cast<char const*>(data + rows[0] + block.steps[p + i + kAhead]);
          for (std::int64_t byte = 0; byte < 2 * panels * width; byte += 64) __builtin_prefetch(ahead + byte);
        }
        places[i] = i * panels * width;
        kernel.widen(block.type, panels * width, data + rows[0] + block.steps[p + i], buffer + places[i]);
      }
      kernel.copy(width, panels, steps, buffer, places, out + p * width, width * block.step_count);
    }
    return panels;
  }
  if (!steps_follow || width < kernel.lanes / 2) return 0;
  constexpr std::int64_t kSteps = 64;
  alignas(64) float buffer[kMostLanes][kSteps];
  float const* starts[kMostLanes];
  for (std::int64_t p = 0; p < block.step_count; p += kSteps) {
    auto const steps = std::min(kSteps, block.step_count - p);
    for (auto group = (width - 1) / kernel.lanes * kernel.lanes; group >= 0; group -= kernel.lanes) {
      for (int lane = 0; lane < kernel.lanes; ++lane) {
        auto const* const row = data + rows[std::min(group + lane, count - 1)] + block.steps[p];
        kernel.widen(block.type, steps, row, buffer[lane]);
        starts[lane] = buffer[lane];
      }
      kernel.transpose(starts, steps, out + p * width + group, width);
    }
  }
  return 1;
}

// Packs the rows of a block in panels (width,k,panel):(1,width,width*k), each with some room behind it.
template <Compute compute>
void pack(Block const& block, std::int64_t width, LineKernel<typename Arithmetic<compute>::Scalar> const& kernel,
          typename Arithmetic<compute>::Scalar* packed) {
  using Scalar = typename Arithmetic<compute>::Scalar;
  using Accumulator = typename Arithmetic<compute>::Accumulator;
  bool const steps_follow = follow_one_another(block.steps, block.step_count);
  bool const is_own_type = compute != Compute::tf32 && block.type == numeric::kDTypeOf<Accumulator>;
  std::int64_t panels = 1;
  for (std::int64_t first = 0; first < block.row_count; first += panels * width) {
    Scalar* const out = packed + first * block.step_count;
    panels = is_own_type ? pack_own_type<Scalar>(block, first, width, steps_follow, kernel, out) : 0;
    if constexpr (compute == Compute::f32) {
      if (panels == 0) panels = pack_halves(block, first, width, steps_follow, kernel, out);
    }
    if (panels > 0) continue;
    panels = 1;
    if (block.row_count - first < width) std::fill_n(out, width * block.step_count, Scalar(0));
    numeric::with_type<factor_types(compute)>(block.type, [&](auto const& sample) {
      using Stored = std::decay_t<decltype(sample)>;
      visit_panel<Stored>(block, first, width, steps_follow, [&](std::int64_t i, std::int64_t p, Stored const& x) {
        out[p * width + i] = as_scalar<compute>(x);
      });
    });
  }
}

// Packs int8 in words of several steps of k, in panels (width,words,panel):(1,width,width*words), each with some room
// behind it.
void pack_words(Block const& block, std::int64_t width, WordKernel const& kernel, LineKernel<std::uint32_t> const& line,
                bool is_a, std::uint32_t* packed) {
  static constexpr std::int64_t kMostRows = 64;
  static constexpr std::int8_t kZeros[kMostRows] = {};
  constexpr std::int64_t kWords = 64;  // of a row, at a time
  bool const steps_follow = follow_one_another(block.steps, block.step_count);
  auto const* const data = static_cast<std::int8_t const*>(block.data);
  auto const words = ceil_div(block.step_count, kernel.steps);
  for (std::int64_t first = 0; first < block.row_count; first += width) {
    auto const* const rows = block.rows + first;
    auto const count = std::min(width, block.row_count - first);
    auto* const out = packed + first * words;
    if (follow_one_another(rows, count) && !(steps_follow && count == 1)) {
      if (count < width) std::fill_n(out, width * words, 0);
      for (std::int64_t w = 0; w < words; ++w) {
        std::int8_t const* from[kMostStepsOfWord];
        for (int s = 0; s < kernel.steps; ++s) {
          auto const p = w * kernel.steps + s;
          from[s] = p < block.step_count ? data + rows[0] + block.steps[p] : kZeros;
        }
        kernel.join_steps(count, from, is_a, out + w * width);
      }
      continue;
    }
    alignas(64) std::uint32_t buffer[kMostLanes][kWords];
    std::uint32_t const* starts[kMostLanes];
    for (std::int64_t w = 0; w < words; w += kWords) {
      auto const* const steps = block.steps + w * kernel.steps;
      auto const step_count = std::min(kWords * kernel.steps, block.step_count - w * kernel.steps);
      for (auto group = (width - 1) / line.lanes * line.lanes; group >= 0; group -= line.lanes) {
        for (int lane = 0; lane < line.lanes; ++lane) {
          auto const* row = data + rows[std::min(group + lane, count - 1)];
          std::int8_t gathered[kWords * kMostStepsOfWord];
          if (steps_follow) {
            row += steps[0];
          } else {
            for (std::int64_t p = 0; p < step_count; ++p) gathered[p] = row[steps[p]];
            row = gathered;
          }
          kernel.join_row(step_count, row, is_a, buffer[lane]);
          starts[lane] = buffer[lane];
        }
        line.transpose(starts, ceil_div(step_count, kernel.steps), out + w * width + group, width);
      }
    }
  }
}

// Complex numbers of the type that is computed in, a panel's rows side by side or along k, with steps of k one after
// the other. Calls put(p, row) with the rows of step p side by side.
template <class T, class Put>
bool visit_rows(Block const& block, std::int64_t first, std::int64_t width, bool steps_follow,
                LineKernel<double> const& pairs, Put const& put) {
  auto const* const data = static_cast<T const*>(block.data);
  auto const* const rows = block.rows + first;
  auto const count = std::min(width, block.row_count - first);
  if (follow_one_another(rows, count)) {
    constexpr std::int64_t kAhead = 8;
    for (std::int64_t p = 0; p < block.step_count; ++p) {
      if (p + kAhead < block.step_count) {
        auto const* const ahead = reinterpret_cast<char const*>(data + 2 * (rows[0] + block.steps[p + kAhead]));
        for (std::int64_t i = 0; i < count * 2 * std::int64_t{sizeof(T)}; i += 64) __builtin_prefetch(ahead + i);
      }
      put(p, data + 2 * (rows[0] + block.steps[p]));
    }
    return true;
  }
  if constexpr (sizeof(T) == 4) {  // two of them are as many bytes as a double, which moves them
    if (!steps_follow) return false;
    constexpr std::int64_t kSteps = 32;
    constexpr std::int64_t kMostRows = 48;
    alignas(64) double buffer[kSteps * kMostRows + kMostLanes];
    auto const* const numbers = static_cast<double const*>(block.data);
    double const* starts[kMostLanes];
    for (std::int64_t p = 0; p < block.step_count; p += kSteps) {
      auto const steps = std::min(kSteps, block.step_count - p);
      for (auto group = (width - 1) / pairs.lanes * pairs.lanes; group >= 0; group -= pairs.lanes) {
        for (int lane = 0; lane < pairs.lanes; ++lane) {
          starts[lane] = numbers + rows[std::min(group + lane, count - 1)] + block.steps[p];
        }
        pairs.transpose(starts, steps, buffer + group, width);
      }
      for (std::int64_t i = 0; i < steps; ++i) put(p + i, reinterpret_cast<T const*>(buffer + i * width));
    }
    return true;
  }
  return false;
}

// Calls put(i, p, z) for every element of a panel, as the complex number that is computed in.
template <Compute compute, class Put>
void visit_complex(Block const& block, std::int64_t first, std::int64_t width, bool steps_follow, Put const& put) {
  numeric::with_type<factor_types(compute)>(block.type, [&](auto const& sample) {
    using Stored = std::decay_t<decltype(sample)>;
    visit_panel<Stored>(block, first, width, steps_follow, [&](std::int64_t i, std::int64_t p, Stored const& x) {
      put(i, p, numeric::convert<typename Arithmetic<compute>::Accumulator>(x));
    });
  });
}

// Rows of complex numbers in panels (width,2,k,panel):(1,width,2*width,2*width*k), the imaginary parts negated or not.
template <Compute compute>
void pack_parts(Block const& block, std::int64_t width, bool negate,
                LineKernel<typename Arithmetic<compute>::Scalar> const& line, LineKernel<double> const& pairs,
                typename Arithmetic<compute>::Scalar* packed) {
  using Scalar = typename Arithmetic<compute>::Scalar;
  using Accumulator = typename Arithmetic<compute>::Accumulator;
  bool const steps_follow = follow_one_another(block.steps, block.step_count);
  for (std::int64_t first = 0; first < block.row_count; first += width) {
    auto* const out = packed + 2 * first * block.step_count;
    auto const count = std::min(width, block.row_count - first);
    if (count < width) std::fill_n(out, 2 * width * block.step_count, Scalar(0));
    auto const split = [&](std::int64_t p, Scalar const* row) {
      auto* const to = out + 2 * p * width;
      line.split(count, row, negate, to, to + width);
    };
    bool const is_own_type = block.type == numeric::kDTypeOf<Accumulator>;
    if (is_own_type && visit_rows<Scalar>(block, first, width, steps_follow, pairs, split)) continue;
    visit_complex<compute>(block, first, width, steps_follow,
                           [&](std::int64_t i, std::int64_t p, Accumulator const& z) {
                             out[2 * p * width + i] = z.real();
                             out[(2 * p + 1) * width + i] = negate ? -z.imag() : z.imag();
                           });
  }
}

// Columns of complex numbers in panels (2,width,k,panel):(1,2,2*width,2*width*k).
template <Compute compute>
void pack_numbers(Block const& block, std::int64_t width, LineKernel<double> const& pairs,
                  typename Arithmetic<compute>::Scalar* packed) {
  using Scalar = typename Arithmetic<compute>::Scalar;
  using Accumulator = typename Arithmetic<compute>::Accumulator;
  bool const steps_follow = follow_one_another(block.steps, block.step_count);
  bool const is_own_type = block.type == numeric::kDTypeOf<Accumulator>;
  std::int64_t panels = 1;
  for (std::int64_t first = 0; first < block.row_count; first += panels * width) {
    auto* const out = packed + 2 * first * block.step_count;
    panels = 0;
    if constexpr (sizeof(Accumulator) == sizeof(double)) {
      if (is_own_type) {
        panels = pack_own_type<double>(block, first, width, steps_follow, pairs, reinterpret_cast<double*>(out));
      }
    }
    if (panels > 0) continue;
    panels = 1;
    if (block.row_count - first < width) std::fill_n(out, 2 * width * block.step_count, Scalar(0));
    visit_complex<compute>(block, first, width, steps_follow,
                           [&](std::int64_t i, std::int64_t p, Accumulator const& z) {
                             out[2 * (p * width + i)] = z.real();
                             out[2 * (p * width + i) + 1] = z.imag();
                           });
  }
}

// Where the rows and columns of a block are in one of the arrays (M,N,L).
struct Places {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;

  void fill(Geometry const& g, Role role, std::int64_t m, std::int64_t rows_count, std::int64_t n,
            std::int64_t columns_count) {
    if (!g.has(role)) return;
    rows.resize(rows_count);
    columns.resize(columns_count);
    fill_offsets(g.m, role, m, rows_count, rows.data());
    fill_offsets(g.n, role, n, columns_count, columns.data());
  }
};

struct Range {
  std::int64_t first;
  std::int64_t count;
};

// The micro-kernels of an instruction set.
template <class Scalar>
struct Kernels {
  MicroKernel<Scalar> micro;
  LineKernel<Scalar> line;
  LineKernel<double> pairs;  // moves pairs of floats
  WordKernel words;
};

template <class Scalar, Isa isa>
Kernels<Scalar> kernels_of() {
  constexpr Isa kLines = std::min(isa, kWidestIsa);
  return {micro_kernel<Scalar, isa>(), line_kernel<Scalar, kLines>(), line_kernel<double, kLines>(),
          std::is_same_v<Scalar, std::uint32_t> ? word_kernel<isa>() : WordKernel{1, nullptr, nullptr}};
}

// How rectangles of the result are computed, of up to so many rows and columns, and what that takes.
template <Compute compute>
class Blocking {
 protected:
  using Scalar = typename Arithmetic<compute>::Scalar;
  using Accumulator = typename Arithmetic<compute>::Accumulator;
  using Sum = SumOf<Scalar>;
  static constexpr bool kComplex = kIsComplex<Accumulator>;
  static constexpr bool kInWords = std::is_same_v<Scalar, std::uint32_t>;
  static constexpr int kParts = cpu::kParts<compute>;  // real and imaginary part

 public:
  Blocking(Kernels<Scalar> const& kernels, Geometry const& g, bool is_scaled, std::int64_t rows, std::int64_t columns)
      : kernels_(kernels),
        micro_(kernels_.micro),
        g_(g),
        nr_(kComplex ? micro_.nr_complex : micro_.nr),
        k_(g.k.size()),
        block_k_(std::clamp<std::int64_t>(k_, 1, kBlockOfK * kernels.words.steps)),
        blocks_(ceil_div(k_, block_k_)),
        stores_plainly_(is_plain(g, is_scaled)),
        // Sums of a group of blocks are kept where the result will be, unless C is there.
        keeps_in_d_((stores_plainly_ || (kComplex && joins_plainly())) && !(g.reads_c && g.c_is_d) &&
                    follows(g, Role::d)),
        writes_at_once_(!kInWords && stores_plainly_ && keeps_in_d_ && !g.reads_c && g.n.rank() <= 1 &&
                        k_ <= kFewSteps),
        block_m_(std::min(round_up(rows, micro_.mr), kBytesOfA / bytes_of_step() / micro_.mr * micro_.mr)),
        block_n_(std::min(round_up(columns, nr_), kBytesOfB / bytes_of_step() / nr_ * nr_)),
        sum_m_(rows_of_sums(rows)) {}

  std::size_t scratch_bytes() const {
    auto const scalars = [](std::int64_t count) { return Workspace::bytes_of<Scalar>(count); };
    return scalars(size_of_a()) + scalars(size_of_b()) + scalars(size_of_tile()) + scalars(size_of_group()) +
           2 * Workspace::bytes_of<Sum>(size_of_sums());
  }

 protected:
  // Steps of k as they are packed.
  std::int64_t words(std::int64_t steps) const { return ceil_div(steps, kernels_.words.steps); }

  std::int64_t size_of_a() const { return block_m_ * words(block_k_) * kParts + kMostLanes; }
  std::int64_t size_of_b() const { return block_n_ * words(block_k_) * kParts + kMostLanes; }
  std::int64_t size_of_tile() const { return kParts * micro_.mr * nr_; }
  std::int64_t size_of_group() const { return blocks_ <= 1 || keeps_in_d_ ? 0 : sum_m_ * block_n_ * kParts; }
  std::int64_t size_of_sums() const { return blocks_ <= kBlocksOfGroup ? 0 : sum_m_ * block_n_ * kParts; }

  // The same of complex numbers.
  bool joins_plainly() const { return g_.is_plain() && g_.type[Role::d] == numeric::kDTypeOf<Accumulator>; }

  // Do rows follow one another, wherever a tile begins?
  static bool follows(Geometry const& g, Role role) {
    return g.m.rank() == 0 || (g.m.rank() == 1 && g.m[0].stride[role] == 1);
  }

 private:
  // Is D = alpha * sums + beta * C all that is done, in one type? Of int32, whose alpha and beta are doubles, D = sums.
  static bool is_plain(Geometry const& g, bool is_scaled) {
    auto const type = g.type[Role::d];
    bool const one_type = type == numeric::kDTypeOf<Accumulator> && (!g.reads_c || g.type[Role::c] == type);
    return !kComplex && one_type && g.is_plain() && !(kInWords && (g.reads_c || is_scaled));
  }

  std::int64_t rows_of_sums(std::int64_t rows) const {
    auto const all = round_up(rows, micro_.mr);
    if (blocks_ <= 1 || (keeps_in_d_ && blocks_ <= kBlocksOfGroup)) return all;
    std::int64_t const of_element = kParts * (sizeof(Scalar) + (blocks_ > kBlocksOfGroup ? 2 * sizeof(Sum) : 0));
    return std::min(all, std::max(kBytesOfSums / (of_element * block_n_) / block_m_, std::int64_t{1}) * block_m_);
  }

  // Of the packed elements of a row or a column in a block of K.
  static constexpr std::int64_t bytes_of_step() { return kBlockOfK * kParts * sizeof(Scalar); }

 protected:
  Kernels<Scalar> const kernels_;
  MicroKernel<Scalar> const& micro_;
  Geometry const& g_;
  std::int64_t const nr_;
  std::int64_t const k_;
  std::int64_t const block_k_;
  std::int64_t const blocks_;
  bool const stores_plainly_;
  bool const keeps_in_d_;
  bool const writes_at_once_;  // a tile, out of the registers that it is summed in
  std::int64_t const block_m_;
  std::int64_t const block_n_;
  std::int64_t const sum_m_;
};

// One rectangle of the result of one product of the batch.
template <Compute compute>
class Multiplication : Blocking<compute> {
  using Base = Blocking<compute>;
  using Base::block_k_;
  using Base::block_m_;
  using Base::block_n_;
  using Base::blocks_;
  using Base::follows;
  using Base::g_;
  using Base::joins_plainly;
  using Base::k_;
  using Base::kComplex;
  using Base::keeps_in_d_;
  using Base::kernels_;
  using Base::kInWords;
  using Base::kParts;
  using Base::micro_;
  using Base::nr_;
  using Base::size_of_tile;
  using Base::stores_plainly_;
  using Base::sum_m_;
  using Base::writes_at_once_;
  using typename Base::Accumulator;
  using typename Base::Scalar;
  using typename Base::Sum;
  static constexpr std::int64_t kMostRows = 48;

 public:
  Multiplication(Kernels<Scalar> const& kernels, Geometry const& g, Arguments const& x, std::int64_t rows,
                 std::int64_t columns)
      : Base(kernels, g, x.alpha != 1.0, rows, columns),
        x_(x),
        memory_(this->scratch_bytes()),
        packed_a_(memory_.take<Scalar>(this->size_of_a())),
        packed_b_(memory_.take<Scalar>(this->size_of_b())),
        tile_(memory_.take<Scalar>(size_of_tile())),
        group_(memory_.take<Scalar>(this->size_of_group())),
        sums_(memory_.take<Sum>(this->size_of_sums())),
        lost_(memory_.take<Sum>(BlockSums<Scalar>::kKeepsLost ? this->size_of_sums() : 0)),
        a_rows_(block_m_),
        b_rows_(block_n_),
        a_steps_(block_k_),
        b_steps_(block_k_),
        tile_columns_(nr_),
        finish_(g, x, kernels_.line) {
    for (std::int64_t j = 0; j < nr_; ++j) tile_columns_[j] = j * micro_.mr;
  }

  void run(std::int64_t l, Range const& m, Range const& n, Execution const& execution) {
    execution_ = &execution;
    auto const at = [&](Role role) {
      return g_.has(role) ? element(x_.data[role], g_.type[role], offset_of(g_.l, role, l)) : nullptr;
    };
    a_ = at(Role::a);
    b_ = at(Role::b);
    c_ = at(Role::c);
    d_ = at(Role::d);
    product_ = l;
    for (std::int64_t jb = 0; jb < n.count; jb += block_n_) {
      for (std::int64_t ib = 0; ib < m.count; ib += sum_m_) {
        multiply_blocks({m.first + ib, std::min(sum_m_, m.count - ib)},
                        {n.first + jb, std::min(block_n_, n.count - jb)});
      }
    }
  }

 private:
  // Of the innermost loops; of int32 there is none.
  Scalar alpha() const {
    if constexpr (kInWords) {
      return 1;
    } else {
      return finish_.alpha();
    }
  }
  Scalar beta() const {
    if constexpr (kInWords) {
      return 0;
    } else {
      return g_.reads_c ? finish_.beta() : Scalar(0);
    }
  }

  // Asks whether to stop after a moment's work.
  void count_work(std::int64_t multiply_adds) {
    unchecked_ += multiply_adds;
    if (unchecked_ < kWorkUnchecked) return;
    unchecked_ = 0;
    execution_->check_interrupt();
  }

  // Rows and columns that share their sums: all of K, then the epilogue.
  void multiply_blocks(Range const& m, Range const& n) {
    first_row_ = m.first;
    d_places_.fill(g_, Role::d, m.first, m.count, n.first, n.count);
    c_places_.fill(g_, Role::c, m.first, m.count, n.first, n.count);
    bias_places_.fill(g_, Role::bias, m.first, m.count, n.first, n.count);
    residual_places_.fill(g_, Role::residual, m.first, m.count, n.first, n.count);

    if (k_ == 0) {
      std::fill_n(tile_, size_of_tile(), Scalar(0));
      for_each_tile(m.count, n.count, [&](std::int64_t i, std::int64_t j) { finish(tile_, i, j, m.count, n.count); });
      return;
    }
    for (std::int64_t kb = 0; kb < k_; kb += block_k_) {
      auto const kk = std::min(block_k_, k_ - kb);
      fill_offsets(g_.k, Role::a, kb, kk, a_steps_.data());
      fill_offsets(g_.k, Role::b, kb, kk, b_steps_.data());
      fill_offsets(g_.n, Role::b, n.first, n.count, b_rows_.data());
      Block const block_b{b_, g_.type[Role::b], b_rows_.data(), n.count, b_steps_.data(), kk};
      if constexpr (kComplex) {
        pack_numbers<compute>(block_b, nr_, kernels_.pairs, packed_b_);
      } else if constexpr (kInWords) {
        pack_words(block_b, nr_, kernels_.words, kernels_.line, false, packed_b_);
      } else {
        pack<compute>(block_b, nr_, kernels_.line, packed_b_);
      }
      for (std::int64_t ib = 0; ib < m.count; ib += block_m_) {
        auto const rows = std::min(block_m_, m.count - ib);
        count_work(rows * n.count * kk);
        fill_offsets(g_.m, Role::a, m.first + ib, rows, a_rows_.data());
        Block const block_a{a_, g_.type[Role::a], a_rows_.data(), rows, a_steps_.data(), kk};
        if constexpr (kComplex) {
          pack_parts<compute>(block_a, micro_.mr, g_.conj_a != g_.conj_b, kernels_.line, kernels_.pairs, packed_a_);
        } else if constexpr (kInWords) {
          pack_words(block_a, micro_.mr, kernels_.words, kernels_.line, true, packed_a_);
        } else {
          pack<compute>(block_a, micro_.mr, kernels_.line, packed_a_);
        }
        auto const block = kb / block_k_;
        auto const steps = this->words(kk);
        for_each_tile(rows, n.count, [&](std::int64_t i, std::int64_t j) {
          bool const writes_d = keeps_in_d_ || block + 1 == blocks_;
          if (writes_d && follows(g_, Role::d) && i + micro_.mr < rows)
            prefetch(ib + i + micro_.mr, j, m.count, n.count);
          if (writes_at_once_) return multiply_and_write(steps, i, j, ib + i, m.count, n.count);
          if (is_whole_in_d(block, i, j, rows, n.count)) return multiply_into_d(block, steps, i, j, ib + i);
          if constexpr (!kComplex) {
            if (!keeps_in_d_ && 1 < blocks_ && blocks_ <= kBlocksOfGroup) {
              auto* const sums = group_ + j * sum_m_ + (ib + i) * nr_;
              micro_.multiply_into(steps, packed_a_ + i * steps, packed_b_ + j * steps, block == 0, Scalar(1), sums,
                                   tile_columns_.data());
              if (block + 1 == blocks_) finish(sums, ib + i, j, m.count, n.count);
              return;
            }
          }
          multiply_tile(steps, i, j);
          if (add_blocks(block, ib + i, j, m.count, n.count)) finish(tile_, ib + i, j, m.count, n.count);
        });
      }
    }
  }

  template <class Work>
  void for_each_tile(std::int64_t rows, std::int64_t columns, Work const& work) {
    for (std::int64_t j = 0; j < columns; j += nr_) {
      for (std::int64_t i = 0; i < rows; i += micro_.mr) work(i, j);
    }
  }

  // The products of a block of K, summed, in tile_.
  void multiply_tile(std::int64_t kk, std::int64_t i, std::int64_t j) {
    auto const* const a = packed_a_ + kParts * i * kk;
    auto const* const b = packed_b_ + kParts * j * kk;
    if constexpr (kComplex) {
      micro_.multiply_complex(kk, a, b, tile_);
      if (g_.conj_b) {  // a conj(b) = conj(conj(a) b)
        auto* const im = tile_ + micro_.mr * nr_;
        for (std::int64_t x = 0; x < micro_.mr * nr_; ++x) im[x] = -im[x];
      }
    } else {
      micro_.multiply(kk, a, b, tile_);
    }
  }

  // Is the tile at (i,j) whole, and are its sums where the result will be, all the time?
  bool is_whole_in_d(std::int64_t block, std::int64_t i, std::int64_t j, std::int64_t rows,
                     std::int64_t columns) const {
    if (kComplex && (g_.conj_b || (block + 1 == blocks_ && finish_.alpha() != Accumulator(1)))) return false;
    return keeps_in_d_ && !g_.reads_c && blocks_ <= kBlocksOfGroup && i + micro_.mr <= rows && j + nr_ <= columns;
  }

  // The products of a block of K, summed and added to those of the blocks before, of such a tile.
  void multiply_into_d(std::int64_t block, std::int64_t kk, std::int64_t i, std::int64_t j, std::int64_t row) const {
    auto const* const a = packed_a_ + kParts * i * kk;
    auto const* const b = packed_b_ + kParts * j * kk;
    auto* const d = static_cast<Scalar*>(d_) + kParts * d_places_.rows[row];
    auto const* const columns = &d_places_.columns[j];
    if constexpr (kComplex) {
      micro_.multiply_complex_into(kk, a, b, block == 0, d, columns);
    } else {
      micro_.multiply_into(kk, a, b, block == 0, block + 1 == blocks_ ? alpha() : Scalar(1), d, columns);
    }
  }

  // multiply_tile() of a tile whose rows from `row` on are done.
  void multiply_and_write(std::int64_t kk, std::int64_t i, std::int64_t j, std::int64_t row, std::int64_t rows_left,
                          std::int64_t columns_left) const {
    if constexpr (!kComplex && !kInWords) {
      auto const rows = std::min<std::int64_t>(micro_.mr, rows_left - row);
      auto const columns = std::min<std::int64_t>(nr_, columns_left - j);
      auto* const d = static_cast<Scalar*>(d_) + d_places_.rows[row] + d_places_.columns[j];
      auto const d_column = g_.n.rank() == 0 ? 0 : g_.n[0].stride[Role::d];
      micro_.multiply_in_place(kk, packed_a_ + i * kk, micro_.mr, rows, packed_b_ + j * kk, 1, nr_, columns,
                               finish_.alpha(), d, d_column);
    }
  }

  // The tile of the result at (i,j), which is about to be read or written.
  void prefetch(std::int64_t i, std::int64_t j, std::int64_t rows_left, std::int64_t columns_left) const {
    auto const rows = std::min<std::int64_t>(micro_.mr, rows_left - i);
    auto const columns = std::min<std::int64_t>(nr_, columns_left - j);
    auto const type = g_.type[Role::d];
    for (std::int64_t jj = 0; jj < columns; ++jj) {
      auto const* const column =
          static_cast<char const*>(element(d_, type, d_places_.rows[i] + d_places_.columns[j + jj]));
      for (std::int64_t byte = 0; byte < rows * bytes_of(type); byte += 64) {
        __builtin_prefetch(column + byte, 1);
      }
    }
  }

  // Adds tile_ to the sums of the register tile at (i,j). After the last block they are in tile_, and it says so.
  bool add_blocks(std::int64_t block, std::int64_t i, std::int64_t j, std::int64_t rows_left,
                  std::int64_t columns_left) {
    bool const is_last = block + 1 == blocks_;
    if (blocks_ == 1) return true;
    auto const place = kParts * (j * sum_m_ + i * nr_);
    auto const all = size_of_tile();
    if (keeps_in_d_) {
      auto const rows = std::min<std::int64_t>(micro_.mr, rows_left - i);
      auto const columns = std::min<std::int64_t>(nr_, columns_left - j);
      auto const in_group = block % kBlocksOfGroup;
      if (in_group > 0) add_sums_in_d(i, j, rows, columns);
      if (!is_last && in_group + 1 < kBlocksOfGroup) {
        keep_sums_in_d(i, j, rows, columns);
        return false;
      }
      bool const is_first = block < kBlocksOfGroup;
      if (is_last && is_first) return true;
      Sum* const lost = BlockSums<Scalar>::kKeepsLost ? lost_ + place : nullptr;
      kernels_.line.gather(all, tile_, sums_ + place, lost, is_first);
      if (is_last) kernels_.line.settle(all, sums_ + place, lost, tile_);
      return is_last;
    }
    BlockSums<Scalar>{kernels_.line, all, group_ + place, sums_ + place, lost_ + place}.add(block, is_last, tile_);
    return is_last;
  }

  // tile_ += the sums of the blocks before, which are where the result will be.
  void add_sums_in_d(std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t columns) {
    auto const* const d = static_cast<Scalar const*>(d_) + kParts * d_places_.rows[i];
    if constexpr (kComplex) {
      for (std::int64_t jj = 0; jj < columns; ++jj) {
        auto* const re = tile_ + jj * micro_.mr;
        kernels_.line.add_parts(rows, d + 2 * d_places_.columns[j + jj], re, re + micro_.mr * nr_);
      }
    } else {
      micro_.add(d, &d_places_.columns[j], rows, columns, tile_);
    }
  }

  void keep_sums_in_d(std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t columns) {
    auto* const d = static_cast<Scalar*>(d_) + kParts * d_places_.rows[i];
    if constexpr (kComplex) {
      for (std::int64_t jj = 0; jj < columns; ++jj) {
        auto const* const re = tile_ + jj * micro_.mr;
        kernels_.line.join(rows, nullptr, re, re + micro_.mr * nr_, d + 2 * d_places_.columns[j + jj]);
      }
    } else {
      micro_.store(Scalar(1), tile_, micro_.mr, Scalar(0), nullptr, nullptr, d, &d_places_.columns[j], rows, columns);
    }
  }

  // Writes the tile at (i,j), whose sums are `acc`.
  void finish(Scalar const* acc, std::int64_t i, std::int64_t j, std::int64_t rows_left, std::int64_t columns_left) {
    auto const rows = std::min<std::int64_t>(micro_.mr, rows_left - i);
    auto const columns = std::min<std::int64_t>(nr_, columns_left - j);
    count_work(rows * columns * finish_.work_of_element());
    if constexpr (!kComplex) {
      bool const c_follows = !g_.reads_c || follows(g_, Role::c) || follow_one_another(&c_places_.rows[i], rows);
      if (stores_plainly_ && c_follows && (keeps_in_d_ || follow_one_another(&d_places_.rows[i], rows))) {
        auto const* const c = g_.reads_c ? static_cast<Scalar const*>(c_) + c_places_.rows[i] : nullptr;
        micro_.store(alpha(), acc, micro_.mr, beta(), c, g_.reads_c ? &c_places_.columns[j] : nullptr,
                     static_cast<Scalar*>(d_) + d_places_.rows[i], &d_places_.columns[j], rows, columns);
        return;
      }
      if (stores_plainly_ && !g_.reads_c) {
        auto* const d = static_cast<Scalar*>(d_);
        // In the order in which the result lies.
        if (columns > 1 && d_places_.columns[j + 1] == d_places_.columns[j] + 1) {
          for (std::int64_t ii = 0; ii < rows; ++ii) {
            auto* const row = d + d_places_.rows[i + ii];
            for (std::int64_t jj = 0; jj < columns; ++jj) {
              row[d_places_.columns[j + jj]] = alpha() * acc[jj * micro_.mr + ii];
            }
          }
        } else {
          for (std::int64_t jj = 0; jj < columns; ++jj) {
            auto* const column = d + d_places_.columns[j + jj];
            for (std::int64_t ii = 0; ii < rows; ++ii) {
              column[d_places_.rows[i + ii]] = alpha() * acc[jj * micro_.mr + ii];
            }
          }
        }
        return;
      }
    }
    if constexpr (!kComplex && !kInWords) {
      if (finish_.is_in_one_pass() && finish_tile(acc, i, j, rows, columns)) return;
    }
    if constexpr (kComplex) {
      if (joins_plainly() && !g_.reads_c && follow_one_another(&d_places_.rows[i], rows)) {
        Scalar const parts[2] = {finish_.alpha().real(), finish_.alpha().imag()};
        auto const* const alpha = parts[0] == 1 && parts[1] == 0 ? nullptr : parts;
        auto* const d = static_cast<Scalar*>(d_) + 2 * d_places_.rows[i];
        for (std::int64_t jj = 0; jj < columns; ++jj) {
          auto const* const re = acc + jj * micro_.mr;
          kernels_.line.join(rows, alpha, re, re + micro_.mr * nr_, d + 2 * d_places_.columns[j + jj]);
        }
        return;
      }
    }
    // Runs of rows along the first mode of M.
    for (std::int64_t ii = 0; ii < rows;) {
      auto const left = g_.m.rank() == 0 ? rows : g_.m[0].extent - (first_row_ + i + ii) % g_.m[0].extent;
      auto const count = std::min(rows - ii, left);
      PerRole<Line> lines;
      PerRole<std::int64_t> first;
      for (Role const role : kFinishRoles) {
        if (!g_.has(role)) continue;
        first[role] = offset_of(g_.l, role, product_) + places_of(role).rows[i + ii];
        lines[role].stride = g_.m.rank() == 0 ? 0 : g_.m[0].stride[role];
      }
      for (std::int64_t jj = 0; jj < columns; ++jj) {
        for (Role const role : kFinishRoles) {
          if (g_.has(role)) lines[role].offset = first[role] + places_of(role).columns[j + jj];
        }
        auto const at = jj * micro_.mr + ii;
        if constexpr (kComplex) {
          Accumulator column[kMostRows];
          for (std::int64_t x = 0; x < count; ++x) {
            column[x] = Accumulator(acc[at + x], acc[at + x + micro_.mr * nr_]);
          }
          finish_(column, count, lines);
        } else {
          finish_(reinterpret_cast<Accumulator const*>(acc + at), count, lines);
        }
      }
      ii += count;
    }
  }

  // With a bias and an activation, if rows follow one another.
  bool finish_tile(Scalar const* acc, std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t columns) const {
    if (!follows(g_, Role::d) && !follow_one_another(&d_places_.rows[i], rows)) return false;
    BiasOfTile<Scalar> bias{};
    if (g_.has_bias) {
      auto const* const of_rows = &bias_places_.rows[i];
      bool const is_same =
          g_.m.rank() == 1 ? g_.m[0].stride[Role::bias] == 0 : std::equal(of_rows + 1, of_rows + rows, of_rows);
      if (!is_same && !follows(g_, Role::bias) && !follow_one_another(of_rows, rows)) return false;
      bias = {static_cast<Scalar const*>(x_.data[Role::bias]) + offset_of(g_.l, Role::bias, product_) + of_rows[0],
              !is_same, &bias_places_.columns[j]};
    }
    return finish_.tile(rows, columns, acc, micro_.mr, bias, static_cast<Scalar*>(d_) + d_places_.rows[i],
                        &d_places_.columns[j]);
  }

  static constexpr Role kFinishRoles[] = {Role::c, Role::d, Role::bias, Role::residual};

  Places const& places_of(Role role) const {
    return role == Role::c      ? c_places_
           : role == Role::d    ? d_places_
           : role == Role::bias ? bias_places_
                                : residual_places_;
  }

  Arguments const& x_;
  Workspace memory_;
  Scalar* const packed_a_;
  Scalar* const packed_b_;
  Scalar* const tile_;
  Scalar* const group_;  // sums of blocks, and of groups of blocks, while there is more of K to come
  Sum* const sums_;
  Sum* const lost_;
  std::vector<std::int64_t> a_rows_;
  std::vector<std::int64_t> b_rows_;
  std::vector<std::int64_t> a_steps_;
  std::vector<std::int64_t> b_steps_;
  std::vector<std::int64_t> tile_columns_;  // where those of a tile of sums are
  Finish<compute> const finish_;
  Execution const* execution_ = nullptr;
  std::int64_t unchecked_ = 0;  // multiply-adds since somebody was asked whether to stop
  Places c_places_;
  Places d_places_;
  Places bias_places_;
  Places residual_places_;
  void* a_ = nullptr;
  void* b_ = nullptr;
  void* c_ = nullptr;
  void* d_ = nullptr;
  std::int64_t product_ = 0;    // of the batch
  std::int64_t first_row_ = 0;  // of the rows whose places are known
};

// Into how many parts a result is cut along m and along n so that so many threads have one each. A thread packs its
// rows and its columns: the fewer of both its part has, the better, and no thread has more tiles than it must.
std::pair<std::int64_t, std::int64_t> cut(std::int64_t threads, std::int64_t tiles_m, std::int64_t mr,
                                          std::int64_t tiles_n, std::int64_t nr) {
  std::pair<std::int64_t, std::int64_t> best{1, threads};
  auto least = std::numeric_limits<double>::infinity();
  for (std::int64_t parts_m = 1; parts_m <= threads; ++parts_m) {
    if (threads % parts_m != 0) continue;
    auto const rows = static_cast<double>(ceil_div(tiles_m, parts_m) * mr);
    auto const columns = static_cast<double>(ceil_div(tiles_n, threads / parts_m) * nr);
    // Multiply-adds, and what it costs to pack: as much as kPackingCost of them for an element.
    constexpr double kPackingCost = 16;
    double const cost = rows * columns + kPackingCost * (rows + columns);
    if (cost < least) {
      least = cost;
      best = {parts_m, threads / parts_m};
    }
  }
  return best;
}

// The batch, and if that is not enough each result, cut into parts for the threads.
template <Compute compute>
class EngineLaunch final : public Launch {
  using Scalar = typename Arithmetic<compute>::Scalar;

 public:
  EngineLaunch(Kernels<Scalar> const& kernels, Geometry const& geometry) : kernels_(kernels), geometry_(geometry) {}

  int run(Arguments const& x, Execution const& execution) const override {
    Geometry const& g = geometry_;
    if (g.is_empty()) return 0;
    Parts const of = parts_for(execution.host_threads);
    // Each worker keeps its buffers from part to part.
    auto const parts = of.parts_m * of.parts_n * g.l.size();
    parallel_for(static_cast<int>(of.threads), of.workers, [&](std::int64_t worker) {
      Multiplication<compute> multiplication(kernels_, g, x, of.rows, of.columns);
      for (auto part = parts * worker / of.workers; part < parts * (worker + 1) / of.workers; ++part) {
        auto const first_m = part % of.parts_m * of.part_m;
        auto const first_n = part / of.parts_m % of.parts_n * of.part_n;
        if (first_m >= g.m.size() || first_n >= g.n.size()) continue;
        multiplication.run(part / of.parts_m / of.parts_n, {first_m, std::min(of.part_m, g.m.size() - first_m)},
                           {first_n, std::min(of.part_n, g.n.size() - first_n)}, execution);
      }
    });
    return 0;
  }

  std::int64_t scratch_bytes(int host_threads) const override {
    if (geometry_.is_empty()) return 0;
    Parts const of = parts_for(host_threads);
    // An alpha takes int32 by way of memory.
    Blocking<compute> const each(kernels_, geometry_, true, of.rows, of.columns);
    return of.workers * static_cast<std::int64_t>(each.scratch_bytes());
  }

 private:
  struct Parts {
    std::int64_t threads;
    std::int64_t workers;
    std::int64_t parts_m;
    std::int64_t parts_n;
    std::int64_t part_m;  // rows and columns that a part begins behind the one before
    std::int64_t part_n;
    std::int64_t rows;  // the most that one has
    std::int64_t columns;
  };

  Parts parts_for(int host_threads) const {
    Geometry const& g = geometry_;
    std::int64_t const mr = kernels_.micro.mr;
    std::int64_t const nr =
        kIsComplex<typename Arithmetic<compute>::Accumulator> ? kernels_.micro.nr_complex : kernels_.micro.nr;
    auto const m = g.m.size();
    auto const n = g.n.size();
    auto const l = g.l.size();
    auto const tiles_m = ceil_div(m, mr);
    auto const tiles_n = ceil_div(n, nr);
    double const work = static_cast<double>(m) * static_cast<double>(n) *
                        static_cast<double>(std::max<std::int64_t>(g.k.size(), 1)) * static_cast<double>(l);
    auto const threads = static_cast<std::int64_t>(
        std::clamp(work / kWorkPerThread, 1.0, static_cast<double>(std::max(host_threads, 1))));
    auto const [parts_m, parts_n] = cut(ceil_div(threads, std::min(l, threads)), tiles_m, mr, tiles_n, nr);
    auto const part_m = ceil_div(tiles_m, parts_m) * mr;
    auto const part_n = ceil_div(tiles_n, parts_n) * nr;
    auto const workers = std::min(threads, parts_m * parts_n * l);
    return {threads, workers, parts_m, parts_n, part_m, part_n, std::min(part_m, m), std::min(part_n, n)};
  }

  Kernels<Scalar> const kernels_;
  Geometry const geometry_;
};

template <Compute compute, Isa isa>
std::unique_ptr<Launch> prepare(char const*, Geometry const& geometry, Schedule const&) {
  return std::make_unique<EngineLaunch<compute>>(kernels_of<typename Arithmetic<compute>::Scalar, isa>(), geometry);
}

template <Isa isa, Compute compute>
Entry entry() {
  constexpr auto kTile = register_tile(isa);
  static std::string const name = std::string("cpu_") + name_of(isa) + "_" + letters_of(compute);
  Traits traits = host_traits(name.c_str(), "cpu", compute);
  traits.tile[0] = kTile.mr(sizeof(typename Arithmetic<compute>::Scalar));
  traits.tile[1] = kParts<compute> == 2 ? kTile.nr_complex() : kTile.nr;
  traits.tile[2] = static_cast<int>(kBlockOfK) * kernels_of<typename Arithmetic<compute>::Scalar, isa>().words.steps;
  traits.needs.isa = isa;
  traits.needs.widest_isa = compute == Compute::i32 && kWidestIsa == Isa::avx512 ? Isa::avx512_vnni : kWidestIsa;
  traits.one_order = true;
  return {traits, kHostResources, &engine_rules, &prepare<compute, isa>, nullptr, nullptr};
}

template <Isa isa, int... compute>
void add(std::vector<Entry>& entries, std::integer_sequence<int, compute...>) {
  (entries.push_back(entry<isa, static_cast<Compute>(compute)>()), ...);
}

}  // namespace

void add_engine(std::vector<Entry>& entries) {
  constexpr auto kEach = std::make_integer_sequence<int, kComputesOnHost>();
  add<Isa::baseline>(entries, kEach);
#ifdef __x86_64__
  add<Isa::avx2>(entries, kEach);
  add<Isa::avx512>(entries, kEach);
  entries.push_back(entry<Isa::avx512_vnni, Compute::i32>());
#endif
}

}  // namespace cute_py::cpu
