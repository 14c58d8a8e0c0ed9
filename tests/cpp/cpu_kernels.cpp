// Random products with every kernel of the CPU that takes them, on this processor or on an emulated one, against two
// things: a double loop in double precision, and the law of the order of adds, whose bits they must have.
//
// Prints how many products each kernel computed, and every one that is wrong.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "cpu/families.hpp"
#include "problem/entry.hpp"

using namespace cute_py;

namespace {

bool runs_here(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::baseline:
      return true;
    case Isa::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::avx512:
      return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    case Isa::avx512_vnni:
      return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
  }
#endif
  return isa == Isa::baseline;
}

bool is_fused([[maybe_unused]] Isa isa) {
#if defined(__aarch64__)
  return true;
#else
  return isa != Isa::baseline;
#endif
}

// x * y + z as the kernels of an instruction set do it.
template <class T>
T multiply_add(T x, T y, T z, bool fused) {
  T const volatile product = x * y;  // which no compiler fuses
  return fused ? std::fma(x, y, z) : product + z;
}

// Sums of groups of blocks: float's in double, double's with their compensation.
template <class T>
struct Groups {
  double sum = 0;
  double compensation = 0;

  void add(T x) {
    double const volatile total = sum + x;
    double const volatile seen = total - sum;
    double const volatile rest = total - seen;
    if (std::is_same_v<T, double>) compensation += (sum - rest) + (x - seen);
    sum = total;
  }
  T all() const { return static_cast<T>(sum + compensation); }
};

constexpr std::int64_t kBlock = 384;
constexpr std::int64_t kGroup = 16;

// The law: `block` sums the steps of a block from one on; blocks in groups of 16, groups in a wider sum.
template <class T, class Block>
T law(std::int64_t steps, Block const& sum_of_block) {
  Groups<T> groups;
  T group = 0;
  bool is_one_group = true;
  for (std::int64_t block = 0; block * kBlock < steps; ++block) {
    T const sum = sum_of_block(block * kBlock, std::min(kBlock, steps - block * kBlock));
    group = block % kGroup == 0 ? sum : static_cast<T>(sum + group);
    if ((block + 1) % kGroup == 0 && (block + 1) * kBlock < steps) groups.add(group), is_one_group = false;
  }
  if (is_one_group) return group;
  groups.add(group);
  return groups.all();
}

// The numbers a(p) and b(p), p < steps, with k ascending in one accumulator.
template <class T>
T sum_of_products(std::vector<T> const& a, std::vector<T> const& b, bool fused) {
  return law<T>(static_cast<std::int64_t>(a.size()), [&](std::int64_t first, std::int64_t count) {
    T sum = 0;
    for (auto p = first; p < first + count; ++p) sum = multiply_add(a[p], b[p], sum, fused);
    return sum;
  });
}
std::int32_t sum_of_products(std::vector<std::int8_t> const& a, std::vector<std::int8_t> const& b, bool) {
  std::int32_t sum = 0;
  for (std::size_t p = 0; p < a.size(); ++p) sum += std::int32_t{a[p]} * b[p];
  return sum;
}
// Real and imaginary part each have the two products of a step in turns.
template <class T>
std::complex<T> sum_of_products(std::vector<std::complex<T>> const& a, std::vector<std::complex<T>> const& b,
                                bool fused) {
  T parts[2];
  for (int part = 0; part < 2; ++part) {
    parts[part] = law<T>(static_cast<std::int64_t>(a.size()), [&](std::int64_t first, std::int64_t count) {
      T sum = 0;
      for (auto p = first; p < first + count; ++p) {
        auto const re = b[p].real();
        auto const im = b[p].imag();
        sum = multiply_add(part == 0 ? a[p].real() : a[p].imag(), re, sum, fused);
        sum = multiply_add(part == 0 ? -a[p].imag() : a[p].real(), im, sum, fused);
      }
      return sum;
    });
  }
  return {parts[0], parts[1]};
}

// A sum along numbers that follow one another: partial sums, whose halves are added until one is left.
template <class T>
T dot_product(std::vector<T> const& a, std::vector<T> const& b, bool fused) {
  return law<T>(static_cast<std::int64_t>(a.size()), [&](std::int64_t first, std::int64_t count) {
    constexpr int kPartial = 256 / sizeof(T);
    T partial[kPartial] = {};
    for (std::int64_t p = 0; p < count; ++p) {
      auto& sum = partial[p % kPartial];
      sum = multiply_add(a[first + p], b[first + p], sum, fused);
    }
    for (int half = kPartial / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) partial[i] += partial[i + half];
    }
    return partial[0];
  });
}

std::mt19937_64 random_numbers;

std::int64_t up_to(std::int64_t most) { return 1 + static_cast<std::int64_t>(random_numbers() % most); }

std::int64_t log_uniform(double most_log2) {
  return static_cast<std::int64_t>(std::exp2(most_log2 * static_cast<double>(random_numbers() % 1000) / 1000));
}

template <class T>
T number() {
  if constexpr (std::is_same_v<T, std::int8_t>) {
    return static_cast<std::int8_t>(random_numbers());
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::normal_distribution<T>()(random_numbers);
  } else {
    using Part = typename T::value_type;
    return T(number<Part>(), number<Part>());
  }
}

// Gives the modes of one array strides in any order, with gaps or without; returns what the array needs.
std::int64_t place(std::vector<Mode*> const& modes, Role role) {
  auto order = modes;
  std::shuffle(order.begin(), order.end(), random_numbers);
  std::int64_t stride = random_numbers() % 8 == 0 ? 2 : 1;
  for (Mode* mode : order) {
    mode->stride[role] = stride;
    stride *= mode->extent;
    if (random_numbers() % 4 == 0) stride += up_to(3);
  }
  return stride;
}

std::map<std::string, int> computed;
int wrong = 0;

template <class T>
double size_of(T x) {
  return std::abs(std::complex<double>(x));
}

template <class In, class T>
void try_product(std::vector<Entry> const& entries, Compute compute, DType in, DType out, bool is_sum) {
  Geometry g;
  g.compute = compute;
  g.is_sum = is_sum;
  bool const is_long = random_numbers() % 6 == 0;
  std::int64_t const extents[] = {log_uniform(is_long || is_sum ? 3 : 7), is_sum ? 1 : log_uniform(is_long ? 3 : 6),
                                  is_sum ? 64 + log_uniform(14) : log_uniform(is_long ? 13.7 : 8),
                                  random_numbers() % 4 == 0 ? up_to(3) : 1};
  Mode modes[4];
  for (int i = 0; i < 4; ++i) modes[i].extent = extents[i];
  Mode& m = modes[0];
  Mode& n = modes[1];
  Mode& k = modes[2];
  Mode& l = modes[3];
  std::vector<In> a;
  std::vector<In> b;
  if (is_sum) {  // both along k
    for (Role const role : {Role::a, Role::b}) k.stride[role] = 1, m.stride[role] = k.extent + 3;
    a.resize(m.extent * (k.extent + 3));
    b.resize(m.extent * (k.extent + 3));
    l.extent = 1;
  } else {
    a.resize(place({&m, &k, &l}, Role::a));
    b.resize(place({&n, &k, &l}, Role::b));
  }
  for (auto* array : {&a, &b}) {
    for (In& x : *array) x = number<In>();
  }
  T const guard = T(77);
  auto const size_d = place({&m, &n, &l}, Role::d);
  Modes* const groups[] = {&g.m, &g.n, &g.k, &g.l};
  for (int i = 0; i < 4; ++i) {
    if (modes[i].extent > 1) groups[i]->push_back(modes[i]);
  }
  g.type[Role::a] = g.type[Role::b] = in;
  g.type[Role::d] = out;
  bool const is_dot = is_dot_product(g);

  for (Entry const& entry : entries) {
    Traits const& t = entry.traits;
    if (t.types.compute != compute || !runs_here(t.needs.isa) || (is_dot && t.one_order)) continue;
    std::vector<T> d(size_d + 2, guard);
    std::vector<bool> written(d.size());
    Arguments arguments;
    arguments.data[Role::a] = a.data();
    arguments.data[Role::b] = b.data();
    arguments.data[Role::d] = d.data() + 1;
    for (Role const role : {Role::a, Role::b, Role::d}) {
      g.log2_alignment[role] = log2_alignment_of(reinterpret_cast<std::uintptr_t>(arguments.data[role]));
    }
    Execution execution;
    execution.host_threads = static_cast<int>(up_to(3));
    entry.prepare(t.name, g, {})->run(arguments, execution);
    ++computed[t.name];
    bool right = true;
    for (std::int64_t z = 0; z < l.extent; ++z) {
      for (std::int64_t j = 0; j < n.extent; ++j) {
        for (std::int64_t i = 0; i < m.extent; ++i) {
          std::vector<In> x(k.extent);
          std::vector<In> y(k.extent);
          std::complex<double> plain = 0;
          double scale = 1;
          for (std::int64_t p = 0; p < k.extent; ++p) {
            auto const at = [&](Role role) {
              return i * m.stride[role] + j * n.stride[role] + p * k.stride[role] + z * l.stride[role];
            };
            x[p] = a[at(Role::a)];
            y[p] = b[at(Role::b)];
            plain += std::complex<double>(x[p]) * std::complex<double>(y[p]);
            scale += size_of(x[p]) * size_of(y[p]);
          }
          auto const at_d = 1 + i * m.stride[Role::d] + j * n.stride[Role::d] + z * l.stride[Role::d];
          T expected;
          if constexpr (std::is_floating_point_v<In>) {
            expected = is_dot ? dot_product(x, y, is_fused(t.needs.isa)) : sum_of_products(x, y, is_fused(t.needs.isa));
          } else {
            expected = sum_of_products(x, y, is_fused(t.needs.isa));
          }
          written[at_d] = true;
          double const bound =
              (sizeof(T) / (std::is_same_v<T, std::complex<float>> ? 2 : 1) == 4 ? 1e-5 : 1e-13) * scale;
          right = right && std::memcmp(&d[at_d], &expected, sizeof(T)) == 0 &&
                  std::abs(std::complex<double>(d[at_d]) - plain) <= bound;
        }
      }
    }
    for (std::size_t i = 0; i < d.size(); ++i) right = right && (written[i] || d[i] == guard);
    if (right) continue;
    ++wrong;
    std::printf("wrong: %s m %lld n %lld k %lld l %lld\n", t.name, static_cast<long long>(m.extent),
                static_cast<long long>(n.extent), static_cast<long long>(k.extent), static_cast<long long>(l.extent));
  }
}

// D = A with the modes of A in another order of memory, of elements of 4 and 8 bytes.
template <class T>
void try_copy(std::vector<Entry> const& entries, DType type) {
  Geometry g;
  g.compute = Compute::copy;
  Mode modes[3];
  for (Mode& mode : modes) mode.extent = log_uniform(7);
  std::vector<Mode*> const all = {&modes[0], &modes[1], &modes[2]};
  std::vector<T> a(place(all, Role::a));
  auto const size_d = place(all, Role::d);
  for (T& x : a) x = number<T>();
  for (Mode const& mode : modes) {
    if (mode.extent > 1) g.m.push_back(mode);
  }
  g.type[Role::a] = g.type[Role::d] = type;
  for (Entry const& entry : entries) {
    Traits const& t = entry.traits;
    if (t.types.compute != Compute::copy || !runs_here(t.needs.isa)) continue;
    std::vector<T> d(size_d, T(77));
    std::vector<T> expected = d;
    Arguments arguments;
    arguments.data[Role::a] = a.data();
    arguments.data[Role::d] = d.data();
    entry.prepare(t.name, g, {})->run(arguments, {});
    ++computed[t.name];
    for (std::int64_t i = 0; i < g.m.size(); ++i) {
      expected[offset_of(g.m, Role::d, i)] = a[offset_of(g.m, Role::a, i)];
    }
    if (d != expected) ++wrong, std::printf("wrong: %s\n", t.name);
  }
}

}  // namespace

// cpu_kernels SEED COUNT
int main(int, char** arguments) {
  // The reference rounds products, and adds in one order of its own.
  std::vector<Entry> flat;
  for (Entry const& entry : cpu::entries()) {
    if (std::strcmp(entry.traits.kernel, "reference") != 0) flat.push_back(entry);
  }
  random_numbers.seed(std::strtoull(arguments[1], nullptr, 10));
  for (int i = std::atoi(arguments[2]); i > 0; --i) {
    try_product<float, float>(flat, Compute::f32, DType::f32, DType::f32, i % 5 == 0);
    try_product<double, double>(flat, Compute::f64, DType::f64, DType::f64, i % 5 == 0);
    try_product<std::complex<float>, std::complex<float>>(flat, Compute::c64, DType::c64, DType::c64, false);
    try_product<std::complex<double>, std::complex<double>>(flat, Compute::c128, DType::c128, DType::c128, false);
    try_product<std::int8_t, std::int32_t>(flat, Compute::i32, DType::i8, DType::i32, false);
    try_copy<float>(flat, DType::f32);
    try_copy<double>(flat, DType::f64);
  }
  for (auto const& [name, count] : computed) std::printf("%s %d\n", name.c_str(), count);
  return wrong == 0 ? 0 : 1;
}
