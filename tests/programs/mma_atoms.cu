// Every atom multiplies tiles of small integers, which all its types hold exactly: one, or of Volta's, each of which eight
// threads share, the four that a warp holds.
#include <cstdio>

#include <cute/tensor.hpp>

using namespace cute;

template <class Atom>
using Atoms = conditional_t<size(typename MMA_Traits<Atom>::ThrID{}) == 8, Layout<Shape<_2, _2, _1>>,
                            Layout<Shape<_1, _1, _1>>>;

template <class Atom, class TA, class TB, class TC>
__global__ void multiply(TA const* a, TB const* b, TC* c) {
  auto mma = make_tiled_mma(Atom{}, Atoms<Atom>{});
  auto const shape = tile_shape(mma);
  Tensor A = make_tensor(make_gmem_ptr(a), make_layout(select<0, 2>(shape)));
  Tensor B = make_tensor(make_gmem_ptr(b), make_layout(select<1, 2>(shape)));
  Tensor C = make_tensor(make_gmem_ptr(c), make_layout(select<0, 1>(shape)));
  auto slice = mma.get_thread_slice(threadIdx.x);
  Tensor gC = slice.partition_C(C);
  Tensor rA = slice.partition_fragment_A(A);
  Tensor rB = slice.partition_fragment_B(B);
  Tensor rC = slice.partition_fragment_C(C);
  copy(slice.partition_A(A), rA);
  copy(slice.partition_B(B), rB);
  copy(gC, rC);
  gemm(mma, rA, rB, rC);
  copy(rC, gC);
}

template <class T>
double number(T const& x) {
  return static_cast<double>(static_cast<float>(x));
}
double number(double x) { return x; }
double number(int x) { return x; }

template <class Atom>
int check(char const* name) {
  using Traits = MMA_Traits<Atom>;
  using TA = typename Traits::ValTypeA;
  using TB = typename Traits::ValTypeB;
  using TC = typename Traits::ValTypeC;
  constexpr int M = size<0>(typename Traits::Shape_MNK{}) * size<0>(Atoms<Atom>{});
  constexpr int N = size<1>(typename Traits::Shape_MNK{}) * size<1>(Atoms<Atom>{});
  constexpr int K = size<2>(typename Traits::Shape_MNK{});
  TA a[M * K];
  TB b[N * K];
  TC c[M * N];
  double expected[M * N];
  bool const is_unsigned = !(number(static_cast<TA>(-1)) < 0 && number(static_cast<TB>(-1)) < 0);
  auto const value = [&](int i) { return (i * 7 + i / 5) % 5 - (is_unsigned ? 0 : 2); };
  for (int i = 0; i < M * K; ++i) a[i] = static_cast<TA>(value(i));
  for (int i = 0; i < N * K; ++i) b[i] = static_cast<TB>(value(3 * i + 1));
  for (int i = 0; i < M * N; ++i) c[i] = static_cast<TC>(value(i + 2));
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) {
      double sum = number(c[m + n * M]);
      for (int k = 0; k < K; ++k) sum += number(a[m + k * M]) * number(b[n + k * N]);
      expected[m + n * M] = sum;
    }
  }
  TA* device_a;
  TB* device_b;
  TC* device_c;
  cudaMalloc(&device_a, sizeof(a));
  cudaMalloc(&device_b, sizeof(b));
  cudaMalloc(&device_c, sizeof(c));
  cudaMemcpy(device_a, a, sizeof(a), cudaMemcpyHostToDevice);
  cudaMemcpy(device_b, b, sizeof(b), cudaMemcpyHostToDevice);
  cudaMemcpy(device_c, c, sizeof(c), cudaMemcpyHostToDevice);
  multiply<Atom><<<1, 32>>>(device_a, device_b, device_c);
  cudaMemcpy(c, device_c, sizeof(c), cudaMemcpyDeviceToHost);
  cudaFree(device_a);
  cudaFree(device_b);
  cudaFree(device_c);
  int wrong = 0;
  for (int i = 0; i < M * N; ++i) wrong += number(c[i]) != expected[i];
  std::printf("%s: %d of %d are wrong\n", name, wrong, M * N);
  return wrong;
}

#define CHECK(atom) wrong += check<atom>(#atom)

int main() {
  int wrong = 0;
  CHECK(SM70_8x8x4_F16F16F16F16_TN);
  CHECK(SM70_8x8x4_F16F16F16F16_NT);
  CHECK(SM70_8x8x4_F16F16F16F16_NN);
  CHECK(SM70_8x8x4_F16F16F16F16_TT);
  CHECK(SM70_8x8x4_F32F16F16F32_TN);
  CHECK(SM70_8x8x4_F32F16F16F32_NT);
  CHECK(SM70_8x8x4_F32F16F16F32_NN);
  CHECK(SM70_8x8x4_F32F16F16F32_TT);
  CHECK(SM75_16x8x8_F32F16F16F32_TN);
  CHECK(SM75_8x8x16_S32S8S8S32_TN);
  CHECK(SM80_16x8x8_F16F16F16F16_TN);
  CHECK(SM80_16x8x16_F16F16F16F16_TN);
  CHECK(SM80_16x8x16_F32F16F16F32_TN);
  CHECK(SM80_16x8x8_F32BF16BF16F32_TN);
  CHECK(SM80_16x8x16_F32BF16BF16F32_TN);
  CHECK(SM80_16x8x4_F32TF32TF32F32_TN);
  CHECK(SM80_16x8x8_F32TF32TF32F32_TN);
  CHECK(SM80_8x8x4_F64F64F64F64_TN);
  CHECK(SM80_16x8x16_S32S8S8S32_TN);
  CHECK(SM80_16x8x32_S32S8S8S32_TN);
  CHECK(SM80_16x8x32_S32U8U8S32_TN);
  CHECK(SM89_16x8x32_F32E4M3E4M3F32_TN);
  CHECK(SM89_16x8x32_F32E5M2E4M3F32_TN);
  CHECK(SM90_16x8x4_F64F64F64F64_TN);
  CHECK(SM90_16x8x16_F64F64F64F64_TN);
  return wrong != 0;
}
