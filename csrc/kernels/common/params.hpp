#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <cute/tensor.hpp>

#include "kernels/common/epilogue.cuh"
#include "kernels/common/operand.hpp"
#include "kernels/common/reduce_global.cuh"
#include "problem/entry.hpp"

// From the plain values of a Geometry to the typed arguments of the kernels with one CTA per tile of C.
namespace cute_py::kernels {

// The strides of the modes of one group, as a CuTe stride with as many modes. Modes that the group lacks have one
// element: their stride is 0. A static stride is what the legality check has seen.
template <class T>
T typed_stride(Modes const& modes, Role role) {
  auto const stride = [&](int mode) { return mode < modes.rank() ? modes[mode].stride[role] : 0; };
  if constexpr (cute::is_static<T>::value) {
    return T{};
  } else if constexpr (cute::is_tuple<T>::value) {
    static_assert(cute::tuple_size<T>::value == 2);
    return {stride(0), stride(1)};
  } else {
    return stride(0);
  }
}

// The strides of an operand (M,K) or (N,K), or of D.
template <class Stride>
Stride typed_strides(OperandModes const& x) {
  if constexpr (std::is_base_of_v<NestedStride, Stride>) {
    return Stride::of(x);
  } else {
    return {typed_stride<cute::tuple_element_t<0, Stride>>(x.mn(), x.role),
            typed_stride<cute::tuple_element_t<1, Stride>>(x.k(), x.role)};
  }
}

// (M,N,K), each as one number or as a tuple of its modes.
template <class Shape>
Shape typed_shape(Geometry const& g) {
  auto const n = static_cast<int>(g.n.size());
  auto const k = static_cast<int>(g.k.size());
  if constexpr (cute::is_tuple<cute::tuple_element_t<0, Shape>>::value) {
    auto const extent = [&](int i) { return i < g.m.rank() ? static_cast<int>(g.m[i].extent) : 1; };
    return {cute::make_shape(extent(0), extent(1)), n, k};
  } else {
    return {static_cast<int>(g.m.size()), n, k};
  }
}

template <class Pointer>
Pointer typed_pointer(OperandModes const& x) {
  if constexpr (std::is_pointer_v<Pointer>) {
    return nullptr;
  } else {
    return {nullptr, x.type(), x.conjugate()};
  }
}

template <class Pointer>
void point(Pointer& pointer, void* data) {
  if constexpr (std::is_pointer_v<Pointer>) {
    pointer = static_cast<Pointer>(data);
  } else {
    pointer.data = data;
  }
}

// The arrays that an epilogue reads and writes, in the order of EpilogueArray.
inline constexpr Role kEpilogueRoles[4] = {Role::c, Role::d, Role::bias, Role::residual};

template <class Config>
Epilogue<typename Config::TE> typed_epilogue(Geometry const& g) {
  using T = typename Config::TE;
  Epilogue<T> e{};
  e.is_plain = g.is_plain() && (!g.reads_c || g.c_is_d);
  e.in_place = e.is_plain && g.type[Role::d] == numeric::kDTypeOf<T> && std::is_same_v<T, typename Config::TC>;
  e.reads_c = g.reads_c;
  e.has_bias = g.has_bias;
  e.has_residual = g.has_residual;
  e.saturate = g.saturate;
  e.activation = g.activation;
  OperandModes const d{g, Role::d};
  auto const in_vectors = [&](Major major, Modes const& modes) {
    auto const access = access_along(d, major);
    return access.whole && access.bytes == 16 && modes.size() * bytes_of(d.type()) % 16 == 0;
  };
  bool const along_m = in_vectors(Major::mn, g.m);
  bool const along_n = in_vectors(Major::k, g.n);
  e.along_n = along_m == along_n ? shortest_stride(g.n, Role::d) < shortest_stride(g.m, Role::d) : along_n;
  e.run = along_m || along_n ? 16 / bytes_of(d.type()) : 1;
  e.m = ModeMap<4>(g.m, kEpilogueRoles);
  e.n = ModeMap<4>(g.n, kEpilogueRoles);
  for (int i = 0; i < 4; ++i) e.type[i] = g.has(kEpilogueRoles[i]) ? g.type[kEpilogueRoles[i]] : DType::f32;
  return e;
}

struct Grid {
  unsigned m = 1;
  unsigned n = 1;
  unsigned l = 1;
};

// The most products of a batch in one launch.
inline constexpr std::int64_t kMaxGridL = 65535;

// The arguments of a kernel, and its grid. A family whose kernels take other arguments has a type of its own with the
// same functions.
template <class Config>
struct GemmParams {
  static constexpr int partial_values = 0;  // partial sums that a thread leaves to another CTA: no split-K
  static constexpr int split_tiles = 1;

  typename Config::ProblemShape shape;
  typename Config::PointerA a;
  typename Config::StrideA stride_a;
  typename Config::PointerB b;
  typename Config::StrideB stride_b;
  typename Config::TC* d = nullptr;
  typename Config::StrideC stride_d;
  Epilogue<typename Config::TE> epilogue;
  Batch batch;
  Grid grid;                  // of all products
  std::int64_t products = 0;  // of the batch; more than kMaxGridL take several launches

  // All but the arrays and the numbers of a call.
  GemmParams(Geometry const& g, Schedule const&) : GemmParams(g, typed_shape<typename Config::ProblemShape>(g)) {
    constexpr int kTileN = cute::size<1>(typename Config::CtaTiler{});
    products = g.l.size();
    grid = {static_cast<unsigned>(tiles_m(g)), static_cast<unsigned>((g.n.size() + kTileN - 1) / kTileN),
            static_cast<unsigned>(std::min(products, kMaxGridL))};
  }

  void bind(Arguments const& x) {
    using T = typename Config::TE;
    point(a, x.data[Role::a]);
    point(b, x.data[Role::b]);
    d = static_cast<typename Config::TC*>(x.data[Role::d]);
    epilogue.alpha = numeric::scalar<T>(x.alpha);
    epilogue.beta = numeric::scalar<T>(x.beta);
    epilogue.scale = numeric::scalar<T>(x.scale);
    for (int i = 0; i < 4; ++i) epilogue.data[i] = x.data[kEpilogueRoles[i]];
  }

  // Calls launch(grid) for each launch, with `batch` set to its products.
  template <class Launch>
  void for_each_grid(Launch const& launch) {
    Grid part = grid;
    launch(part);
    for (std::int64_t done = kMaxGridL; done < products; done += kMaxGridL) {
      part.l = static_cast<unsigned>(std::min(products - done, kMaxGridL));
      batch.first = static_cast<std::uint32_t>(done);
      launch(part);
    }
  }

  // Calls call(arguments...) with the arguments of the kernel.
  template <class Call>
  decltype(auto) apply(Call const& call) const {
    return call(shape, a, stride_a, b, stride_b, d, stride_d, epilogue, batch);
  }

 protected:
  GemmParams(Geometry const& g, typename Config::ProblemShape const& problem_shape)
      : shape(problem_shape),
        a(typed_pointer<typename Config::PointerA>({g, Role::a})),
        stride_a(typed_strides<typename Config::StrideA>({g, Role::a})),
        b(typed_pointer<typename Config::PointerB>({g, Role::b})),
        stride_b(typed_strides<typename Config::StrideB>({g, Role::b})),
        stride_d(typed_strides<typename Config::StrideC>({g, Role::d})),
        epilogue(typed_epilogue<Config>(g)),
        batch{ModeMap<3>(g.l, {Role::a, Role::b, Role::d}), ModeMap<4>(g.l, kEpilogueRoles), 0} {}

 private:
  // CTAs along M: of each mode, if its tiles have several.
  static std::int64_t tiles_m(Geometry const& g) {
    using BlkM = cute::tuple_element_t<0, typename Config::CtaTiler>;
    auto const tiles = [](std::int64_t extent, int tile) { return (extent + tile - 1) / tile; };
    if constexpr (cute::is_tuple<BlkM>::value) {
      auto const extent = [&](int i) { return i < g.m.rank() ? g.m[i].extent : 1; };
      return tiles(extent(0), cute::size<0>(BlkM{})) * tiles(extent(1), cute::size<1>(BlkM{}));
    } else {
      return tiles(g.m.size(), BlkM::value);
    }
  }
};

// A split of K may begin with any tile of K, but with tables of offsets only with every fourth: see GatheredOperands.
template <class Config, class = void>
inline constexpr int kSplitTiles = 1;
template <class Config>
inline constexpr int kSplitTiles<Config, std::void_t<decltype(Config::OffsetsA::chunk)>> = kTilesPerSplit;

// The accumulators of a thread, where the threads of a CTA share the tile of C.
template <class Config>
inline constexpr int kSumsOfThread =
    cute::size<0>(typename Config::CtaTiler{}) * cute::size<1>(typename Config::CtaTiler{}) / Config::threads;

// The arguments of a kernel with split-K.
template <class Config, int sums = kSumsOfThread<Config>>
struct SplitKParams : GemmParams<Config> {
  static constexpr int partial_values = sums;
  static constexpr int split_tiles = kSplitTiles<Config>;

  SplitK split_k;
  std::int64_t counter_bytes = 0;

  SplitKParams(Geometry const& g, Schedule const& schedule) : GemmParams<Config>(g, schedule) {
    split_k.grid_m = this->grid.m;
    split_k.grid_n = this->grid.n;
    if (!schedule.has_split_k()) return;
    split_k.count = Divisor(static_cast<std::uint32_t>(schedule.split_k));
    split_k.tiles = static_cast<int>(schedule.k_tiles);
    counter_bytes = schedule.counter_bytes;
  }

  void bind(Arguments const& x) {
    GemmParams<Config>::bind(x);
    split_k.counters = {static_cast<ArrivalCounters::Word*>(x.split_k_workspace), x.launch};
    split_k.partials = static_cast<char*>(x.split_k_workspace) + counter_bytes;
  }

  template <class Launch>
  void for_each_grid(Launch const& launch) {
    std::int64_t const count = split_k.count.divisor;
    std::int64_t const most = kMaxGridL / count;  // products of a launch
    for (std::int64_t done = 0; done < this->products; done += most) {
      Grid part = this->grid;
      part.l = static_cast<unsigned>(std::min(this->products - done, most) * count);
      this->batch.first = static_cast<std::uint32_t>(done);
      launch(part);
    }
  }

  template <class Call>
  decltype(auto) apply(Call const& call) const {
    return GemmParams<Config>::apply([&](auto const&... x) { return call(x..., split_k); });
  }
};

}  // namespace cute_py::kernels
