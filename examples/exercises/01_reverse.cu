// Reverses each block's part of an array through shared memory. The result is wrong, sometimes.
#include <cstdio>

constexpr int kThreads = 128;

__global__ void reverse(int const* in, int* out) {
  __shared__ int tile[kThreads];
  int const t = threadIdx.x;
  int const first = blockIdx.x * kThreads;
  tile[t] = in[first + t];
  out[first + t] = tile[kThreads - 1 - t];
}

int main() {
  constexpr int n = 4 * kThreads;
  int host[n];
  for (int i = 0; i < n; ++i) host[i] = i;
  int *in, *out;
  cudaMalloc(&in, sizeof(host));
  cudaMalloc(&out, sizeof(host));
  cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
  reverse<<<n / kThreads, kThreads>>>(in, out);
  cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += host[i] != i / kThreads * kThreads + kThreads - 1 - i % kThreads;
  std::printf("%d of %d are wrong\n", wrong, n);
  return wrong != 0;
}
