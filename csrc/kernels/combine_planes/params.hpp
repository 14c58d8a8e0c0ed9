#pragma once

#include "kernels/combine_planes/config.hpp"
#include "kernels/common/params.hpp"

namespace cute_py::kernels {

// The arguments of combine_planes: of the product itself, whose residues, or planes, were multiplied.
template <class Config>
struct CombineParams {
  static constexpr int partial_values = 0;
  static constexpr int split_tiles = 1;
  using Number = typename Config::Number;

  CombineShape shape{};
  Number const* a = nullptr;
  Number const* b = nullptr;
  std::int8_t const* residues = nullptr;
  int const* exponents[2] = {nullptr, nullptr};
  Epilogue<Number> epilogue;
  Batch batch;
  Grid grid;

  CombineParams(Geometry const& g, Schedule const&)
      : epilogue(typed_epilogue<Config>(g)),
        batch{ModeMap<3>(g.l, {Role::a, Role::b, Role::d}), ModeMap<4>(g.l, kEpilogueRoles), 0} {
    shape.a = {ModeMap<1>(g.m, {Role::a}), ModeMap<1>(g.k, {Role::a}), g.conj_a};
    shape.b = {ModeMap<1>(g.n, {Role::b}), ModeMap<1>(g.k, {Role::b}), g.conj_b};
    shape.rows = Divisor(static_cast<std::uint32_t>(std::max<std::int64_t>(g.m.size(), 1)));
    shape.all_rows = static_cast<int>(g.m.size() * g.l.size());
    shape.columns = static_cast<int>(g.n.size());
    shape.steps = static_cast<int>(g.k.size());
    shape.line = residue_line(g.n.size());
    shape.plane = shape.line * shape.all_rows;
    shape.planes = g.planes;
    shape.in_vectors = epilogue.is_plain && !epilogue.reads_c && epilogue.along_n && epilogue.run == Config::columns &&
                       g.type[Role::d] == numeric::kDTypeOf<Number>;
    if (g.planes.has_residues()) shape.reconstruction = reconstruction_of(g.planes, Config::limbs);
    shape.columns_of_cta = g.planes.has_residues() ? Config::columns_at_once : Config::most_columns;
    auto const blocks = (shape.columns + shape.columns_of_cta - 1) / shape.columns_of_cta;
    shape.blocks = Divisor(static_cast<std::uint32_t>(std::max(blocks, 1)));
    grid.m = static_cast<unsigned>((shape.all_rows + Config::rows_of_cta - 1) / Config::rows_of_cta * blocks);
  }

  void bind(Arguments const& x) {
    a = static_cast<Number const*>(x.data[Role::a]);
    b = static_cast<Number const*>(x.data[Role::b]);
    residues = static_cast<std::int8_t const*>(x.residues);
    for (int i = 0; i < 2; ++i) exponents[i] = x.exponents[i];
    epilogue.alpha = numeric::scalar<Number>(x.alpha);
    epilogue.beta = numeric::scalar<Number>(x.beta);
    epilogue.scale = numeric::scalar<Number>(x.scale);
    for (int i = 0; i < 4; ++i) epilogue.data[i] = x.data[kEpilogueRoles[i]];
  }

  unsigned cluster() const { return 1; }
  void forgo_clusters() {}

  template <class Launch>
  void for_each_grid(Launch const& launch) {
    launch(grid);
  }

  template <class Call>
  decltype(auto) apply(Call const& call) const {
    return call(shape, a, b, residues, exponents[0], exponents[1], epilogue, batch);
  }
};

}  // namespace cute_py::kernels
