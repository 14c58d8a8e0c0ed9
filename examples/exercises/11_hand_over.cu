// Two of three warps produce, one consumes: named barriers hand a buffer over.
#include <cstdio>

constexpr int kProducers = 64;
constexpr int kThreads = 96;

__device__ void arrive(int barrier, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads)); }
__device__ void wait(int barrier, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads)); }

__global__ void hand_over(int rounds, int* out) {
  __shared__ int buffer[kProducers];
  int const t = threadIdx.x;
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    if (t < kProducers) {
      buffer[t] = i;
      arrive(1, kThreads);
      if (t < 32) wait(2, kThreads);
    } else {
      wait(1, kThreads);
      for (int const x : buffer) sum += x;
      arrive(2, kThreads);
    }
  }
  if (t >= kProducers) out[t - kProducers] = sum;
}

int main() {
  constexpr int rounds = 4;
  int* out;
  int host[32];
  cudaMalloc(&out, sizeof(host));
  hand_over<<<1, kThreads>>>(rounds, out);
  cudaError_t const error = cudaDeviceSynchronize();
  if (error != cudaSuccess) {
    std::printf("%s\n", cudaGetErrorString(error));
    return 1;
  }
  cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
  cudaFree(out);
  int wrong = 0;
  for (int const x : host) wrong += x != kProducers * (rounds - 1) * rounds / 2;
  std::printf("%d of 32 are wrong\n", wrong);
  return wrong != 0;
}
