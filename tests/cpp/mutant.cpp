// Runs one kernel in the emulator on a small problem, as it is and without each of its barriers and waits, in several
// orders of its threads, and says for each whether the result is right. The kernel's header is a copy in which each of
// them asks mutant::keeps first.
//
// Compiled with FAMILY_HEADER, FAMILY, CONFIG, TYPE, and those of WHOLE, PREDICATED and NESTED that
// are wanted.
#include <cstdio>
#include <vector>

#include "instances/launch_emulator.hpp"

namespace mutant {

int removed = 0;     // the line that is taken out
bool reached[4096];  // lines that a thread has come by

// Does the line stay?
bool keeps(int line) {
  reached[line] = true;
  return line != removed;
}

}  // namespace mutant

#include FAMILY_HEADER

using namespace cute_py;

namespace {

using T = TYPE;
using Factor = std::conditional_t<std::is_same_v<T, cutlass::tfloat32_t>, float, T>;  // in memory

template <Major major_a, Major major_b, kernels::Form form>
bool is_right(EmulatorOptions const& options) {
  using Config = kernels::CONFIG<T, major_a, major_b, form>;
  using Sum = typename Config::TC;
  constexpr bool predicated = form != kernels::Form::whole;
  constexpr int more = Config::max_rows != kernels::kAnyExtent ? -2 : 2;
  constexpr int m = cute::size<0>(typename Config::CtaTiler{}) + (predicated ? more : 0);
  constexpr int n = cute::size<1>(typename Config::CtaTiler{});
  constexpr int vector = 16 / sizeof(T);
  constexpr int k =
      5 * cute::size<2>(typename Config::CtaTiler{}) + (predicated ? vector : 0);  // rows of whole vectors

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
  rows.stride[Role::d] = 1;
  columns.stride[Role::d] = m;
  Geometry geometry;
  geometry.m = Modes({rows});
  geometry.n = Modes({columns});
  geometry.k = Modes({steps});
  geometry.type[Role::a] = geometry.type[Role::b] = numeric::kDTypeOf<T>;
  geometry.type[Role::d] = numeric::kDTypeOf<Sum>;
  geometry.log2_alignment = {{kMaxLog2Alignment, kMaxLog2Alignment, 0, kMaxLog2Alignment, 0, 0}};
  Arguments arguments;
  arguments.data[Role::a] = factors_a.data();
  arguments.data[Role::b] = factors_b.data();
  arguments.data[Role::d] = c.data();
  Execution execution;
  execution.emulator = options;
  try {
    instances::Emulator::prepare<kernels::FAMILY, Config>("mutant", geometry)->run(arguments, execution);
  } catch (emulator::KernelError const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return false;
  }

  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      int sum = 0;
      for (int p = 0; p < k; ++p) {
        sum += a[i * rows.stride[Role::a] + p * steps.stride[Role::a]] *
               b[j * columns.stride[Role::b] + p * steps.stride[Role::b]];
      }
      if (!(c[i + j * m] == Sum(sum))) return false;
    }
  }
  return true;
}

// Prints one line for each form.
void run(char const* order, EmulatorOptions const& options) {
#ifdef WHOLE
  // Integers of 8 bits come in one layout only.
  constexpr Major major = sizeof(T) == 1 ? Major::k : Major::mn;
  std::printf("%d whole %s %d\n", mutant::removed, order, is_right<major, major, kernels::Form::whole>(options));
#endif
#ifdef PREDICATED
  std::printf("%d predicated %s %d\n", mutant::removed, order,
              is_right<Major::k, Major::mn, kernels::Form::predicated>(options));
#endif
#ifdef NESTED
  std::printf("%d nested %s %d\n", mutant::removed, order,
              is_right<Major::k, Major::k, kernels::Form::nested>(options));
#endif
}

void run_all_orders() {
  run("forward", {ThreadOrder::forward, 0, true});
  run("backward", {ThreadOrder::backward, 0, true});
  run("random", {ThreadOrder::random, 1, true});
}

}  // namespace

int main() {
  run_all_orders();
  for (int line = 1; line < 4096; ++line) {
    if (!mutant::reached[line]) continue;
    mutant::removed = line;
    run_all_orders();
  }
}
