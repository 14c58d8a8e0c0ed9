#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/common/params.hpp"
#include "problem/tensor_box.hpp"

namespace cute_py::kernels {

// From a Geometry of one mode in M, N and K, and one or none in L, to the arguments of wgmma_tma_sm90.
template <class Config>
struct WgmmaTmaParams {
  static constexpr int partial_values = 0;
  static constexpr int split_tiles = 1;
  static constexpr int tensors = 2;
  static constexpr int modes = 1;
  static constexpr int modes_l = 1;

  TensorBox boxes[tensors];  // of A and B: (k,mn,l) or (mn,k,l)
  TensorMap maps[tensors];
  typename Config::ProblemShape shape;
  bool repeats_a;  // in each product of the batch
  bool repeats_b;
  Epilogue<typename Config::TE> epilogue;
  Batch batch;
  Grid grid;
  std::int64_t products;

  WgmmaTmaParams(Geometry const& g, Schedule const&)
      : shape(typed_shape<typename Config::ProblemShape>(g)),
        repeats_a(repeats(g, Role::a)),
        repeats_b(repeats(g, Role::b)),
        epilogue(typed_epilogue<Config>(g)),
        batch{ModeMap<3>(g.l, {Role::a, Role::b, Role::d}), ModeMap<4>(g.l, kEpilogueRoles), 0},
        products(g.l.size()) {
    auto const tiles = [](std::int64_t extent, int tile) { return static_cast<unsigned>((extent + tile - 1) / tile); };
    grid = {tiles(g.m.size(), Config::BlkM::value), tiles(g.n.size(), Config::BlkN::value),
            static_cast<unsigned>(std::min(products, kMaxGridL))};
    boxes[0] = box(g, Role::a, g.m, Config::along_a, Config::copy_rows_a, repeats_a);
    boxes[1] = box(g, Role::b, g.n, Config::along_b, Config::copy_rows_b, repeats_b);
  }

  template <class Visit>
  void for_each_tensor(Visit const& visit) {
    visit(maps[0], boxes[0], Role::a);
    visit(maps[1], boxes[1], Role::b);
  }

  void bind(Arguments const& x) {
    using T = typename Config::TE;
    epilogue.alpha = numeric::scalar<T>(x.alpha);
    epilogue.beta = numeric::scalar<T>(x.beta);
    epilogue.scale = numeric::scalar<T>(x.scale);
    for (int i = 0; i < 4; ++i) epilogue.data[i] = x.data[kEpilogueRoles[i]];
  }

  unsigned cluster() const { return 1; }

  template <class Launch>
  void for_each_grid(int, Launch const& launch) {
    for (std::int64_t done = 0; done < products; done += kMaxGridL) {
      Grid part = grid;
      part.l = static_cast<unsigned>(std::min(products - done, kMaxGridL));
      batch.first = static_cast<std::uint32_t>(done);
      launch(part);
    }
  }

  template <class Call>
  decltype(auto) apply(Call const& call) const {
    return call(shape, maps[0], maps[1], repeats_a, repeats_b, epilogue, batch);
  }

 private:
  static bool repeats(Geometry const& g, Role role) { return g.l.rank() == 0 || g.l[0].stride[role] == 0; }

  static TensorBox box(Geometry const& g, Role role, Modes const& mn, Major major, int rows, bool repeats) {
    constexpr int kSteps = Config::BlkK::value;
    bool const k_major = major == Major::k;
    TensorBox made;
    made.type = g.type[role];
    made.rank = 3;
    made.set(k_major ? 0 : 1, g.k, 0, role, kSteps);
    made.set(k_major ? 1 : 0, mn, 0, role, rows);
    made.set(2, repeats ? Modes() : g.l, 0, role, 1);
    return made;
  }
};

}  // namespace cute_py::kernels
