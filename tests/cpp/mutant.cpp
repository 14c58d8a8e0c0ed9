// Runs a family's kernel in the emulator on a small problem, as it is and without each of its barriers and waits, in
// several orders of its threads, and says for each whether the result is right. The kernel's header is a copy in which
// each of them asks mutant::keeps first.
//
// Compiled beside a lists.hpp, which includes the family's lists of variants and names them mutant::Lists.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

namespace mutant {

int removed = 0;  // the line that is taken out
constexpr int kLines = 32000;
bool reached[kLines];  // lines that a thread has come by

constexpr int kFirstOfSplitK = 30000;  // lines of split-K through global memory count from here

// Does the line stay?
bool keeps(int line) {
  reached[line] = true;
  return line != removed;
}

}  // namespace mutant

#include "instances/launch_emulator.hpp"
#include "kernels/gemm_sm90/multicast.hpp"
#include "lists.hpp"

using namespace cute_py;

namespace {

using kernels::List;

// Bytes of an element.
template <class Config, class T>
constexpr int width_of() {
  if constexpr (kernels::kCopies<Config>) {
    return Config::bytes;
  } else {
    return sizeof(T);
  }
}

// Does A come by way of registers to a warpgroup's products?
template <class Config, class = void>
constexpr bool kHasAInRegisters = false;
template <class Config>
constexpr bool kHasAInRegisters<Config, std::enable_if_t<Config::a_in_registers>> = true;

// Does it have sliced-K?
template <class Config, class = void>
constexpr bool kHasSlicedK = false;
template <class Config>
constexpr bool kHasSlicedK<Config, std::enable_if_t<(kernels::kSlicedK<typename Config::TiledMma> > 1)>> = true;

// The first variant of a row and a type.
template <class Family_, class Row, class T_, class Layouts>
struct VariantOf;

template <class Family_, class Row, class T_, class Layout_, class... Others>
struct VariantOf<Family_, Row, T_, List<Layout_, Others...>> {
  using Family = Family_;
  using T = T_;
  using Layout = Layout_;
  using Config = typename Row::template Config<T, Layout>;
  static constexpr Form form = Row::form;
  static constexpr int width = width_of<Config, T>();
  static constexpr bool by_registers = kHasAInRegisters<Config>;
  static constexpr bool has_sliced_k = kHasSlicedK<Config>;
};

template <class V, class W>
constexpr bool kAreAlike =
    V::width == W::width && V::by_registers == W::by_registers && V::has_sliced_k == W::has_sliced_k;

// What the memory for sums holds before a launch, whose number this is.
constexpr unsigned kAnything = 0x80000011;
constexpr std::uint64_t kLaunch = 0x8000000000000010;

constexpr Form kAnyForm = static_cast<Form>(-1);

// Of the first width every form is run, of every other width one, and of each of them one by way of registers and one
// with sliced-K.
template <class V, class First, class... Chosen>
constexpr bool is_wanted(List<First, Chosen...>) {
  if (!kAreAlike<V, First>) return (!kAreAlike<V, Chosen> && ...);
  return V::form != First::form && ((!kAreAlike<V, Chosen> || V::form != Chosen::form) && ...);
}
template <class V>
constexpr bool is_wanted(List<>) {
  return true;
}

template <class... Chosen, class Family, class Row, class T, class Layouts>
constexpr auto operator+(List<Chosen...>, VariantOf<Family, Row, T, Layouts>) {
  using V = VariantOf<Family, Row, T, Layouts>;
  if constexpr (is_wanted<V>(List<Chosen...>{})) {
    return List<Chosen..., V>{};
  } else {
    return List<Chosen...>{};
  }
}

template <class Family, class Row, class Chosen, class... T>
constexpr auto choose_of_types(Chosen chosen, List<T...>) {
  return (chosen + ... + VariantOf<Family, Row, T, typename Row::Layouts>{});
}

template <Form first, class Family, class Chosen>
constexpr auto choose_of_rows(Chosen chosen, List<>) {
  return chosen;
}
template <Form first, class Family, class Chosen, class Row, class... Rows>
constexpr auto choose_of_rows(Chosen chosen, List<Row, Rows...>) {
  if constexpr (first != kAnyForm && Row::form != first) {
    return choose_of_rows<first, Family>(chosen, List<Rows...>{});
  } else {
    return choose_of_rows<first, Family>(choose_of_types<Family, Row>(chosen, typename Row::Types{}), List<Rows...>{});
  }
}

template <Form first, class Chosen>
constexpr auto choose(Chosen chosen, List<>) {
  return chosen;
}
template <Form first, class Chosen, class Variants, class... Others>
constexpr auto choose(Chosen chosen, List<Variants, Others...>) {
  return choose<first>(choose_of_rows<first, typename Variants::Family>(chosen, typename Variants::Rows{}),
                       List<Others...>{});
}

// In vectors or for whole tiles where there are such, because these have every wait.
using InVectors = decltype(choose<Form::vectors>(List<>{}, mutant::Lists{}));
using OrWhole = decltype(choose<Form::whole>(InVectors{}, mutant::Lists{}));
using Chosen = decltype(choose<kAnyForm>(OrWhole{}, mutant::Lists{}));

// A mode of an even extent as two.
Modes halves(Mode const& mode) {
  Mode fast = mode, slow = mode;
  fast.extent = mode.extent / 2;
  slow.extent = 2;
  slow.stride[Role::a] *= fast.extent;
  slow.stride[Role::d] *= fast.extent;
  return Modes({fast, slow});
}

// Copies a matrix of `rows` lines of `columns` elements, each `gap` elements behind the one before, to its transpose,
// or to lines of another length.
template <class V>
bool copies(EmulatorOptions const& options, int rows, int columns, int gap, bool transposes) {
  using Element = typename V::Config::Element;
  constexpr DType kByLog2[] = {DType::i8, DType::f16, DType::f32, DType::f64, DType::c128};
  int log2 = 0;
  while (1 << log2 < V::width) ++log2;
  int const line_a = columns + gap;
  int const line_d = transposes ? rows : columns + 3;
  std::vector<Element> a(rows * line_a), d((transposes ? columns : rows) * line_d);
  auto* const bytes = reinterpret_cast<unsigned char*>(a.data());
  for (std::size_t i = 0; i < a.size() * sizeof(Element); ++i) bytes[i] = static_cast<unsigned char>(i * 7919 % 251);
  Geometry geometry;
  Mode along{columns, {}, false, false};
  Mode across{rows, {}, false, false};
  along.stride[Role::a] = 1;
  across.stride[Role::a] = line_a;
  along.stride[Role::d] = transposes ? line_d : 1;
  across.stride[Role::d] = transposes ? 1 : line_d;
  geometry.m = Modes({along, across});
  geometry.compute = Compute::copy;
  for (Role const role : {Role::a, Role::b, Role::d}) geometry.type[role] = kByLog2[log2];
  geometry.log2_alignment = {{kMaxLog2Alignment, 0, 0, kMaxLog2Alignment, 0, 0}};
  Arguments arguments;
  arguments.data[Role::a] = a.data();
  arguments.data[Role::d] = d.data();
  Execution execution;
  execution.emulator = options;
  try {
    instances::Emulator::prepare<typename V::Family, typename V::Config>("mutant", geometry, Schedule{})
        ->run(arguments, execution);
  } catch (emulator::KernelError const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return false;
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      auto const* const copied = &d[transposes ? i + j * line_d : i * line_d + j];
      if (std::memcmp(copied, &a[i * line_a + j], sizeof(Element)) != 0) return false;
    }
  }
  return true;
}

// In words, in windows, and element by element, where there is that.
template <class V>
bool copies_all(EmulatorOptions const& options) {
  return copies<V>(options, 128, 256, 0, true) && copies<V>(options, 99, 301, 0, true) &&
         copies<V>(options, 99, 301, 4, false);
}

// The ways of an epilogue to D: along m, along n, and with a bias.
enum class Way { along_m, along_n, bias };

// With the most splits of K that there can be, or with one. Partial sums are added to what C holds, which shows if more
// than one CTA writes it.
template <class V>
bool multiplies(EmulatorOptions const& options, bool split_k, Way way) {
  using Config = typename V::Config;
  using Params = typename V::Family::template Params<Config>;
  using T = typename V::T;
  using Factor = std::conditional_t<std::is_same_v<T, cutlass::tfloat32_t>, float, T>;  // in memory
  constexpr Major major_a = V::Layout::a;
  constexpr Major major_b = V::Layout::b;
  using Sum = typename Config::TC;
  constexpr bool predicated = V::form != Form::whole;
  constexpr int vector = 16 / sizeof(T);
  constexpr int more = Config::max_rows != kernels::kAnyExtent ? -2 : V::form == Form::vectors ? vector : 2;
  constexpr int m = cute::size<0>(typename Config::CtaTiler{}) + (predicated ? more : 0);
  constexpr int n = cute::size<1>(typename Config::CtaTiler{});
  // Rows of whole vectors. In vectors, as many tiles that the first stage is the last one to be filled with zeros: in
  // the end everybody uses its place for something else.
  constexpr int whole_tiles = V::form == Form::vectors ? Config::stages + 1 : 5;
  constexpr int k = whole_tiles * cute::size<2>(typename Config::CtaTiler{}) + (predicated ? vector : 0);

  // Integers, so that a right result is exact, and different ones in every place.
  std::vector<int> a(m * k), b(n * k);
  for (int i = 0; i < m * k; ++i) a[i] = i * 7919 % 17 - 8;
  for (int i = 0; i < n * k; ++i) b[i] = i * 104729 % 19 - 9;
  auto const as_factors = [](std::vector<int> const& numbers) {
    std::vector<Factor> factors;
    for (int number : numbers) factors.push_back(static_cast<Factor>(static_cast<float>(number)));
    return factors;
  };
  std::vector<Factor> factors_a = as_factors(a);
  std::vector<Factor> factors_b = as_factors(b);
  std::vector<Sum> c(m * n, Sum(-1));

  Mode rows{m, {}, false, false};
  Mode columns{n, {}, false, false};
  Mode steps{k, {}, false, false};
  rows.stride[Role::a] = major_a == Major::mn ? 1 : k;
  steps.stride[Role::a] = major_a == Major::mn ? m : 1;
  columns.stride[Role::b] = major_b == Major::mn ? 1 : k;
  steps.stride[Role::b] = major_b == Major::mn ? n : 1;
  rows.stride[Role::d] = way == Way::along_n ? n : 1;
  columns.stride[Role::d] = way == Way::along_n ? 1 : m;
  if (way == Way::bias) columns.stride[Role::bias] = 1;
  Geometry geometry;
  geometry.m = V::form == Form::gett ? halves(rows) : Modes({rows});
  geometry.n = Modes({columns});
  geometry.k = Modes({steps});
  geometry.type[Role::a] = geometry.type[Role::b] = numeric::kDTypeOf<T>;
  geometry.type[Role::d] = numeric::kDTypeOf<Sum>;
  geometry.log2_alignment = {{kMaxLog2Alignment, kMaxLog2Alignment, 0, kMaxLog2Alignment, 0, 0}};
  Arguments arguments;
  Schedule schedule;
  std::vector<unsigned> memory;
  if (split_k) {
    schedule.k_tiles = Params::split_tiles;
    auto const of_part = static_cast<int>(schedule.k_tiles * cute::size<2>(typename Config::CtaTiler{}));
    schedule.split_k = (k + of_part - 1) / of_part;
    schedule.reserve(2 * 2, std::int64_t{Params::partial_values} * Config::threads * sizeof(Sum));
    memory.resize(static_cast<std::size_t>(schedule.workspace_bytes) / sizeof(unsigned), kAnything);
    arguments.split_k_workspace = memory.data();
    arguments.launch = kLaunch;
    geometry.reads_c = geometry.c_is_d = true;
    geometry.type[Role::c] = geometry.type[Role::d];
    for (Modes* modes : {&geometry.m, &geometry.n}) {
      for (Mode& mode : *modes) mode.stride[Role::c] = mode.stride[Role::d];
    }
    arguments.beta = 1;
    arguments.data[Role::c] = c.data();
  }
  std::vector<typename Config::TE> bias;
  for (int j = 0; j < n; ++j) bias.push_back(static_cast<typename Config::TE>(static_cast<float>(j % 5)));
  if (way == Way::bias) {
    geometry.has_bias = true;
    geometry.type[Role::bias] = numeric::kDTypeOf<typename Config::TE>;
    arguments.data[Role::bias] = bias.data();
  }
  arguments.data[Role::a] = factors_a.data();
  arguments.data[Role::b] = factors_b.data();
  arguments.data[Role::d] = c.data();
  Execution execution;
  execution.emulator = options;
  try {
    instances::Emulator::prepare<typename V::Family, Config>("mutant", geometry, schedule)->run(arguments, execution);
  } catch (emulator::KernelError const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return false;
  }

  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      int sum = (split_k ? -1 : 0) + (way == Way::bias ? j % 5 : 0);
      for (int p = 0; p < k; ++p) {
        sum += a[i * rows.stride[Role::a] + p * steps.stride[Role::a]] *
               b[j * columns.stride[Role::b] + p * steps.stride[Role::b]];
      }
      if (!(c[i * rows.stride[Role::d] + j * columns.stride[Role::d]] == Sum(sum))) return false;
    }
  }
  return true;
}

// Results of multiplies_boxes, by its arguments: computed once, not for each mutant.
template <class V, class Result, bool bias>
std::map<std::array<int, 5>, std::vector<Result>> right_results;

// Of a kernel with TMA: rows and columns in tiles, and steps of k in tiles and some more. The result is of
// the factors' type, which leaves in boxes, or of the sums'. K is shared by so many clusters of so many CTAs. With
// `bias`, each column gets one; without it, sums of several clusters are added to what C holds, which shows if more
// than one CTA writes it.
template <class V, class Result, bool bias = false>
bool multiplies_boxes(EmulatorOptions const& options, int tiles_m, int tiles_n, int tiles_k, int in_cluster = 1,
                      int clusters = 1) {
  using Config = typename V::Config;
  using T = typename V::T;
  constexpr int vector = 16 / sizeof(T);
  int const m = tiles_m * cute::size<0>(typename Config::CtaTiler{}) - vector;
  int const n = tiles_n * cute::size<1>(typename Config::CtaTiler{}) - vector;
  int const k = tiles_k * cute::size<2>(typename Config::CtaTiler{}) - vector;
  auto const matrix = [](int rows, int columns, int times, int modulus) {
    std::vector<T> numbers(rows * columns);
    for (int i = 0; i < rows * columns; ++i)
      numbers[i] = static_cast<T>(static_cast<float>(i * times % modulus - modulus / 2));
    return numbers;
  };
  std::vector<T> a = matrix(m, k, 7919, 7);
  std::vector<T> b = matrix(n, k, 104729, 5);
  std::vector<Result> c(m * n, Result(-1));
  Mode rows{m, {}, false, false};
  Mode columns{n, {}, false, false};
  Mode steps{k, {}, false, false};
  bool const a_along_k = V::Layout::a == Major::k;
  bool const b_along_k = V::Layout::b == Major::k;
  rows.stride[Role::a] = a_along_k ? k : 1;
  steps.stride[Role::a] = a_along_k ? 1 : m;
  columns.stride[Role::b] = b_along_k ? k : 1;
  steps.stride[Role::b] = b_along_k ? 1 : n;
  rows.stride[Role::d] = 1;
  columns.stride[Role::d] = m;
  Geometry geometry;
  geometry.m = Modes({rows});
  geometry.n = Modes({columns});
  geometry.k = Modes({steps});
  geometry.type[Role::a] = geometry.type[Role::b] = numeric::kDTypeOf<T>;
  geometry.type[Role::d] = numeric::kDTypeOf<Result>;
  geometry.log2_alignment = {{kMaxLog2Alignment, kMaxLog2Alignment, 0, kMaxLog2Alignment, 0, 0}};
  Arguments arguments;
  arguments.data[Role::a] = a.data();
  arguments.data[Role::b] = b.data();
  arguments.data[Role::d] = c.data();
  std::vector<float> of_columns(n);
  if (bias) {
    for (int j = 0; j < n; ++j) of_columns[j] = static_cast<float>(j % 5);
    geometry.has_bias = true;
    geometry.type[Role::bias] = DType::f32;
    for (Mode& mode : geometry.n) mode.stride[Role::bias] = 1;
    arguments.data[Role::bias] = of_columns.data();
  }
  bool const adds = clusters > 1 && !bias;
  if (adds) {
    geometry.reads_c = geometry.c_is_d = true;
    geometry.type[Role::c] = geometry.type[Role::d];
    for (Modes* modes : {&geometry.m, &geometry.n}) {
      for (Mode& mode : *modes) mode.stride[Role::c] = mode.stride[Role::d];
    }
    arguments.beta = 1;
    arguments.data[Role::c] = c.data();
  }
  Schedule schedule;
  schedule.cluster_k = in_cluster;
  schedule.split_k = in_cluster * clusters;
  schedule.k_tiles = (tiles_k + schedule.split_k - 1) / schedule.split_k;
  if constexpr (Config::max_cluster > 0) {
    constexpr int tile_m = cute::size<0>(typename Config::CtaTiler{});
    constexpr int tile_n = cute::size<1>(typename Config::CtaTiler{});
    auto const pairs =
        kernels::multicast_of(geometry.m[0].extent, geometry.n[0].extent, tile_m, tile_n, schedule.split_k > 1);
    schedule.cluster_m = pairs.m;
    schedule.cluster_n = pairs.n;
    schedule.raster = 2;
  }
  std::vector<unsigned> memory;
  if constexpr (Config::max_cluster > 0) {
    schedule.reserve(std::int64_t{tiles_m} * tiles_n, Config::partial_bytes);
    memory.resize(static_cast<std::size_t>(schedule.workspace_bytes) / sizeof(unsigned), kAnything);
    arguments.split_k_workspace = memory.data();
    arguments.launch = kLaunch;
  }
  Execution execution;
  execution.emulator = options;
  try {
    instances::Emulator::prepare<typename V::Family, Config>("mutant", geometry, schedule)->run(arguments, execution);
  } catch (emulator::KernelError const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return false;
  }
  std::vector<Result>& right = right_results<V, Result, bias>[{tiles_m, tiles_n, tiles_k, in_cluster, clusters}];
  if (right.empty()) {
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < m; ++i) {
        float sum = adds ? -1 : 0;
        for (int p = 0; p < k; ++p) {
          sum += static_cast<float>(a[i * rows.stride[Role::a] + p * steps.stride[Role::a]]) *
                 static_cast<float>(b[j * columns.stride[Role::b] + p * steps.stride[Role::b]]);
        }
        right.push_back(Result(sum + of_columns[j]));
      }
    }
  }
  return std::equal(c.begin(), c.end(), right.begin(),
                    [](Result x, Result y) { return static_cast<float>(x) == static_cast<float>(y); });
}

// The type of a result that leaves in boxes.
template <class V, class = void>
struct InBoxes {
  using type = typename V::T;
};
template <class V>
struct InBoxes<V, std::void_t<typename V::Config::BoxElement>> {
  using type = typename V::Config::BoxElement;
};

// Pairs along M and along N, and none; more tiles than CTAs, more steps than stages; split-K in one cluster and in
// several; and a bias, also with split-K.
template <class V>
bool multiplies_all_boxes(EmulatorOptions const& options) {
  using T = typename InBoxes<V>::type;
  int const long_k = V::Config::stages + 2;
  return multiplies_boxes<V, float>(options, 4, 1, 2) && multiplies_boxes<V, T>(options, 2, 1, long_k) &&
         multiplies_boxes<V, T>(options, 1, 2, 2) && multiplies_boxes<V, T>(options, 15, 1, 3) &&
         multiplies_boxes<V, float>(options, 5, 1, long_k) && multiplies_boxes<V, T>(options, 1, 1, 3, 2) &&
         multiplies_boxes<V, float>(options, 1, 1, 5, 4) && multiplies_boxes<V, T>(options, 2, 1, 7, 2, 3) &&
         multiplies_boxes<V, T, true>(options, 1, 5, 2) && multiplies_boxes<V, T, true>(options, 1, 1, 7, 2, 3);
}

template <class V>
bool is_right(EmulatorOptions const& options, bool split_k) {
  if constexpr (kernels::kHasTensors<typename V::Family::template Params<typename V::Config>>) {
    return multiplies_all_boxes<V>(options);
  } else if constexpr (kernels::kCopies<typename V::Config>) {
    return copies_all<V>(options);
  } else {
    if (!multiplies<V>(options, split_k, Way::along_m)) return false;
    if constexpr (V::form == Form::whole || !V::Config::fuses) return true;
    return multiplies<V>(options, split_k, Way::along_n) && multiplies<V>(options, split_k, Way::bias);
  }
}

// Prints a line for each order of threads, of a form with a line taken out up to the first that gives a wrong result.
template <class V>
void run_all_orders(bool split_k) {
  auto const run = [&](ThreadOrder order, std::uint64_t seed) {
    bool const right = is_right<V>({order, seed, true}, split_k);
    std::printf("%d %d %d %d %d\n", V::width, V::by_registers, split_k, mutant::removed, right);
    return right || mutant::removed == 0;
  };
  // Chance decides when TMA works, too.
  constexpr bool has_engine = kernels::kHasTensors<typename V::Family::template Params<typename V::Config>>;
  constexpr std::uint64_t seeds = has_engine ? 4 : 1;
  if (!run(ThreadOrder::backward, 0) || !run(ThreadOrder::forward, 0)) return;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (!run(ThreadOrder::random, seed)) return;
  }
}

template <class V>
void take_out_each(bool split_k) {
  mutant::removed = 0;
  for (bool& line : mutant::reached) line = false;
  run_all_orders<V>(split_k);
  // The main loop of a part of one tile would not need all of its own.
  for (int line = split_k ? mutant::kFirstOfSplitK : 1; line < mutant::kLines; ++line) {
    if (!mutant::reached[line]) continue;
    mutant::removed = line;
    run_all_orders<V>(split_k);
  }
}

template <class V>
void take_out_each() {
  take_out_each<V>(false);
  if (V::Family::template Params<typename V::Config>::partial_values > 0) take_out_each<V>(true);
}

template <class... V>
void take_out_each(List<V...>) {
  (take_out_each<V>(), ...);
}

}  // namespace

int main() { take_out_each(Chosen{}); }
