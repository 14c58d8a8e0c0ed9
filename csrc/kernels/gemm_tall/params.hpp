#pragma once

#include "kernels/common/params.hpp"
#include "kernels/gemm_tall/config.hpp"

namespace cute_py::kernels {

// The arguments of gemm_tall: its shape says how tiles are cut out of M.
template <class Config>
struct TallParams : GemmParams<Config> {
  TallParams(Geometry const& g, Schedule const&) : TallParams(with_coalesced_m(g)) {}

 private:
  explicit TallParams(Geometry const& g) : TallParams(g, TallPlan(g, Config::limits)) {}

  TallParams(Geometry const& g, TallPlan const& plan) : GemmParams<Config>(g, shape_of(g, plan)) {
    this->products = g.l.size();
    this->grid = {static_cast<unsigned>(plan.tiles() * this->shape.column_blocks.divisor), 1,
                  static_cast<unsigned>(std::min(this->products, kMaxGridL))};
  }

  static TallShape shape_of(Geometry const& g, TallPlan const& plan) {
    TallShape shape{};
    shape.n = static_cast<int>(g.n.size());
    shape.k = static_cast<int>(g.k.size());
    shape.rows = static_cast<int>(plan.rows());
    shape.tiled = plan.tiled_modes();
    for (auto const& x : plan.modes()) {
      auto& mode = shape.mode[shape.rank++];
      mode.tiles = Divisor(static_cast<std::uint32_t>(x.tiles()));
      mode.part = Divisor(static_cast<std::uint32_t>(x.tile));
      mode.extent = static_cast<int>(x.extent);
      mode.stride_a = x.a;
      for (int i = 0; i < 4; ++i) mode.stride[i] = g.m[x.number].stride[kEpilogueRoles[i]];
      mode.place = static_cast<int>(x.place);
    }
    int count = 0;
    for (int const number : plan.by_d()) shape.by_d[count++] = number;
    constexpr int kBlkN = Config::BlkN::value;
    shape.column_blocks = Divisor(static_cast<std::uint32_t>((shape.n + kBlkN - 1) / kBlkN));
    shape.along_n = shortest_stride(g.n, Role::d) < shortest_stride(g.m, Role::d);
    OperandModes const d{g, Role::d};
    auto const vector = 16 / bytes_of(d.type());
    shape.in_vectors = lies_in_vectors(d, Major::k) && shape.n % std::min(vector, Config::columns_at_once) == 0;
    return shape;
  }
};

}  // namespace cute_py::kernels
