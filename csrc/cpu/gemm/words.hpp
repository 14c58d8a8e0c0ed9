#pragma once

#include "cpu/gemm/panels.hpp"

namespace cute_py::cpu {

// Panels of int8 in words of several steps of k, (width,words,panel):(1,width,width*words).
class WordPanels : public RealTile<std::uint32_t> {
  using T = std::uint32_t;

 public:
  template <Isa isa>
  static WordPanels of() {
    return WordPanels(kernels_of<T, std::min(isa, Isas::widest)>(), word_kernel<isa>());
  }

  WordPanels(Kernels<T> const& kernels_, WordKernel const& words)
      : RealTile{words.micro}, kernels(kernels_), words_(words) {}

  std::int64_t steps_of_scalar() const { return words_.steps; }

  // Is D = sums all that is done? Alpha and beta are doubles.
  bool stores(Geometry const& g, bool is_scaled) const {
    return g.type[Role::d] == DType::i32 && g.is_plain() && !g.reads_c && !is_scaled;
  }
  template <class Finish>
  T alpha(Finish const&) const {
    return 1;
  }
  template <class Finish>
  T beta(Finish const&) const {
    return 0;
  }

  void pack_a(Block const& block, bool, T* packed) const { pack(block, mr(), true, packed); }
  void pack_b(Block const& block, T* packed) const { pack(block, nr(), false, packed); }

  Kernels<T> const& kernels;

 private:
  void pack(Block const& block, std::int64_t width, bool is_a, T* packed) const {
    static constexpr std::int8_t kZeros[kMostMr] = {};
    constexpr std::int64_t kWords = 64;  // of a row, at a time
    bool const steps_follow = are_consecutive(block.steps, block.step_count);
    auto const* const data = static_cast<std::int8_t const*>(block.data);
    auto const lanes = kernels.transpose.lanes;
    auto const words = ceil_div(block.step_count, words_.steps);
    for (std::int64_t first = 0; first < block.row_count; first += width) {
      PanelRows const panel(block, first, width, steps_follow);
      auto* const out = packed + first * words;
      if (panel.follow() && !(steps_follow && panel.count == 1)) {
        if (panel.count < width) std::fill_n(out, width * words, 0);
        for (std::int64_t w = 0; w < words; ++w) {
          std::int8_t const* from[kMostStepsOfWord];
          for (int s = 0; s < words_.steps; ++s) {
            auto const p = w * words_.steps + s;
            from[s] = p < block.step_count ? data + panel.rows[0] + block.steps[p] : kZeros;
          }
          words_.join_steps(panel.count, from, is_a, out + w * width);
        }
        continue;
      }
      alignas(64) T buffer[kMostLanes][kWords];
      T const* starts[kMostLanes];
      for (std::int64_t w = 0; w < words; w += kWords) {
        auto const* const steps = block.steps + w * words_.steps;
        auto const step_count = std::min(kWords * words_.steps, block.step_count - w * words_.steps);
        for_lane_groups(width, lanes, [&](std::int64_t group) {
          for (int lane = 0; lane < lanes; ++lane) {
            auto const* row = data + panel[group + lane];
            std::int8_t gathered[kWords * kMostStepsOfWord];
            if (steps_follow) {
              row += steps[0];
            } else {
              for (std::int64_t p = 0; p < step_count; ++p) gathered[p] = row[steps[p]];
              row = gathered;
            }
            words_.join_row(step_count, row, is_a, buffer[lane]);
            starts[lane] = buffer[lane];
          }
          kernels.transpose.rows(starts, ceil_div(step_count, words_.steps), out + w * width + group, width);
        });
      }
    }
  }

  WordKernel const words_;
};

}  // namespace cute_py::cpu
