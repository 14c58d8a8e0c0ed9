#pragma once

#include <type_traits>

#include "cpu/gemm/panels.hpp"

namespace cute_py::cpu {

// Complex panels: rows of A as real and imaginary parts, (width,2,k,panel):(1,width,2*width,2*width*k); columns of B as
// they are, (2,width,k,panel):(1,2,2*width,2*width*k). a conj(b) is conj(conj(a) b): A's imaginary parts are negated.
template <Compute compute>
class ComplexPanels {
  using T = typename Arithmetic<compute>::Scalar;
  using Accumulator = typename Arithmetic<compute>::Accumulator;

 public:
  static constexpr int kParts = 2;

  template <Isa isa>
  static ComplexPanels of() {
    return {kernels_of<T, isa>(), kernels_of<double, isa>().transpose};
  }

  std::int64_t mr() const { return kernels.complex_micro.mr; }
  std::int64_t nr() const { return kernels.complex_micro.nr; }
  std::int64_t steps_of_scalar() const { return 1; }

  // As RealPanels: without alpha and C.
  static bool joins(Geometry const& g) { return g.is_plain() && g.type[Role::d] == numeric::kDTypeOf<Accumulator>; }

  void pack_a(Block const& block, bool negate, T* packed) const {
    auto const width = mr();
    bool const steps_follow = are_consecutive(block.steps, block.step_count);
    for (std::int64_t first = 0; first < block.row_count; first += width) {
      auto* const out = packed + 2 * first * block.step_count;
      PanelRows const panel(block, first, width, steps_follow);
      if (panel.count < width) std::fill_n(out, 2 * width * block.step_count, T(0));
      auto const split = [&](std::int64_t p, T const* row) {
        auto* const to = out + 2 * p * width;
        kernels.complex_parts.split(panel.count, row, negate, to, to + width);
      };
      if (is_own_type(block) && visit_steps(block, panel, width, split)) continue;
      visit_numbers(block, panel, [&](std::int64_t i, std::int64_t p, Accumulator const& z) {
        out[2 * p * width + i] = z.real();
        out[(2 * p + 1) * width + i] = negate ? -z.imag() : z.imag();
      });
    }
  }

  void pack_b(Block const& block, T* packed) const {
    auto const width = nr();
    bool const steps_follow = are_consecutive(block.steps, block.step_count);
    std::int64_t panels = 1;
    for (std::int64_t first = 0; first < block.row_count; first += panels * width) {
      auto* const out = packed + 2 * first * block.step_count;
      panels = 0;
      if constexpr (sizeof(Accumulator) == sizeof(double)) {
        if (is_own_type(block)) {
          panels = pack_own_type<double>(block, first, width, steps_follow, pairs, reinterpret_cast<double*>(out));
        }
      }
      if (panels > 0) continue;
      panels = 1;
      if (block.row_count - first < width) std::fill_n(out, 2 * width * block.step_count, T(0));
      PanelRows const panel(block, first, width, steps_follow);
      visit_numbers(block, panel, [&](std::int64_t i, std::int64_t p, Accumulator const& z) {
        out[2 * (p * width + i)] = z.real();
        out[2 * (p * width + i) + 1] = z.imag();
      });
    }
  }

  void multiply(std::int64_t steps, T const* a, T const* b, bool conj_b, T* tile) const {
    kernels.complex_micro.multiply(steps, a, b, tile);
    if (!conj_b) return;
    for (auto* im = imaginary(tile); im < tile + 2 * mr() * nr(); ++im) *im = -*im;
  }
  void multiply_into(std::int64_t steps, T const* a, T const* b, bool first, Accumulator const&, T* d,
                     std::int64_t const* columns) const {
    kernels.complex_micro.multiply_into(steps, a, b, first, d, columns);
  }
  void add(T const* d, std::int64_t const* d_columns, std::int64_t rows, std::int64_t columns, T* tile) const {
    for (std::int64_t j = 0; j < columns; ++j) {
      auto* const re = tile + j * mr();
      kernels.complex_parts.add(rows, d + 2 * d_columns[j], re, imaginary(re));
    }
  }
  void keep(T const* tile, std::int64_t rows, std::int64_t columns, T* d, std::int64_t const* d_columns) const {
    join(tile, nullptr, rows, columns, d, d_columns);
  }
  void join(T const* tile, T const* alpha, std::int64_t rows, std::int64_t columns, T* d,
            std::int64_t const* d_columns) const {
    for (std::int64_t j = 0; j < columns; ++j) {
      auto const* const re = tile + j * mr();
      kernels.complex_parts.join(rows, alpha, re, imaginary(re), d + 2 * d_columns[j]);
    }
  }
  Accumulator const* line(T const* tile, std::int64_t at, std::int64_t count, Accumulator* buffer) const {
    for (std::int64_t i = 0; i < count; ++i) buffer[i] = Accumulator(tile[at + i], imaginary(tile)[at + i]);
    return buffer;
  }

  Kernels<T> const& kernels;
  TransposeKernel<double> const& pairs;  // moves pairs of floats

 private:
  template <class Pointer>
  Pointer imaginary(Pointer re) const {
    return re + mr() * nr();
  }

  static bool is_own_type(Block const& block) { return block.type == numeric::kDTypeOf<Accumulator>; }

  // Calls put(p, row) with the contiguous rows of step p, if rows or steps of k are contiguous.
  template <class Put>
  bool visit_steps(Block const& block, PanelRows const& panel, std::int64_t width, Put const& put) const {
    auto const* const data = static_cast<T const*>(block.data);
    if (panel.follow()) {
      constexpr std::int64_t kStepsAhead = 8;
      for (std::int64_t p = 0; p < block.step_count; ++p) {
        if (p + kStepsAhead < block.step_count) {
          auto const* const ahead =
              reinterpret_cast<char const*>(data + 2 * (panel.rows[0] + block.steps[p + kStepsAhead]));
          for (std::int64_t i = 0; i < panel.count * 2 * std::int64_t{sizeof(T)}; i += 64) {
            __builtin_prefetch(ahead + i);
          }
        }
        put(p, data + 2 * (panel.rows[0] + block.steps[p]));
      }
      return true;
    }
    if constexpr (sizeof(T) == 4) {  // two of them are as many bytes as a double, which moves them
      if (!panel.steps_follow) return false;
      constexpr std::int64_t kSteps = 32;
      alignas(64) double buffer[kSteps * kMostMr + kMostLanes];
      auto const* const numbers = static_cast<double const*>(block.data);
      double const* starts[kMostLanes];
      for (std::int64_t p = 0; p < block.step_count; p += kSteps) {
        auto const steps = std::min(kSteps, block.step_count - p);
        for_lane_groups(width, pairs.lanes, [&](std::int64_t group) {
          for (int lane = 0; lane < pairs.lanes; ++lane) {
            starts[lane] = numbers + panel[group + lane] + block.steps[p];
          }
          pairs.rows(starts, steps, buffer + group, width);
        });
        for (std::int64_t i = 0; i < steps; ++i) put(p + i, reinterpret_cast<T const*>(buffer + i * width));
      }
      return true;
    }
    return false;
  }

  // Calls put(i, p, z) for every element of a panel, as the complex number that is computed in.
  template <class Put>
  static void visit_numbers(Block const& block, PanelRows const& panel, Put const& put) {
    numeric::with_type<factor_types(compute)>(block.type, [&](auto const& sample) {
      using Stored = std::decay_t<decltype(sample)>;
      visit_panel<Stored>(block, panel, [&](std::int64_t i, std::int64_t p, Stored const& x) {
        put(i, p, numeric::convert<Accumulator>(x));
      });
    });
  }
};

}  // namespace cute_py::cpu
