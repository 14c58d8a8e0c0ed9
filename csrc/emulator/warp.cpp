#include <cmath>
#include <cstring>
#include <type_traits>

#include "emulator/cta.hpp"

namespace cute_py::emulator {
namespace {

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
    Sum sum = sums[v];
    for (int p = 0; p < mma.k; ++p) {
      auto const x = all_a[row[p * mma.m]];
      auto const y = all_b[column[p * mma.n]];
      if constexpr (std::is_floating_point_v<Sum>) {
        sum = std::fma(x, y, sum);
      } else {
        sum += x * y;
      }
    }
    sums[v] = sum;
  }
}

}  // namespace

void multiply(WarpMma const& mma, float const* a, float const* b, float* sums) { multiply_as(mma, a, b, sums); }
void multiply(WarpMma const& mma, double const* a, double const* b, double* sums) { multiply_as(mma, a, b, sums); }
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
