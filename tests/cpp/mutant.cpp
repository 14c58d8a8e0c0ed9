// Runs one kernel in the emulator on a small problem, in several orders of its threads, and says for each whether the
// result is right. The kernel's header may be a copy with a line taken out: the include path decides.
//
// Compiled with KERNEL_HEADER, CATALOGUE_HEADER, KERNEL, CONFIG, and TYPE, of the size of a float.
#include <cstdio>
#include <vector>

#include "instances/launch_emulator.hpp"

#include CATALOGUE_HEADER
#include KERNEL_HEADER

using namespace cute_py;

namespace {

template <Major major_a, Major major_b, catalogue::Form form>
bool is_right(EmulatorOptions const& options) {
  using Config = catalogue::CONFIG<TYPE, major_a, major_b, form>;
  constexpr bool predicated = form != catalogue::Form::whole;
  constexpr int more = Config::max_rows != catalogue::kAnyExtent ? -2 : 2;
  constexpr int m = cute::size<0>(typename Config::CtaTiler{}) + (predicated ? more : 0);
  constexpr int n = cute::size<1>(typename Config::CtaTiler{});
  constexpr int k = 5 * cute::size<2>(typename Config::CtaTiler{}) + (predicated ? 4 : 0);  // rows of whole vectors

  // Integers, so that a right result is exact, and different ones in every place.
  std::vector<float> a(m * k), b(n * k), c(m * n, -1.0f);
  for (int i = 0; i < m * k; ++i) a[i] = static_cast<float>(i * 7919 % 17 - 8);
  for (int i = 0; i < n * k; ++i) b[i] = static_cast<float>(i * 104729 % 19 - 9);

  Problem problem;
  problem.m = one_mode(m);
  problem.n = one_mode(n);
  problem.k = one_mode(k);
  problem.a = matrix(a.data(), DType::f32, major_a == Major::mn ? 1 : k, major_a == Major::mn ? m : 1);
  problem.b = matrix(b.data(), DType::f32, major_b == Major::mn ? 1 : k, major_b == Major::mn ? n : 1);
  problem.d = matrix(c.data(), DType::f32, 1, m);
  problem.c = problem.d;
  Execution execution;
  execution.emulator = options;
  instances::launch<Config>(kernels::KERNEL<Config, typename Config::ProblemShape, typename Config::StrideA,
                                            typename Config::StrideB, typename Config::StrideC>,
                            problem, execution);

  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      float sum = 0;
      for (int p = 0; p < k; ++p) {
        sum += a[i * problem.a.stride[0][0] + p * problem.a.stride[1][0]] *
               b[j * problem.b.stride[0][0] + p * problem.b.stride[1][0]];
      }
      if (!(c[i + j * m] == sum)) return false;
    }
  }
  return true;
}

}  // namespace

int main() {
  struct {
    char const* name;
    EmulatorOptions options;
  } const orders[] = {
      {"forward", {ThreadOrder::forward, 0, true}},
      {"backward", {ThreadOrder::backward, 0, true}},
      {"random", {ThreadOrder::random, 1, true}},
  };
  for (auto const& [name, options] : orders) {
    std::printf("%s vectors %d\n", name, is_right<Major::mn, Major::mn, catalogue::Form::whole>(options));
#ifndef ANY_MODES_ONLY
    std::printf("%s predicated %d\n", name, is_right<Major::k, Major::mn, catalogue::Form::predicated>(options));
#endif
    std::printf("%s nested %d\n", name, is_right<Major::k, Major::k, catalogue::Form::nested>(options));
  }
}
