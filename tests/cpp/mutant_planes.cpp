// Runs the kernels of emulated precision as mutant.cpp runs those of products: as they are, and without each of the
// barriers and waits whose lines are given, or all that they come by.
//
// Compiled beside copies of the kernels' headers in which each of them asks mutant::keeps first.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace mutant {

int removed = 0;  // the line that is taken out
constexpr int kLines = 32000;
bool reached[kLines];  // lines that a thread has come by

bool keeps(int line) {
  reached[line] = true;
  return line != removed;
}

}  // namespace mutant

#include "instances/launch_emulator.hpp"
#include "kernels/combine_planes/variants.hpp"
#include "kernels/gemm_sm90/variants_planes_sm90a.hpp"
#include "kernels/split_planes/variants.hpp"

using namespace cute_py;

namespace {

using Split = kernels::SplitPlanes<float, Major::k, Major::k, Form::nested>;
using Combine = kernels::CombinePlanes<float, Major::k, Major::k, Form::nested>;
using Multiply = kernels::GemmSm90TwoPlanes128x128<cutlass::half_t, Major::k, Major::k, Form::vectors>;

Mode mode(std::int64_t extent, Role role, std::int64_t stride, Role other = Role::d, std::int64_t of_other = 0) {
  Mode made{extent, {}, false, false};
  made.stride[role] = stride;
  if (other != role) made.stride[other] = of_other;
  return made;
}

Geometry of_floats(Compute compute, Planes const& planes) {
  Geometry g;
  g.compute = compute;
  g.planes = planes;
  for (Role const role : {Role::a, Role::b, Role::d}) g.type[role] = DType::f32;
  g.log2_alignment = {{kMaxLog2Alignment, kMaxLog2Alignment, 0, kMaxLog2Alignment, 0, 0}};
  return g;
}

template <class Family, class Config>
bool run(Geometry const& g, Arguments const& x, EmulatorOptions const& options) {
  Execution execution;
  execution.emulator = options;
  try {
    instances::Emulator::prepare<Family, Config>("mutant", g, Schedule{})->run(x, execution);
    return true;
  } catch (emulator::KernelError const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return false;
  }
}

// Rows of whole numbers, their residues and exponents.
struct Rows {
  Planes planes{PlaneKind::residues, 8};
  int rows;
  int steps;
  std::vector<float> numbers;
  std::vector<std::int8_t> residues;
  std::vector<std::int32_t> exponents;

  Rows(int rows_, int steps_) : rows(rows_), steps(steps_), numbers(std::size_t(rows_) * steps_) {
    // Of every second group of words they are larger, so that a sum of the wrong group shows in the exponent.
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      bool const is_large = i % std::size_t(steps) / 128 % 2 == 0;
      numbers[i] = (static_cast<float>(i * 7919 % 1009) - 500) * (is_large ? 64 : 1);
    }
  }

  bool split(EmulatorOptions const& options, bool along_k) {
    Geometry g = of_floats(Compute::split, planes);
    g.type[Role::d] = DType::i8;
    auto const line = plane_line(planes, steps);
    std::vector<float> given(numbers.size());
    for (int i = 0; i < rows; ++i) {
      for (int k = 0; k < steps; ++k) given[along_k ? i * steps + k : k * rows + i] = numbers[i * steps + k];
    }
    g.m = Modes({mode(rows, Role::a, along_k ? steps : 1, Role::d, line)});
    g.k = Modes({mode(steps, Role::a, along_k ? 1 : rows, Role::d, 1)});
    g.l = Modes({mode(planes.planes(), Role::d, line * rows)});
    residues.assign(line * rows * planes.planes(), 77);
    exponents.assign(rows, 77);
    Arguments x;
    x.data[Role::a] = given.data();
    x.data[Role::d] = residues.data();
    x.exponents[0] = exponents.data();
    return run<kernels::split_planes_family, Split>(g, x, options);
  }

  // As it follows from the definition: by the integers nearest to the scaled numbers.
  bool is_right() const {
    auto const line = plane_line(planes, steps);
    LargestNorm const norm = largest_squared_norm(planes, steps);
    for (int i = 0; i < rows; ++i) {
      double sum = 0;  // exact: squares of whole numbers
      for (int k = 0; k < steps; ++k) sum += double(numbers[i * steps + k]) * numbers[i * steps + k];
      int exponent = 0;
      double const mantissa = std::frexp(sum, &exponent);
      if (exponents[i] != (norm.exponent - exponent - (mantissa > norm.mantissa ? 1 : 0)) >> 1) return false;
      for (int plane = 0; plane < planes.planes(); ++plane) {
        int const p = modulus_of(planes.kind, plane);
        for (int k = 0; k < steps; ++k) {
          auto const whole = static_cast<std::int64_t>(std::ldexp(numbers[i * steps + k], exponents[i]));
          auto const left = residues[(plane * rows + i) * line + k];
          if ((whole - left) % p != 0) return false;
        }
      }
    }
    return true;
  }
};

// Planes of 16 bits: numbers of nine bits are in the first plane as they are, scaled so that the largest of their row
// is from 2^14 to 2^15.
bool splits_into_halves(EmulatorOptions const& options, int rows, int steps) {
  using Half = cutlass::half_t;
  Planes const planes{PlaneKind::fp16, 2};
  auto const line = plane_line(planes, steps);
  std::vector<float> numbers(std::size_t(rows) * steps);  // the rows side by side
  for (int k = 0; k < steps; ++k) {
    for (int i = 0; i < rows; ++i) numbers[k * rows + i] = static_cast<float>((k * 7919 % 255 + 1) << (i % 3));
  }
  std::vector<Half> to(line * rows * 2, Half(77));
  std::vector<std::int32_t> exponents(rows, 77);
  Geometry g = of_floats(Compute::split, planes);
  g.type[Role::d] = DType::f16;
  g.m = Modes({mode(rows, Role::a, 1, Role::d, line)});
  g.k = Modes({mode(steps, Role::a, rows, Role::d, 1)});
  g.l = Modes({mode(2, Role::d, line * rows)});
  Arguments x;
  x.data[Role::a] = numbers.data();
  x.data[Role::d] = to.data();
  x.exponents[0] = exponents.data();
  if (!run<kernels::split_planes_family, Split>(g, x, options)) return false;
  for (int i = 0; i < rows; ++i) {
    float largest = 0;
    for (int k = 0; k < steps; ++k) largest = std::max(largest, numbers[k * rows + i]);
    if (exponents[i] != 14 - std::ilogb(largest)) return false;
    for (int k = 0; k < steps; ++k) {
      auto const scaled = std::ldexp(numbers[k * rows + i], exponents[i]);
      if (static_cast<float>(to[i * line + k]) != scaled || static_cast<float>(to[(rows + i) * line + k]) != 0)
        return false;
    }
  }
  return true;
}

// Several warps share a row; threads go along rows: a CTA has several chunks of them, CTAs of a cluster have one group
// of words each, or two.
bool splits(EmulatorOptions const& options) {
  Rows along_k(5, 2100);
  if (!along_k.split(options, true) || !along_k.is_right()) return false;
  for (auto const& [rows, steps] : {std::pair{20, 300}, {5, 700}, {5, 4200}}) {
    Rows along_m(rows, steps);
    if (!along_m.split(options, false) || !along_m.is_right()) return false;
  }
  return splits_into_halves(options, 20, 300) && splits_into_halves(options, 5, 700);
}

// Rows and columns that are not finite, of several CTAs; the others are as they were.
bool combines(EmulatorOptions const& options) {
  constexpr int m = 20, n = 70, k = 3;
  constexpr float kBefore = -7;
  std::vector<float> a(m * k), b(n * k), d(m * n, kBefore);
  std::vector<std::int32_t> rows(m, 1), columns(n, 2);
  for (int i = 0; i < m * k; ++i) a[i] = static_cast<float>(i % 11);
  for (int i = 0; i < n * k; ++i) b[i] = static_cast<float>(i % 13);
  columns[66] = kNotFinite;
  Geometry g = of_floats(Compute::combine, {PlaneKind::fp16, 2});
  g.m = Modes({mode(m, Role::a, k, Role::d, n)});
  g.n = Modes({mode(n, Role::b, k, Role::d, 1)});
  g.k = Modes({mode(k, Role::a, 1, Role::b, 1)});
  Arguments x;
  x.data[Role::a] = a.data();
  x.data[Role::b] = b.data();
  x.data[Role::d] = d.data();
  x.exponents[0] = rows.data();
  x.exponents[1] = columns.data();
  if (!run<kernels::combine_planes_family, Combine>(g, x, options)) return false;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int p = 0; p < k; ++p) sum += a[i * k + p] * b[j * k + p];
      if (d[i * n + j] != (columns[j] == kNotFinite ? sum : kBefore)) return false;
    }
  }
  return true;
}

// Products of two planes: more steps than stages, and more tiles than CTAs, with a row that is not finite in the last.
bool multiplies(EmulatorOptions const& options, int m, int n, int steps, int not_finite, bool along_n) {
  using Half = cutlass::half_t;
  Planes const planes{PlaneKind::fp16, 2};
  auto const line = plane_line(planes, steps);
  auto const factor = [&](int rows, int times) {
    std::vector<Half> numbers(line * rows * 2, Half(0));
    for (int plane = 0; plane < 2; ++plane) {
      for (int i = 0; i < rows; ++i) {
        for (int p = 0; p < steps; ++p) {
          auto const number = (i * 31 + p * times + plane * 5) % 7 - 3;
          numbers[(plane * rows + i) * line + p] = Half(static_cast<float>(number));
        }
      }
    }
    return numbers;
  };
  std::vector<Half> a = factor(m, 7), b = factor(n, 11);
  std::vector<std::int32_t> rows(m, 0), columns(n, 0);
  if (not_finite >= 0) rows[not_finite] = kNotFinite;
  constexpr float kBefore = -7;
  std::vector<float> d(m * n, kBefore);
  Geometry g = of_floats(Compute::planes, planes);
  g.type[Role::a] = g.type[Role::b] = DType::f16;
  g.m = Modes({mode(m, Role::a, line, Role::d, along_n ? n : 1)});
  g.n = Modes({mode(n, Role::b, line, Role::d, along_n ? 1 : m)});
  g.k = Modes({mode(steps, Role::a, 1, Role::b, 1)});
  Arguments x;
  x.data[Role::a] = a.data();
  x.data[Role::b] = b.data();
  x.data[Role::d] = d.data();
  x.exponents[0] = rows.data();
  x.exponents[1] = columns.data();
  if (!run<kernels::gemm_sm90_family, Multiply>(g, x, options)) return false;
  auto const at = [&](std::vector<Half> const& of, int count, int plane, int i, int p) {
    return static_cast<float>(of[(plane * count + i) * line + p]);
  };
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float large = 0, small = 0;
      for (int p = 0; p < steps; ++p) {
        large += at(a, m, 0, i, p) * at(b, n, 0, j, p);
        small += at(a, m, 0, i, p) * at(b, n, 1, j, p) + at(a, m, 1, i, p) * at(b, n, 0, j, p);
      }
      float const expected = i == not_finite ? kBefore : large + small / 2048;
      if (d[along_n ? i * n + j : i + j * m] != expected) return false;
    }
  }
  return true;
}

bool is_right(char const* kernel, EmulatorOptions const& options) {
  if (std::strcmp(kernel, "split_planes") == 0) return splits(options);
  if (std::strcmp(kernel, "combine_planes") == 0) return combines(options);
  return multiplies(options, 200, 136, 300, -1, true) && multiplies(options, 136, 600, 200, 130, false);
}

// Prints a line for each order of threads, up to the first that gives a wrong result.
void run_all_orders(char const* kernel) {
  auto const run_in = [&](ThreadOrder order, std::uint64_t seed) {
    // What shared memory holds before may hide a fault: numbers, or zeros.
    bool const right = is_right(kernel, {order, seed, true}) && is_right(kernel, {order, seed, false});
    std::printf("%d %d\n", mutant::removed, right);
    return right || mutant::removed == 0;
  };
  if (!run_in(ThreadOrder::backward, 0) || !run_in(ThreadOrder::forward, 0)) return;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    if (!run_in(ThreadOrder::random, seed)) return;
  }
}

}  // namespace

// The kernel, and the lines that are taken out.
int main(int count, char** words) {
  run_all_orders(words[1]);
  for (int i = 2; i < count; ++i) {
    mutant::removed = std::atoi(words[i]);
    if (mutant::reached[mutant::removed]) run_all_orders(words[1]);
  }
}
