// Block sums of an array whose length is no multiple of the block's.
#include <cstdio>

constexpr int kThreads = 128;

__global__ void block_sums(int n, int const* in, int* out) {
  __shared__ int part[kThreads];
  int const i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= n) return;
  part[threadIdx.x] = in[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int j = 0; j < kThreads && blockIdx.x * kThreads + j < n; ++j) sum += part[j];
    out[blockIdx.x] = sum;
  }
}

int main() {
  constexpr int n = 200;
  int host[n];
  for (int& x : host) x = 1;
  int *in, *out;
  cudaMalloc(&in, sizeof(host));
  cudaMalloc(&out, 2 * sizeof(int));
  cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
  block_sums<<<2, kThreads>>>(n, in, out);
  cudaMemcpy(host, out, 2 * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  std::printf("%d %d\n", host[0], host[1]);
  return host[0] != 128 || host[1] != 72;
}
