#pragma once

#include <type_traits>

#include <cutlass/tfloat32.h>

#include "cpu/gemm/panels.hpp"

namespace cute_py::cpu {

// Real panels (width,k,panel):(1,width,width*k). Contiguous rows or steps of k are moved by vectors; other
// types than that which is computed in are converted on the way, float16 and bfloat16 by vectors, too.
template <Compute compute>
class RealPanels : public RealTile<typename Arithmetic<compute>::Scalar> {
  using Scalar = typename Arithmetic<compute>::Scalar;
  using Base = RealTile<Scalar>;

 public:
  template <Isa isa>
  static RealPanels of() {
    return RealPanels(kernels_of<Scalar, isa>());
  }

  explicit RealPanels(Kernels<Scalar> const& kernels_) : Base{kernels_.micro}, kernels(kernels_) {}

  std::int64_t steps_of_scalar() const { return 1; }

  // Is D = alpha * sums + beta * C all that is done, in one type?
  bool stores(Geometry const& g, bool) const {
    auto const type = g.type[Role::d];
    return type == numeric::kDTypeOf<Scalar> && (!g.reads_c || g.type[Role::c] == type) && g.is_plain();
  }
  template <class Finish>
  Scalar alpha(Finish const& finish) const {
    return finish.alpha();
  }
  template <class Finish>
  Scalar beta(Finish const& finish) const {
    return finish.beta();
  }

  void pack_a(Block const& block, bool, Scalar* packed) const { pack(block, this->mr(), packed); }
  void pack_b(Block const& block, Scalar* packed) const { pack(block, this->nr(), packed); }

  Kernels<Scalar> const& kernels;

 private:
  void pack(Block const& block, std::int64_t width, Scalar* packed) const {
    bool const steps_follow = are_consecutive(block.steps, block.step_count);
    bool const is_own_type = compute != Compute::tf32 && block.type == numeric::kDTypeOf<Scalar>;
    std::int64_t panels = 1;
    for (std::int64_t first = 0; first < block.row_count; first += panels * width) {
      Scalar* const out = packed + first * block.step_count;
      panels = is_own_type ? pack_own_type<Scalar>(block, first, width, steps_follow, kernels.transpose, out) : 0;
      if constexpr (compute == Compute::f32) {
        if (panels == 0) panels = pack_halves(block, first, width, steps_follow, out);
      }
      if (panels > 0) continue;
      panels = 1;
      if (block.row_count - first < width) std::fill_n(out, width * block.step_count, Scalar(0));
      numeric::with_type<factor_types(compute)>(block.type, [&](auto const& sample) {
        using Stored = std::decay_t<decltype(sample)>;
        PanelRows const panel(block, first, width, steps_follow);
        visit_panel<Stored>(
            block, panel, [&](std::int64_t i, std::int64_t p, Stored const& x) { out[p * width + i] = converted(x); });
      });
    }
  }

  template <class Stored>
  static Scalar converted(Stored const& x) {
    if constexpr (compute == Compute::tf32) {
      return static_cast<float>(cutlass::tfloat32_t(numeric::convert<float>(x)));
    } else {
      return numeric::convert<Scalar>(x);
    }
  }

  // 16-bit numbers: some steps are widened before they are copied, or transposed.
  std::int64_t pack_halves(Block const& block, std::int64_t first, std::int64_t width, bool steps_follow,
                           float* out) const {
    if (block.type != DType::f16 && block.type != DType::bf16) return 0;
    TransposeKernel<float> const& kernel = kernels.transpose;
    auto const* const data = static_cast<std::uint16_t const*>(block.data);
    PanelRows const panel(block, first, width, steps_follow);
    if (auto const panels = panels_to_copy<float>(block, first, width); panels > 0) {
      constexpr std::int64_t kSteps = 16;
      constexpr std::int64_t kStepsAhead = 8;
      constexpr std::int64_t kMostRows = 128;
      alignas(64) float buffer[kSteps * kMostRows];
      std::int64_t places[kSteps];
      for (std::int64_t p = 0; p < block.step_count; p += kSteps) {
        auto const steps = std::min(kSteps, block.step_count - p);
        for (std::int64_t i = 0; i < steps; ++i) {
          auto const* const from = data + panel.rows[0];
          if (p + i + kStepsAhead < block.step_count) {
            auto const* const ahead = reinterpret_cast<char const*>(from + block.steps[p + i + kStepsAhead]);
            for (std::int64_t byte = 0; byte < 2 * panels * width; byte += 64) __builtin_prefetch(ahead + byte);
          }
          places[i] = i * panels * width;
          kernels.convert.widen(block.type, panels * width, from + block.steps[p + i], buffer + places[i]);
        }
        kernel.panels(width, panels, steps, buffer, places, out + p * width, width * block.step_count);
      }
      return panels;
    }
    if (!steps_follow || width < kernel.lanes / 2) return 0;
    constexpr std::int64_t kSteps = 64;
    alignas(64) float buffer[kMostLanes][kSteps];
    float const* starts[kMostLanes];
    for (std::int64_t p = 0; p < block.step_count; p += kSteps) {
      auto const steps = std::min(kSteps, block.step_count - p);
      for_lane_groups(width, kernel.lanes, [&](std::int64_t group) {
        for (int lane = 0; lane < kernel.lanes; ++lane) {
          kernels.convert.widen(block.type, steps, data + panel[group + lane] + block.steps[p], buffer[lane]);
          starts[lane] = buffer[lane];
        }
        kernel.rows(starts, steps, out + p * width + group, width);
      });
    }
    return 1;
  }
};

}  // namespace cute_py::cpu
