// The sum of an array: each block writes its part, and the last one to come adds the parts.
#include <cstdio>

constexpr int kThreads = 64;
constexpr int kBlocks = 8;

__global__ void sum(int const* in, int* parts, unsigned* count, int* out) {
  __shared__ bool is_last;
  int const t = threadIdx.x;
  int const i = blockIdx.x * kThreads + t;
  atomicAdd(&parts[blockIdx.x], in[i]);
  if (t < 2) parts[kBlocks + 2 * blockIdx.x + t] = in[i];
  __syncthreads();
  if (t == 0) {
    is_last = atomicAdd(count, 1u) == kBlocks - 1;
    __threadfence();
  }
  __syncthreads();
  if (is_last && t == 0) {
    int total = 0;
    for (int block = 0; block < kBlocks; ++block) total += parts[kBlocks + 2 * block] + parts[kBlocks + 2 * block + 1];
    *out = total;
  }
}

int main() {
  constexpr int n = kBlocks * kThreads;
  int host[n];
  for (int& x : host) x = 1;
  int *in, *parts, *out;
  unsigned* count;
  cudaMalloc(&in, sizeof(host));
  cudaMalloc(&parts, 3 * kBlocks * sizeof(int));
  cudaMalloc(&count, sizeof(unsigned));
  cudaMalloc(&out, sizeof(int));
  cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
  cudaMemset(parts, 0, 3 * kBlocks * sizeof(int));
  cudaMemset(count, 0, sizeof(unsigned));
  sum<<<kBlocks, kThreads>>>(in, parts, count, out);
  int result = 0;
  cudaMemcpy(&result, out, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(parts);
  cudaFree(count);
  cudaFree(out);
  std::printf("%d\n", result);
  return result != 2 * kBlocks;
}
