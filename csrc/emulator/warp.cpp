#include <cmath>
#include <complex>
#include <cstring>
#include <type_traits>

#include "emulator/cta.hpp"

namespace cute_py::emulator {
namespace {

template <class Sum>
Sum multiply_add(Sum x, Sum y, Sum sum) {
  if constexpr (std::is_floating_point_v<Sum>) {
    return std::fma(x, y, sum);
  } else {
    return sum + x * y;
  }
}

// Adds k products, in their order. Those of complex numbers are four real instructions, one after the other.
template <class Sum, class X, class Y>
Sum add_products(int k, X const& x, Y const& y, Sum sum) {
  for (int p = 0; p < k; ++p) sum = multiply_add(x(p), y(p), sum);
  return sum;
}
template <class X, class Y>
std::complex<double> add_products(int k, X const& x, Y const& y, std::complex<double> sum) {
  double re = sum.real();
  double im = sum.imag();
  for (int p = 0; p < k; ++p) re = std::fma(x(p).real(), y(p).real(), re);
  for (int p = 0; p < k; ++p) im = std::fma(x(p).imag(), y(p).real(), im);
  for (int p = 0; p < k; ++p) re = std::fma(-x(p).imag(), y(p).imag(), re);
  for (int p = 0; p < k; ++p) im = std::fma(x(p).real(), y(p).imag(), im);
  return {re, im};
}

template <class Sum>
void multiply_as(WarpMma const& mma, Sum const* a, Sum const* b, Sum* sums) {
  auto const lane = static_cast<int>(thread_index().x) % kWarp;
  auto* const all_a = static_cast<Sum*>(warp_buffer());
  auto* const all_b = all_a + kWarp * mma.values_a;
  std::memcpy(all_a + lane * mma.values_a, a, mma.values_a * sizeof(Sum));
  std::memcpy(all_b + lane * mma.values_b, b, mma.values_b * sizeof(Sum));
  warp_barrier();
  for (int v = 0; v < mma.values_c; ++v) {
    int const element = mma.element_c[lane * mma.values_c + v];
    auto const* const row = mma.holder_a + element % mma.m;
    auto const* const column = mma.holder_b + element / mma.m;
    auto const x = [&](int p) { return all_a[row[p * mma.m]]; };
    auto const y = [&](int p) { return all_b[column[p * mma.n]]; };
    sums[v] = add_products(mma.k, x, y, sums[v]);
  }
}

constexpr int kMostLines = 16;  // rows, or columns, of an instruction

// Lines of a factor, each taken from the lanes that hold it when it is first needed.
class Lines {
 public:
  void clear() { has_ = 0; }
  numeric::FactorLine const& line(int i, int stride, int k, std::uint16_t const* holder, numeric::Factor const* all) {
    if ((has_ >> i & 1u) == 0) {
      for (int p = 0; p < k; ++p) lines_[i].set(p, all[holder[i + p * stride]]);
      has_ |= 1u << i;
    }
    return lines_[i];
  }

 private:
  unsigned has_ = 0;
  numeric::FactorLine lines_[kMostLines];
};

}  // namespace

void multiply(WarpMma const& mma, float const* a, float const* b, float* sums) {
  auto const lane = static_cast<int>(thread_index().x) % kWarp;
  auto* const all_a = static_cast<numeric::Factor*>(warp_buffer());
  auto* const all_b = all_a + kWarp * mma.values_a;
  for (int v = 0; v < mma.values_a; ++v) all_a[lane * mma.values_a + v] = numeric::decoded(a[v], mma.format_a);
  for (int v = 0; v < mma.values_b; ++v) all_b[lane * mma.values_b + v] = numeric::decoded(b[v], mma.format_b);
  warp_barrier();
  thread_local Lines rows;
  thread_local Lines columns;
  rows.clear();
  columns.clear();
  numeric::TensorCore const core = numeric::mma_sync_core(architecture(), false, mma.bytes, false);
  for (int v = 0; v < mma.values_c; ++v) {
    int const element = mma.element_c[lane * mma.values_c + v];
    auto const& row = rows.line(element % mma.m, mma.m, mma.k, mma.holder_a, all_a);
    auto const& column = columns.line(element / mma.m, mma.n, mma.k, mma.holder_b, all_b);
    sums[v] = numeric::tensor_sum(core, row, column, mma.k, sums[v], false);
  }
}
void multiply(WarpMma const& mma, double const* a, double const* b, double* sums) { multiply_as(mma, a, b, sums); }
void multiply(WarpMma const& mma, std::complex<double> const* a, std::complex<double> const* b,
              std::complex<double>* sums) {
  multiply_as(mma, a, b, sums);
}
void multiply(WarpMma const& mma, std::int32_t const* a, std::int32_t const* b, std::int32_t* sums) {
  multiply_as(mma, a, b, sums);
}

void exchange(void const* given, int to, std::uint16_t const* places, int count, std::uint16_t* taken) {
  auto* const message = static_cast<unsigned char*>(warp_buffer());
  std::memcpy(message + to, given, 16);
  warp_barrier();
  for (int i = 0; i < count; ++i) std::memcpy(&taken[i], message + places[i], sizeof(taken[i]));
}

}  // namespace cute_py::emulator
