#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <cute/tensor.hpp>

#include "kernels/common/operand.hpp"
#include "kernels/common/params.hpp"
#include "numeric/types.hpp"
#include "problem/entry.hpp"
#include "problem/tensor_box.hpp"

// Typed lists of what is compiled. A family's lists stand next to its kernel, and nothing else names its variants.
namespace cute_py::kernels {

// Builds, one bit for each: `minimal` is float32 without tensor cores, `standard` what somebody uses on a GPU, `full`
// everything.
using BuildSet = unsigned;
inline constexpr BuildSet kMinimal = 1;
inline constexpr BuildSet kStandard = 2;
inline constexpr BuildSet kFull = 4;
inline constexpr BuildSet kDefault = kStandard | kFull;
inline constexpr BuildSet kAlways = kMinimal | kDefault;

// The one that is being built.
inline constexpr BuildSet kBuilt = CUTE_PY_BUILD_SET;

// What a variant is made for: majorness of A and of B, and the letters that its name has for them.
struct NT {
  static constexpr char const* name = "nt";
  static constexpr char const* letters = name;
  static constexpr Major a = Major::mn;
  static constexpr Major b = Major::mn;
};
struct TN {
  static constexpr char const* name = "tn";
  static constexpr char const* letters = name;
  static constexpr Major a = Major::k;
  static constexpr Major b = Major::k;
};
struct NN {
  static constexpr char const* name = "nn";
  static constexpr char const* letters = name;
  static constexpr Major a = Major::mn;
  static constexpr Major b = Major::k;
};
struct TT {
  static constexpr char const* name = "tt";
  static constexpr char const* letters = name;
  static constexpr Major a = Major::k;
  static constexpr Major b = Major::mn;
};
struct AnyLayout {
  static constexpr char const* name = "any";
  static constexpr char const* letters = "";
  static constexpr Major a = Major::k;
  static constexpr Major b = Major::k;
};

template <class...>
struct List {};

template <class... T>
using Types = List<T...>;
template <class... L>
using Layouts = List<L...>;

// How a row's variants are called: <kernel>_<before>_<layout>_<type>_<tile>_<after>.
struct Named {
  static constexpr char const* before = "";
  static constexpr char const* after = "";
  static constexpr bool by_layout = true;
  static constexpr bool by_type = true;
  static constexpr bool by_tile = false;
};
struct NamedByTile : Named {
  static constexpr bool by_tile = true;
};
struct NamedPredicated : Named {
  static constexpr char const* after = "predicated";
};
struct NamedNested : Named {
  static constexpr char const* before = "nested";
};
struct NamedNestedByTile : NamedNested {
  static constexpr bool by_tile = true;
};
struct NamedResidues : NamedByTile {
  static constexpr char const* after = "residues";
};
// The one variant of its family.
struct NamedAsFamily : Named {
  static constexpr bool by_layout = false;
  static constexpr bool by_type = false;
};

// Variants of one Config: for each type and each layout one, in the builds of `sets_`.
template <template <class, Major, Major, Form> class Config_, Form form_, class Naming_, BuildSet sets_, class Types_,
          class Layouts_>
struct Row {
  template <class T, class Layout>
  using Config = Config_<T, Layout::a, Layout::b, form_>;
  using Naming = Naming_;
  using Types = Types_;
  using Layouts = Layouts_;
  static constexpr Form form = form_;
  static constexpr BuildSet sets = sets_;
};

// A name, put together by the compiler.
struct Name {
  char text[48] = {};
  int length = 0;

  constexpr Name& append(char const* part) {
    if (length != 0 && *part != '\0') text[length++] = '_';
    for (; *part != '\0'; ++part) text[length++] = *part;
    return *this;
  }

  // _<m>x<n>
  constexpr Name& append_tile(int m, int n) {
    text[length++] = '_';
    append_number(m);
    text[length++] = 'x';
    append_number(n);
    return *this;
  }

  // _b<bits>
  constexpr Name& append_bits(int bits) {
    append("b");
    append_number(bits);
    return *this;
  }

 private:
  constexpr void append_number(int x) {
    if (x >= 10) append_number(x / 10);
    text[length++] = static_cast<char>('0' + x % 10);
  }
};

// Is a Config one of a pass over arrays, a step of emulated precision?
template <class Config, class = void>
inline constexpr bool kIsPass = false;
template <class Config>
inline constexpr bool kIsPass<Config, std::enable_if_t<Config::is_pass>> = true;

// Is a Config one of copies?
template <class Config, class = void>
inline constexpr bool kCopies = false;
template <class Config>
inline constexpr bool kCopies<Config, std::enable_if_t<Config::copies>> = true;

template <class Family, class Row, class T, class Layout>
constexpr Name name_of() {
  using Naming = typename Row::Naming;
  using Config = typename Row::template Config<T, Layout>;
  if constexpr (kCopies<Config>) {
    return Name().append(Family::name).append_bits(8 * Config::bytes);
  } else if constexpr (kIsPass<Config>) {
    return Name().append(Family::name).append(numeric::kLettersOf<T>);
  } else {
    using Tiler = typename Config::CtaTiler;
    Name name;
    name.append(Family::name).append(Naming::before).append(Naming::by_layout ? Layout::letters : "");
    name.append(Naming::by_type ? numeric::kLettersOf<T> : "");
    if (Naming::by_tile) name.append_tile(cute::size<0>(Tiler{}), cute::size<1>(Tiler{}));
    return name.append(Naming::after);
  }
}
template <class Family, class Row, class T, class Layout>
inline constexpr Name kNameOf = name_of<Family, Row, T, Layout>();

// A unit that is compiled on demand has the variants whose names are in CUTE_PY_VARIANTS; without it there are all.
constexpr bool is_wanted(Name const& name) {
#ifdef CUTE_PY_VARIANTS
  for (char const* wanted : {CUTE_PY_VARIANTS}) {
    int i = 0;
    while (i < name.length && wanted[i] == name.text[i]) ++i;
    if (i == name.length && wanted[i] == '\0') return true;
  }
  return false;
#else
  return name.length > 0;
#endif
}

// Does a Config leave sums to a tensor core that keeps fewer bits than a float32 has?
template <class Config, class = void>
inline constexpr bool kSumsFast = false;
template <class Config>
inline constexpr bool kSumsFast<Config, std::void_t<decltype(Config::promotes)>> =
    !Config::promotes && is_float8(numeric::kDTypeOf<typename Config::TA>);

// The types of a result that a Config has beside those of all kernels.
template <class Config, class = void>
inline constexpr DTypeSet kOwnResults = 0;
template <class Config>
inline constexpr DTypeSet kOwnResults<Config, std::void_t<decltype(Config::own_results)>> = Config::own_results;

// Is a Config of a product that is a step of emulated precision?
template <class Config, class = void>
inline constexpr bool kIsStep = false;
template <class Config>
inline constexpr bool kIsStep<Config, std::enable_if_t<is_of_a_step(Config::step)>> = true;

// What the products of a Config are formed and summed in.
template <class Config>
constexpr Compute compute_of() {
  if constexpr (kIsStep<Config>) return Config::step;
  if (std::is_same_v<typename Config::TA, cutlass::tfloat32_t>) return Compute::tf32;
  if (kSumsFast<Config>) return Compute::fast_f32;
  constexpr Compute kOwn[] = {Compute::f32, Compute::f64, Compute::c64, Compute::c128, Compute::i32};
  for (Compute const compute : kOwn) {
    if (type_of_sums(compute) == numeric::kDTypeOf<typename Config::TC>) return compute;
  }
  return {};
}

// May a Config ask for vectors?
template <class Config, class = void>
inline constexpr bool kReadsVectors = false;
template <class Config>
inline constexpr bool kReadsVectors<Config, std::void_t<decltype(Config::vector_bytes_a)>> = true;

// Does a Config that does not convert conjugate?
template <class Config, class = void>
inline constexpr bool kConjugates = false;
template <class Config>
inline constexpr bool kConjugates<Config, std::enable_if_t<Config::conjugates>> = true;

// Is a family's variant chosen by its name alone?
template <class Family, class = void>
inline constexpr bool kByName = false;
template <class Family>
inline constexpr bool kByName<Family, std::enable_if_t<Family::by_name>> = true;

// Does TMA move arrays of a kernel?
template <class Params, class = void>
inline constexpr bool kHasTensors = false;
template <class Params>
inline constexpr bool kHasTensors<Params, std::enable_if_t<(Params::tensors > 0)>> = true;

// Can its CTAs be clusters?
template <class Params, class Config>
constexpr bool has_clusters() {
  if constexpr (kHasTensors<Params>) return Config::max_cluster > 0;
  return false;
}
template <class Params, class Config>
inline constexpr bool kHasClusters = has_clusters<Params, Config>();

// Does a kernel have a tile scheduler of its own, and not the order of the grid?
template <class Params, class = void>
inline constexpr bool kOrdersTiles = false;
template <class Params>
inline constexpr bool kOrdersTiles<Params, std::void_t<decltype(&Params::first_tile)>> = true;

// The most that GPU kernels count in 32 bits; a tile may reach past the last row. A grid has at most 65535 CTAs along
// its second dimension, and a persistent kernel counts its tiles.
inline constexpr std::int64_t kMostCounted = std::numeric_limits<std::int32_t>::max() - 1024;
inline constexpr std::int64_t kMostCountedByPasses = kMostCounted - (1 << 14);  // threads look several words ahead
inline constexpr std::int64_t kMostTilesN = 65535;
inline constexpr std::int64_t kMostTiles = std::numeric_limits<std::int32_t>::max();

template <class Family, class Config>
constexpr Traits traits_of_copies(char const* name, Target target) {
  DTypeSet moved = 0;
  for (int i = 0; i < kDTypes; ++i) {
    auto const type = static_cast<DType>(i);
    if (scalar_bytes_of(type) <= Config::bytes) moved |= types(type);
  }
  int const shared = static_cast<int>(sizeof(typename Config::SharedStorage));
  return {name,
          Family::name,
          target,
          {Config::compute_capability, false, shared, Isa::baseline, Isa::baseline},
          {Compute::copy, moved, moved, epilogue_types(moved), true, false},
          {kMaxKernelModes, kMaxKernelModes, kMaxKernelModes},
          {0, 0, kMostCounted, kMostTilesN},
          {OperandRule::Kind::moved, "any", Major::k, Major::k, 0, 0, Config::bytes, 1, 1},
          {Config::Tile::line, Config::Tile::line, 1},
          true,
          false};
}

template <class Family, class Config>
constexpr Traits traits_of_pass(char const* name, Target target) {
  Traits t{};
  t.name = name;
  t.kernel = Family::name;
  t.target = target;
  t.needs = {Config::compute_capability, false, static_cast<int>(sizeof(typename Config::SharedStorage)), Isa::baseline,
             Isa::baseline};
  DTypeSet const own = types(numeric::kDTypeOf<typename Config::Number>);
  t.types = {Config::compute, own, Config::results, epilogue_types(Config::results), true, true};
  t.modes = {kMaxKernelModes, kMaxKernelModes, kMaxKernelModes};
  t.limits = {0, 0, kMostCountedByPasses, kMostCounted, kMostTiles};
  t.operands.kind = OperandRule::Kind::strided;
  t.operands.letters = "any";
  t.operands.element_alignment = static_cast<int>(sizeof(typename Config::Real));
  for (int i = 0; i < 3; ++i) t.tile[i] = Config::tile[i];
  t.fuses = true;
  return t;
}

template <class Family, class Config, class Layout>
constexpr Traits traits_of_gemm(char const* name, Target target) {
  using Params = typename Family::template Params<Config>;
  using Tiler = typename Config::CtaTiler;
  using T = typename Config::TC;
  constexpr Compute compute = compute_of<Config>();
  constexpr bool in_boxes = kHasTensors<Params>;
  Traits t{};
  t.name = name;
  t.kernel = Family::name;
  t.target = target;
  // The instructions of a warpgroup, whose operands TMA loads, are SM90's alone.
  t.needs = {Config::compute_capability, in_boxes, static_cast<int>(sizeof(typename Config::SharedStorage)),
             Isa::baseline, Isa::baseline};
  t.types.compute = compute;
  t.types.factors = Config::converting ? factor_types(compute) & numeric::kReadableAs<T>
                                       : types(numeric::kDTypeOf<typename Config::TA>);
  t.types.results = result_types(compute) & (numeric::kWritableFrom<typename Config::TE> | kOwnResults<Config>);
  t.types.epilogue = epilogue_types(t.types.results);
  t.types.one_type = !Config::converting;
  t.types.conjugates = !numeric::kIsComplex<T> || Config::converting || kConjugates<Config>;
  int const modes = Config::nested ? kMaxKernelModes : 1;
  t.modes = {cute::is_same_v<typename Config::StrideA, GettStride> ? 2 : modes, modes, kMaxKernelModes};
  t.limits = {Config::max_rows, Config::max_columns, kMostCounted, kMostTilesN};
  t.operands.kind = Config::predicated ? OperandRule::Kind::strided : OperandRule::Kind::whole;
  t.operands.letters = Layout::name;
  t.operands.major_a = Layout::a;
  t.operands.major_b = Layout::b;
  if constexpr (kReadsVectors<Config>) {
    t.operands.vector_bytes_a = Config::vector_bytes_a;
    t.operands.vector_bytes_b = Config::vector_bytes_b;
  }
  t.operands.alignment_bytes = Config::alignment_bytes;
  t.operands.element_alignment = Config::converting ? 1 : static_cast<int>(sizeof(typename Config::TA));
  if constexpr (in_boxes) {
    t.operands.kind = OperandRule::Kind::boxes;
    t.operands.vector_bytes_a = t.operands.vector_bytes_b = kBoxAlignment;
    t.modes = {Params::modes, Params::modes, Params::modes_l};
    t.limits.tiles = kMostTiles;
  }
  t.tile[0] = cute::size<0>(Tiler{});
  t.tile[1] = cute::size<1>(Tiler{});
  t.tile[2] = cute::size<2>(Tiler{});
  t.fuses = Config::fuses;
  t.by_name = kByName<Family>;
  return t;
}

template <class Family, class Config, class Layout>
constexpr Traits traits_of(char const* name, Target target) {
  if constexpr (kCopies<Config>) {
    return traits_of_copies<Family, Config>(name, target);
  } else if constexpr (kIsPass<Config>) {
    return traits_of_pass<Family, Config>(name, target);
  } else {
    return traits_of_gemm<Family, Config, Layout>(name, target);
  }
}

template <class Config, class = void>
inline constexpr Form kFormOf = Form::nested;
template <class Config>
inline constexpr Form kFormOf<Config, std::void_t<decltype(Config::made_for)>> = Config::made_for;

template <class Config, class = void>
inline constexpr bool kIsCooperative = false;
template <class Config>
inline constexpr bool kIsCooperative<Config, std::void_t<decltype(Config::ping_pong)>> = !Config::ping_pong;

template <class Family, class Config>
constexpr Resources resources_of() {
  if constexpr (kCopies<Config> || kIsPass<Config>) {
    return {Config::threads, Config::ctas_per_multiprocessor, 1, 0, 1, 0};
  } else {
    using Params = typename Family::template Params<Config>;
    Resources r{Config::threads, Config::ctas_per_multiprocessor, Config::stages, 0, Params::split_tiles, 0};
    r.form = kFormOf<Config>;
    r.is_cooperative = kIsCooperative<Config>;
    r.sum_bytes = Params::partial_values * Config::threads * static_cast<int>(sizeof(typename Config::TC));
    if constexpr (kHasTensors<Params>) {
      r.max_cluster = Config::max_cluster;
      if constexpr (Config::max_cluster > 0) r.sum_bytes = Config::partial_bytes;
    }
    return r;
  }
}

// Calls add.template entry<Config, Layout>(name) for each variant of a row that this build has.
template <class Family, class Row, class T, class L, class Add>
void for_one_layout(Add const& add) {
  constexpr Name const& name = kNameOf<Family, Row, T, L>;
  if constexpr (is_wanted(name)) add.template entry<Family, typename Row::template Config<T, L>, L>(name.text);
}

template <class Family, class Row, class T, class Add, class... L>
void for_each_layout(Add const& add, List<L...>) {
  (for_one_layout<Family, Row, T, L>(add), ...);
}

template <class Family, class Row, class Add, class... T>
void for_each_type(Add const& add, List<T...>) {
  (for_each_layout<Family, Row, T>(add, typename Row::Layouts{}), ...);
}

template <class Family, class Row, class Add>
void for_each_variant(Add const& add) {
  if constexpr ((Row::sets & kBuilt) != 0) for_each_type<Family, Row>(add, typename Row::Types{});
}

template <class Family, class Add, class... Rows>
void for_each_variant(Add const& add, List<Rows...>) {
  (for_each_variant<Family, Rows>(add), ...);
}

}  // namespace cute_py::kernels
