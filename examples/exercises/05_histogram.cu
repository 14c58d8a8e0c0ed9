// Counts how often each of 16 values occurs.
#include <cstdio>

__global__ void histogram(int n, int const* in, int* bins) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) bins[in[i]] += 1;
}

int main() {
  constexpr int n = 512;
  int host[n];
  for (int i = 0; i < n; ++i) host[i] = i % 16;
  int *in, *bins;
  cudaMalloc(&in, sizeof(host));
  cudaMalloc(&bins, 16 * sizeof(int));
  cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
  cudaMemset(bins, 0, 16 * sizeof(int));
  histogram<<<n / 128, 128>>>(n, in, bins);
  cudaMemcpy(host, bins, 16 * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(bins);
  int wrong = 0;
  for (int i = 0; i < 16; ++i) wrong += host[i] != n / 16;
  std::printf("%d of 16 are wrong\n", wrong);
  return wrong != 0;
}
