#pragma once

#include <algorithm>
#include <cstdint>

#include <cute/tensor.hpp>

#include "catalogue/gemm_small.hpp"
#include "catalogue/operand.hpp"
#include "kernels/epilogue.cuh"
#include "problem/entry.hpp"

// From the plain values of a Problem to the typed arguments of a kernel, and from a Config to the Traits of an entry.
namespace cute_py::instances {

using catalogue::Batch;
using catalogue::ConvertingPointer;
using catalogue::Form;
using catalogue::ModeMap;
using catalogue::NestedStride;

// The strides of the modes of one group, as a CuTe stride with as many modes. Modes that the group lacks have one
// element: their stride is 0. A static stride is what the legality check has seen.
template <class T>
T typed_stride(std::int64_t const* stride, int rank) {
  if constexpr (cute::is_static<T>::value) {
    return T{};
  } else if constexpr (cute::is_tuple<T>::value) {
    static_assert(cute::tuple_size<T>::value == 2);
    return {rank > 0 ? stride[0] : 0, rank > 1 ? stride[1] : 0};
  } else {
    return rank > 0 ? stride[0] : 0;
  }
}

// Do the elements of an array lie in vectors of 16 bytes along the first mode of its first or second group?
inline bool lies_in_vectors(Array const& array, Major major, Modes const& first, Modes const& second, Modes const& l) {
  Modes const* const groups[] = {&first, &second, &l};
  int const fast = major == Major::mn ? 0 : 1;
  std::int64_t const elements = 16 / bytes_of(array.type);
  if (reinterpret_cast<std::uintptr_t>(array.data) % 16 != 0 || groups[fast]->rank == 0) return false;
  if (array.stride[fast][0] != 1 || groups[fast]->extent[0] % elements != 0) return false;
  for (int group = 0; group < 3; ++group) {
    for (int i = group == fast ? 1 : 0; i < groups[group]->rank; ++i) {
      if (array.stride[group][i] % elements != 0) return false;
    }
  }
  return true;
}

// The strides of an operand (M,K,L) or (N,K,L), or of C.
template <class Stride>
Stride typed_strides(Array const& array, Modes const& first, Modes const& second, Modes const& l, bool conjugate) {
  if constexpr (std::is_base_of_v<NestedStride, Stride> && !std::is_same_v<NestedStride, Stride>) {
    return {typed_strides<NestedStride>(array, first, second, l, conjugate),
            lies_in_vectors(array, Stride::along, first, second, l)};
  } else if constexpr (std::is_same_v<Stride, NestedStride>) {
    auto const shortest = [&](int group, Modes const& modes) {
      std::int64_t best = std::numeric_limits<std::int64_t>::max();
      for (int i = 0; i < modes.rank; ++i) {
        auto const length = array.stride[group][i] < 0 ? -array.stride[group][i] : array.stride[group][i];
        if (length != 0) best = std::min(best, length);
      }
      return best;
    };
    return {ModeMap<1>(first, {array.stride[0]}), ModeMap<1>(second, {array.stride[1]}), array.type, conjugate,
            shortest(1, second) < shortest(0, first)};
  } else {
    return {typed_stride<cute::tuple_element_t<0, Stride>>(array.stride[0], first.rank),
            typed_stride<cute::tuple_element_t<1, Stride>>(array.stride[1], second.rank)};
  }
}

// Of an operand of small products, which have one mode in each group but L.
inline catalogue::SmallOperand small_operand(Array const& array, Modes const& mn, Modes const& k, Modes const& l,
                                             bool conjugate) {
  catalogue::SmallOperand operand{};
  auto const length = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  operand.k_major = k.rank > 0 && (mn.rank == 0 || length(array.stride[1][0]) < length(array.stride[0][0]));
  operand.vectors = lies_in_vectors(array, operand.k_major ? Major::k : Major::mn, mn, k, l);
  int const slow = operand.k_major ? 0 : 1;
  auto const inner = operand.k_major ? k.size() : mn.size();
  auto const lines = operand.k_major ? mn.size() : k.size();
  operand.packed = operand.vectors && (lines == 1 || array.stride[slow][0] == inner) &&
                   (l.rank == 0 || (l.rank == 1 && array.stride[2][0] == inner * lines));
  operand.conjugate = conjugate;
  return operand;
}

// Are four neighbouring rows of D whole vectors, wherever the first has a number that 4 divides?
inline bool has_rows_in_fours(Problem const& p) {
  if (p.m.rank != 1 || p.m.extent[0] % 4 != 0 || p.d.stride[0][0] != 1) return false;
  if (reinterpret_cast<std::uintptr_t>(p.d.data) % std::min(16, 4 * bytes_of(p.d.type)) != 0) return false;
  auto const in_fours = [](std::int64_t stride) { return stride % 4 == 0; };
  return std::all_of(p.d.stride[1], p.d.stride[1] + p.n.rank, in_fours) &&
         std::all_of(p.d.stride[2], p.d.stride[2] + p.l.rank, in_fours);
}

// (M,N,K), each as one number or as a tuple of its modes.
template <class Config>
typename Config::ProblemShape typed_shape(Problem const& p) {
  using Shape = typename Config::ProblemShape;
  auto const n = static_cast<int>(p.n.size());
  auto const k = static_cast<int>(p.k.size());
  if constexpr (std::is_same_v<Shape, catalogue::SmallShape>) {
    Shape shape{};
    shape.m = static_cast<int>(p.m.size());
    shape.n = n;
    shape.k = k;
    shape.products = static_cast<int>(p.l.size());
    shape.a = small_operand(p.a, p.m, p.k, p.l, p.conj_a);
    shape.b = small_operand(p.b, p.n, p.k, p.l, p.conj_b);
    shape.rows_in_fours = has_rows_in_fours(p);
    Config::share_out(shape);
    return shape;
  } else if constexpr (cute::is_tuple<cute::tuple_element_t<0, Shape>>::value) {
    auto const extent = [&](int i) { return i < p.m.rank ? static_cast<int>(p.m.extent[i]) : 1; };
    return {cute::make_shape(extent(0), extent(1)), n, k};
  } else {
    return {static_cast<int>(p.m.size()), n, k};
  }
}

template <class Pointer>
Pointer typed_pointer(Array const& array, bool conjugate) {
  if constexpr (std::is_pointer_v<Pointer>) {
    return static_cast<Pointer>(array.data);
  } else {
    return {array.data, array.type, conjugate};
  }
}

// The arrays that an epilogue reads and writes, in the order of kernels::EpilogueArray; null where there is none.
struct EpilogueArrays {
  Array const* array[4];

  explicit EpilogueArrays(Problem const& p)
      : array{p.reads_c() ? &p.c : nullptr, &p.d, p.epilogue.bias.data != nullptr ? &p.epilogue.bias : nullptr,
              p.epilogue.residual.data != nullptr ? &p.epilogue.residual : nullptr} {}

  std::int64_t const* stride(int i, int group) const { return array[i] == nullptr ? nullptr : array[i]->stride[group]; }

  ModeMap<4> modes(Modes const& modes, int group) const {
    return ModeMap<4>(modes, {stride(0, group), stride(1, group), stride(2, group), stride(3, group)});
  }
};

template <class Config>
kernels::Epilogue<typename Config::TE> typed_epilogue(Problem const& p) {
  using T = typename Config::TE;
  EpilogueArrays const arrays(p);
  auto const same_place = [&] {
    if (p.c.data != p.d.data || p.c.type != p.d.type) return false;
    Modes const* const groups[] = {&p.m, &p.n, &p.l};
    for (int group = 0; group < 3; ++group) {
      if (!std::equal(p.c.stride[group], p.c.stride[group] + groups[group]->rank, p.d.stride[group])) return false;
    }
    return true;
  };
  kernels::Epilogue<T> e{};
  e.alpha = numeric::scalar<T>(p.alpha);
  e.beta = numeric::scalar<T>(p.beta);
  e.is_plain = p.epilogue.is_plain() && (!p.reads_c() || same_place());
  e.in_place = e.is_plain && p.d.type == numeric::kDTypeOf<T> && std::is_same_v<T, typename Config::TC>;
  e.reads_c = arrays.array[kernels::kEpilogueC] != nullptr;
  e.has_bias = arrays.array[kernels::kEpilogueBias] != nullptr;
  e.has_residual = arrays.array[kernels::kEpilogueResidual] != nullptr;
  e.saturate = p.epilogue.saturate;
  e.activation = p.epilogue.activation;
  e.scale = numeric::scalar<T>(p.epilogue.scale);
  e.m = arrays.modes(p.m, 0);
  e.n = arrays.modes(p.n, 1);
  for (int i = 0; i < 4; ++i) {
    e.data[i] = arrays.array[i] != nullptr ? arrays.array[i]->data : nullptr;
    e.type[i] = arrays.array[i] != nullptr ? arrays.array[i]->type : DType::f32;
  }
  return e;
}

inline Batch typed_batch(Problem const& p, std::uint32_t first) {
  EpilogueArrays const arrays(p);
  return {ModeMap<3>(p.l, {p.a.stride[2], p.b.stride[2], p.d.stride[2]}), arrays.modes(p.l, 2), first};
}

// What a kernel is called with.
template <class Config>
struct KernelArguments {
  typename Config::ProblemShape shape;
  typename Config::PointerA a;
  typename Config::StrideA stride_a;
  typename Config::PointerB b;
  typename Config::StrideB stride_b;
  typename Config::TC* d;
  typename Config::StrideC stride_d;
  kernels::Epilogue<typename Config::TE> epilogue;
  Batch batch;

  KernelArguments(Problem const& p, std::uint32_t first_product)
      : shape(typed_shape<Config>(p)),
        a(typed_pointer<typename Config::PointerA>(p.a, p.conj_a)),
        stride_a(typed_strides<typename Config::StrideA>(p.a, p.m, p.k, p.l, p.conj_a)),
        b(typed_pointer<typename Config::PointerB>(p.b, p.conj_b)),
        stride_b(typed_strides<typename Config::StrideB>(p.b, p.n, p.k, p.l, p.conj_b)),
        d(static_cast<typename Config::TC*>(p.d.data)),
        stride_d(typed_strides<typename Config::StrideC>(p.d, p.m, p.n, p.l, false)),
        epilogue(typed_epilogue<Config>(p)),
        batch(typed_batch(p, first_product)) {}
};

struct Grid {
  unsigned m;
  unsigned n;
  unsigned l;
};

// The most products of a batch in one launch.
inline constexpr std::int64_t kMaxGridL = 65535;

// CTAs along M: of each mode, if its tiles have several.
template <class Config>
std::int64_t tiles_m(Problem const& p) {
  using BlkM = cute::tuple_element_t<0, typename Config::CtaTiler>;
  auto const tiles = [](std::int64_t extent, int tile) { return (extent + tile - 1) / tile; };
  if constexpr (cute::is_tuple<BlkM>::value) {
    auto const extent = [&](int i) { return i < p.m.rank ? p.m.extent[i] : 1; };
    return tiles(extent(0), cute::size<0>(BlkM{})) * tiles(extent(1), cute::size<1>(BlkM{}));
  } else {
    return tiles(p.m.size(), BlkM::value);
  }
}

// One CTA per tile of C, or per some small products. A larger batch takes several grids: calls launch(grid, first
// product) for each.
template <class Config, class Launch>
void for_each_grid(Problem const& p, Launch const& launch) {
  auto const products = p.l.size();
  if constexpr (std::is_same_v<typename Config::ProblemShape, catalogue::SmallShape>) {
    auto const shape = typed_shape<Config>(p);
    auto const of_cta = static_cast<std::int64_t>(shape.together) * shape.batches;
    launch(Grid{static_cast<unsigned>((products + of_cta - 1) / of_cta), 1, 1}, 0u);
  } else {
    constexpr int blk_n = cute::size<1>(typename Config::CtaTiler{});
    for (std::int64_t first = 0; first < products; first += kMaxGridL) {
      launch(Grid{static_cast<unsigned>(tiles_m<Config>(p)), static_cast<unsigned>((p.n.size() + blk_n - 1) / blk_n),
                  static_cast<unsigned>(std::min(products - first, kMaxGridL))},
             static_cast<std::uint32_t>(first));
    }
  }
}

// What the products of a Config are formed and summed in.
template <class Config>
constexpr Compute compute_of() {
  if (std::is_same_v<typename Config::TA, cutlass::tfloat32_t>) return Compute::tf32;
  switch (numeric::kDTypeOf<typename Config::TC>) {
    case DType::f64:
      return Compute::f64;
    case DType::c64:
      return Compute::c64;
    case DType::c128:
      return Compute::c128;
    case DType::i32:
      return Compute::i32;
    default:
      return Compute::f32;
  }
}

template <class Config>
constexpr Traits traits_of(char const* name, char const* kernel, char const* layout, Target target, Major major_a,
                           Major major_b) {
  using Tiler = typename Config::CtaTiler;
  using T = typename Config::TC;
  constexpr Compute compute = compute_of<Config>();
  Traits t{};
  t.name = name;
  t.kernel = kernel;
  t.layout = layout;
  t.target = target;
  t.compute = compute;
  t.factors = Config::converting ? factor_types(compute) : types(numeric::kDTypeOf<typename Config::TA>);
  t.results = result_types(compute);
  t.one_type = !Config::converting;
  t.modes = Config::nested ? kMaxKernelModes : 1;
  t.modes_m = cute::is_same_v<typename Config::StrideA, catalogue::GettStride> ? 2 : t.modes;
  t.most_m = Config::max_rows;
  t.most_n = Config::max_columns;
  t.least_l = Config::min_products;
  t.fuses = Config::fuses;
  t.tile[0] = cute::size<0>(Tiler{});
  t.tile[1] = cute::size<1>(Tiler{});
  t.tile[2] = cute::size<2>(Tiler{});
  t.threads = Config::threads;
  t.stages = Config::stages;
  t.shared_bytes = static_cast<int>(sizeof(typename Config::SharedStorage));
  t.predicated = Config::predicated;
  t.conjugates = !numeric::kIsComplex<T> || Config::converting;
  t.major_a = major_a;
  t.major_b = major_b;
  t.alignment_bytes = Config::alignment_bytes;
  t.element_alignment = Config::converting ? 1 : static_cast<int>(sizeof(typename Config::TA));
  t.compute_capability = Config::compute_capability;
  t.isa = Isa::baseline;
  return t;
}

}  // namespace cute_py::instances
