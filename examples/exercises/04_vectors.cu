// Copies the columns of a matrix but its first one, in vectors of four.
#include <cstdio>

constexpr int kRows = 8;
constexpr int kColumns = 65;

__global__ void copy(float const* in, float* out) {
  int const row = threadIdx.y;
  int const column = 4 * threadIdx.x;
  auto const* const from = reinterpret_cast<float4 const*>(in + row * kColumns + 1 + column);
  *reinterpret_cast<float4*>(out + row * (kColumns - 1) + column) = *from;
}

int main() {
  constexpr int n = kRows * kColumns;
  float host[n];
  for (int i = 0; i < n; ++i) host[i] = static_cast<float>(i);
  float *in, *out;
  cudaMalloc(&in, sizeof(host));
  cudaMalloc(&out, sizeof(host));
  cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
  copy<<<1, dim3((kColumns - 1) / 4, kRows)>>>(in, out);
  cudaMemcpy(host, out, kRows * (kColumns - 1) * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  int wrong = 0;
  for (int row = 0; row < kRows; ++row) {
    for (int i = 1; i < kColumns; ++i) wrong += host[row * (kColumns - 1) + i - 1] != row * kColumns + i;
  }
  std::printf("%d are wrong\n", wrong);
  return wrong != 0;
}
